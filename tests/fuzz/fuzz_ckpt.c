/* Checkpoints: a safetensors file of any bytes. */
#include "nn/ckpt.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nn_ckpt *ckpt;
    struct err err = {0};
    struct fuzz_file f;

    fuzz_file_open(&f, data, size);
    if (nn_ckpt_read(&ckpt, f.path, &err) == 0)
        nn_ckpt_free(ckpt);
    fuzz_file_close(&f);
    return 0;
}
