#!/bin/sh
# Makes the data files of this folder that are not plain lines of text. Run
# once, here; the bytes are committed. An IDX file is 0 0 TYPE DIMS, each
# dimension in 4 bytes, then the numbers; \010 is the type of unsigned bytes.
set -e

# Right ones, the partners of the wrong: two 2 x 3 images, labels 0 and 2.
printf '\0\0\010\003\0\0\0\002\0\0\0\002\0\0\0\003abcdefghijkl' >good.images
printf '\0\0\010\001\0\0\0\002\000\002' >good.labels

printf '' >idx_empty.images
printf '\0\0\010' >idx_three_bytes.images
printf '\0\0\010\003\0\0\0\002\0\0' >idx_header_cut_short.images
printf 'P5 28 28 255 ' >idx_wrong_magic.images
printf '\0\0\015\003\0\0\0\001\0\0\0\001\0\0\0\001\077\200\0\0' \
    >idx_float_type.images
printf '\0\0\012\001\0\0\0\002\000\002' >idx_unknown_type.labels
printf '\0\0\010\000abc' >idx_no_dimension.images
printf '\0\0\010\007\0\0\0\001\0\0\0\001\0\0\0\001\0\0\0\001' \
    >idx_seven_dimensions.images
printf '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\001\000\002' \
    >idx_labels_are_images.labels
printf '\0\0\010\003\0\0\0\000\0\0\0\002\0\0\0\003' >idx_zero_items.images
printf '\0\0\010\003\0\0\0\002\0\0\0\000\0\0\0\003' >idx_zero_rows.images
printf '\0\0\010\003\377\377\377\377\377\377\377\377\377\377\377\377abc' \
    >idx_dimensions_overflow.images
printf '\0\0\010\003\0\0\0\002\0\0\0\002\0\0\0\003abcdefg' \
    >idx_truncated.images
printf '\0\0\010\001\0\0\0\002\000\002\001' >idx_trailing_byte.labels
printf '\0\0\010\001\0\0\0\003\000\002\001' >idx_count_mismatch.labels
printf '\0\0\010\001\0\0\0\002\002\003' >idx_label_out_of_range.labels
gzip -9n <good.images >idx_gzip.images
printf '\n<!DOCTYPE html>\n<html><title>404</title></html>\n' \
    >idx_html.images

printf '' >csv_empty.csv
printf 'x1,x2,y\n1,2,0\n' | gzip -9n >csv_gzip.csv
printf '\377\376x\0,\0y\0\n\0' >csv_utf16.csv
printf 'x1,x2,y\r1,2,0\r3,4,1\r' >csv_carriage_returns.csv
printf 'x1,x2,y\n1,\0002,0\n' >csv_nul_byte.csv
printf 'x1,x2,y\r\n1,2,0\r\n1,two,0\r\n' >csv_crlf_line_number.csv
printf '\357\273\277x1,x1,y\n1,2,0\n' >csv_bom_duplicate_column.csv
