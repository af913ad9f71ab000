/* Data sets of comma-separated numbers: the target is the column "y". */
#include "nn/data.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nn_csv_opts opts = {.target = "y"};
    struct nn_data *set;
    struct err err = {0};
    struct fuzz_file f;

    fuzz_file_open(&f, data, size);
    for (opts.classes = 0; opts.classes <= 3; opts.classes += 3) {
        if (nn_data_open_csv(&set, f.path, &opts, &err) == 0)
            nn_data_free(set);
        err_clear(&err);
    }
    fuzz_file_close(&f);
    return 0;
}
