/* Configs: the whole way from bytes to a checked config, and its mistakes as
 * text. */
#include "nn/base/str.h"
#include "pipeline/config.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct pl_diag diag = {.arena = &arena};
    struct pl_config *config = NULL;
    struct str text = {0};
    struct err err = {0};
    struct fuzz_file f;

    fuzz_file_open(&f, data, size);
    if (pl_config_load(&config, f.path, NULL, &diag, &err) == 0)
        pl_config_resolved(config, &text);
    else
        pl_diag_print(&diag, &text, true);
    pl_config_free(config);
    str_free(&text);
    arena_free(&arena);
    fuzz_file_close(&f);
    return 0;
}
