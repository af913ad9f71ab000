/* What `pipeline trace` says of files. */
#include "pipeline/pipeline.h"
#include "pipeline/trace_check.h"
#include "pipeline/trace_summary.h"

int pl_trace_report(struct str *out, const char *path, bool json,
                    struct err *err)
{
    struct trace_summary s;
    int rc = trace_summary_make(&s, path, err);

    if (rc == 0 && json)
        trace_summary_json(out, &s);
    else if (rc == 0)
        trace_summary_text(out, &s);
    trace_summary_free(&s);
    return rc;
}

int pl_trace_compare(struct str *out, const char *a, const char *b, bool json,
                     struct err *err)
{
    struct trace_summary x = {0}, y = {0};
    int rc = trace_summary_make(&x, a, err);

    if (rc == 0)
        rc = trace_summary_make(&y, b, err);
    if (rc == 0)
        rc = json ? trace_compare_json(out, &x, &y, err)
                  : trace_compare_text(out, &x, &y, err);
    trace_summary_free(&x);
    trace_summary_free(&y);
    return rc;
}

int pl_trace_validate(struct str *out, unsigned long long *broken,
                      const char *path, bool json, struct err *err)
{
    uint64_t n = 0;
    int rc = pl_trace_check_file(out, &n, path, NULL, json, err);

    *broken = n;
    return rc;
}
