/* IDX data sets. The first byte says how many of the rest are the images' file;
 * the others are the labels'. */
#include "nn/data.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nn_data *set;
    struct err err = {0};
    struct fuzz_file images, labels;
    size_t n;

    if (size == 0)
        return 0;
    n = data[0] < size ? data[0] : size - 1;
    fuzz_file_open(&images, data + 1, n);
    fuzz_file_open(&labels, data + 1 + n, size - 1 - n);
    if (nn_data_open_idx(&set, images.path, labels.path, 0, 255, &err) == 0)
        nn_data_free(set);
    fuzz_file_close(&labels);
    fuzz_file_close(&images);
    return 0;
}
