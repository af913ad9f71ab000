/* Memory records of profiles: what is read must be safe to draw and count. */
#include <stdlib.h>

#include "nn/base/mem.h"
#include "pipeline/compare_memory.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size);
    struct pl_memory_figures f = {.label = "a", .optimizer = "adam"};
    struct pl_memories all = {.about = "fuzz", .run = &f, .n = 1};
    struct pl_memory_run run = {.label = "a"};
    struct pl_memory_runs runs = {.title = "fuzz", .run = &run, .n = 1};
    struct str out = {0};

    if (text && pl_memory_csv_read(&f.file, text, size, "m.csv", NULL) == 0) {
        run.memory = f.file.memory;
        pl_memory_figure(&f);
        if (f.sums.peak < 0 || f.sums.last < 0)
            abort();
        pl_memory_reasons(&out, &all);
        pl_memory_html(&runs, &out);
        pl_memory_svg(&runs, &out);
        pl_memory_panels_svg(&runs, &out);
        pl_memory_file_free(&f.file);
    }
    str_free(&out);
    mem_free(text);
    return 0;
}
