/* Traces of a profiler: read, summed up, compared, checked. */
#include <stdlib.h>

#include "pipeline/pipeline.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char other[] = "tests/golden/trace-gpu.json";
    unsigned long long broken;
    struct fuzz_file f;
    struct str out = {0};
    struct err err = {0};
    int json;

    fuzz_file_open(&f, data, size);
    for (json = 0; json < 2; json++) {
        (void)pl_trace_report(&out, f.path, json != 0, &err);
        err_clear(&err);
        if (pl_trace_validate(&out, &broken, f.path, json != 0, &err) != 0)
            abort();
        err_clear(&err);
        str_clear(&out);
    }
    (void)pl_trace_compare(&out, f.path, other, false, &err);
    str_free(&out);
    fuzz_file_close(&f);
    return 0;
}
