/* What the writer and the reader of checkpoints share. */
#ifndef NN_CKPT_FORMAT_H
#define NN_CKPT_FORMAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/ckpt.h"

enum {
    CKPT_LENGTH_BYTES = 8,
    CKPT_MAX_HEADER = 100 * 1000 * 1000, /* as the format's own reader */
    CKPT_ALIGN = 8,
    CKPT_CRC_DIGITS = 8
};

/* How a header of ours begins; the digits of the CRC follow. The CRC itself is
 * taken with zeros in their place. */
#define CKPT_HEAD "{\"__metadata__\":{\"crc32\":\""
#define CKPT_HEAD_LEN (sizeof CKPT_HEAD - 1)
#define CKPT_CRC_ZEROS "00000000"

/* "F32"; NULL for what the format does not have. */
const char *nn_ckpt_dtype_text(enum nn_dtype dtype);
bool nn_ckpt_dtype_parse(const char *text, enum nn_dtype *out);

/* False for a negative dimension and for more bytes than an int64_t holds. */
bool nn_ckpt_bytes(enum nn_dtype dtype, const struct nn_shape *shape,
                   uint64_t *out);

void nn_ckpt_crc_text(unsigned long crc, char out[CKPT_CRC_DIGITS + 1]);

/* Says what jansson says of a header: out of memory, or code with the offset
 * in the file. what: "reading", "writing". */
int nn_ckpt_json_failed(const char *what, const char *path, int code,
                        const json_error_t *e, struct err *err);

#endif
