#include "pipeline/metric_names.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* `*` is a part of a name that the config or the data gives. Each list ends
 * with NULL. */
static const char *const fetch[] = {"files", "bytes", NULL};
static const char *const summary[] = {"layers",          "parameters",
                                      "parameter_bytes", "gradient_bytes",
                                      "state_bytes.*",   NULL};
static const char *const train[] = {
    "train.loss",    "validation.loss", "validation.accuracy", "test.loss",
    "test.accuracy", "best.epoch",      "best.value",          "epochs",
    "steps",         "parameters",      "step.zero_grad",      "step.forward",
    "step.loss",     "step.backward",   "step.step",           NULL};
static const char *const evaluate[] = {"loss", "accuracy", "correct", "samples",
                                       NULL};

static const char *const profile[] = {"step_ms.median",
                                      "step_ms.p10",
                                      "step_ms.p90",
                                      "samples_per_s",
                                      "flag.drift",
                                      "flag.noise",
                                      "traced.steps",
                                      "traced.last_ms",
                                      "traced.ratio",
                                      "traced.lost",
                                      "traced.share.*",
                                      "trace.dropped",
                                      "trace.invalid",
                                      "trace.unmatched",
                                      "trace.refused",
                                      "gpu.sms",
                                      "gpu.peak_gflops",
                                      "gpu.busy",
                                      "gpu.kernels",
                                      "gpu.launches",
                                      "gpu.h2d_bytes",
                                      "gpu.h2d_us",
                                      "gpu.sync_wait_us",
                                      "memory.parameters",
                                      "memory.gradients",
                                      "memory.optimizer_state",
                                      "memory.activations_peak",
                                      "memory.inputs",
                                      "memory.peak",
                                      NULL};

/* By what is shown: kernels, times, memory. */
static const char *const compare[] = {
    /* kernels: of each operator and role, of both in sums */
    "linear.forward.kernels", "linear.backward.kernels",
    /* memory: of each run, by its label; differences to the first run */
    "*.parameters", "*.gradients", "*.optimizer_state", "*.activations",
    "*.peak", "*.state_per_parameter", "*.gradients_per_parameter",
    "*.difference",
    /* curves */
    "runs", "series", "train.loss.*", "validation.accuracy.*",
    "test.accuracy.*", "*.ratio", /* times: of each run, which a name goes
                   before where there are several; behind it, of each x */
    "step_ratio", "*.step_ratio", "last_ratio", "*.last_ratio", "work_ratio",
    "*.work_ratio", "share_of_work", "*.share_of_work", "knee", "*.knee",
    "step_ms.*", "*.step_ms.*", "last_ms.*", "*.last_ms.*", "gflop_s.*",
    "*.gflop_s.*", "busy.*", "*.busy.*", NULL};

const char *const *pl_metric_table(const struct pl_stage_kind *kind)
{
    if (kind == &pl_kind_fetch)
        return fetch;
    if (kind == &pl_kind_summary)
        return summary;
    if (kind == &pl_kind_train)
        return train;
    if (kind == &pl_kind_evaluate)
        return evaluate;
    if (kind == &pl_kind_profile)
        return profile;
    if (kind == &pl_kind_compare)
        return compare;
    return NULL;
}

bool pl_metric_known(const struct pl_stage_kind *kind, const char *name)
{
    const char *const *p = pl_metric_table(kind);

    if (!p)
        return true;
    while (*p && fnmatch(*p, name, 0) != 0)
        p++;
    return *p != NULL;
}

/* pattern with the words of name, which are cut at its dots, in place of the
 * `*`. false: name has none there. */
static bool fill_in(char out[PL_METRIC_LEN], const char *pattern,
                    const char *name)
{
    size_t n = 0;

    while (*pattern) {
        size_t word = strcspn(pattern, "."), own = strcspn(name, ".");
        bool free = *pattern == '*';
        int k;

        if (free && own == 0)
            return false;
        k = snprintf(out + n, PL_METRIC_LEN - n, "%s%.*s", n ? "." : "",
                     (int)(free ? own : word), free ? name : pattern);
        if (k < 0 || n + (size_t)k >= PL_METRIC_LEN)
            return false;
        n += (size_t)k;
        pattern += word + (pattern[word] == '.');
        name += own + (name[own] == '.');
    }
    return true;
}

size_t pl_metric_names(const struct pl_stage_kind *kind, const char *name,
                       char out[PL_METRIC_NAMES][PL_METRIC_LEN])
{
    const char *const *p = pl_metric_table(kind);
    size_t n = 0;

    for (; p && *p && n < PL_METRIC_NAMES; p++)
        n += fill_in(out[n], *p, name);
    return n;
}
