/* Downloads: a gzip file of any bytes. */
#include "pipeline/gunzip.h"
#include "tests/fuzz/fuzz_file.h"

static int count(void *user, const void *data, size_t len, struct err *err)
{
    (void)data;
    (void)err;
    *(uint64_t *)user += len;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct fuzz_file f;
    uint64_t seen = 0, bytes = 0;
    struct pl_gunzip g = {.max = 1 << 20, .write = count, .user = &seen};

    fuzz_file_open(&f, data, size);
    g.path = f.path;
    if (pl_gunzip(&g, &bytes, &err) == 0 && bytes != seen)
        __builtin_trap();
    fuzz_file_close(&f);
    return 0;
}
