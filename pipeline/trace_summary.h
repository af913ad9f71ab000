/* What a trace says in short: steps, phases, operators, kernels, how busy the
 * GPUs were. */
#ifndef PIPELINE_TRACE_SUMMARY_H
#define PIPELINE_TRACE_SUMMARY_H

#include "nn/base/str.h"
#include "pipeline/trace_read.h"
#include "pipeline/trace_steps.h"
#include "pipeline/trace_sum.h"

enum { TRACE_TOP = 20 }; /* rows of a table that are printed */

enum trace_group {
    GROUP_PHASES,
    GROUP_OPS,
    GROUP_GPU,
    GROUP_CALLS,
    GROUP_OTHER,
    TRACE_GROUPS
};

struct trace_top {
    struct trace_stat *row; /* by self, the longest first */
    size_t n;
    int64_t self; /* of all; of GROUP_PHASES the length of all steps */
};

struct trace_gpu {
    const char *device; /* its pid */
    int64_t busy;       /* ns in the window in which any stream worked */
    uint64_t n;         /* kernels and copies, all of them */
};

struct trace_summary {
    struct trace *t;
    struct trace_steps steps;
    int64_t from, to; /* the window: from the first to the last step, or all */
    struct trace_top top[TRACE_GROUPS];
    struct trace_gpu gpu[TRACE_DEVICES_MAX];
    size_t n_gpus;
    struct arena arena; /* texts that are shown */
    bool failed;        /* there was no memory for one of them */
};

/* *s is to be ended by trace_summary_free either way; path must outlive it.
 * Errors as of pl_trace_read. */
int trace_summary_make(struct trace_summary *s, const char *path,
                       struct err *err);
void trace_summary_free(struct trace_summary *s);

/* "torch.profiler (Kineto)" */
const char *trace_writer(const struct trace *t);
/* The name of a GPU, or "". */
const char *trace_gpu_name(const struct trace *t, const char *device);
/* The mean length of a step in ns; 0: there is none. */
double trace_step_mean(const struct trace_summary *s);

/* What a text of the file looks like on a terminal: control characters are
 * '?'. The summary's, as those below; without memory "", and failed is set. */
const char *trace_shown(struct trace_summary *s, const char *text);
/* v with that many decimals and commas between thousands. */
const char *trace_number(struct trace_summary *s, double v, int decimals);
const char *trace_printf(struct trace_summary *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What a group is called: "operators". */
extern const char *const trace_group_name[TRACE_GROUPS];

void trace_summary_text(struct str *out, struct trace_summary *s);
void trace_summary_json(struct str *out, const struct trace_summary *s);
int trace_compare_text(struct str *out, struct trace_summary *a,
                       struct trace_summary *b, struct err *err);
int trace_compare_json(struct str *out, struct trace_summary *a,
                       struct trace_summary *b, struct err *err);

#endif
