/* profile: a run of training steps, timed one by one without a profiler; then
 * the same run anew, traced. */
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/device_settings.h"
#include "pipeline/memory_timeline.h"
#include "pipeline/profile_run.h"

static void give_metrics(struct pl_stage_ctx *ctx,
                         const struct pl_step_times *t)
{
    const struct pl_times *s = &t->sum;

    pl_metric(ctx, "step_ms.median", 1e3 * s->median);
    pl_metric(ctx, "step_ms.p10", 1e3 * s->p10);
    pl_metric(ctx, "step_ms.p90", 1e3 * s->p90);
    pl_metric(ctx, "samples_per_s", (double)t->with->batch_size / s->median);
    pl_metric(ctx, "flag.drift", s->drifts);
    pl_metric(ctx, "flag.noise", s->noisy);
}

static void say_times(struct pl_stage_ctx *ctx, const struct pl_step_times *t)
{
    const struct pl_profile_with *w = t->with;
    const struct pl_times *s = &t->sum;

    pl_say(ctx,
           "batch %lld, %s: a step takes %.4g ms (p10 %.4g, p90 %.4g, n %zu), "
           "%.4g samples/s",
           (long long)w->batch_size, pl_optimizer_types[w->optimizer.type],
           1e3 * s->median, 1e3 * s->p10, 1e3 * s->p90, s->n,
           (double)w->batch_size / s->median);
    pl_log(ctx, "by %s; execution %s, data %s, fusion %s, numerics %s, on %s",
           t->method, w->execution == NN_EXEC_EAGER ? "eager" : "recorded",
           pl_data_path_on(t->be, w->data), pl_fusions[w->fusion],
           pl_numerics_on(t->be, w->numerics), t->be->description);
    if (w->execution == NN_EXEC_RECORDED && !t->be->ops->step_run)
        pl_log(ctx, "this device has no replay: a recorded step runs operator "
                    "by operator, as an eager one does");
    if (s->drifts)
        pl_log(ctx,
               "warning: the second half's median is %+.1f %% off the first "
               "half's (flag: drift, above 5 %%)",
               100 * s->drift);
    if (s->noisy)
        pl_log(ctx,
               "warning: p90 is %.2f times the median (flag: noise, above 1.5)",
               s->p90 / s->median);
}

static int report(struct profile *p, const struct pl_step_times *t,
                  struct err *err)
{
    struct str csv = {0};
    int rc;

    pl_step_times_csv(t, &csv);
    if (csv.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for step_times.csv");
    else
        rc =
            pl_artifact_write(p->ctx, "step_times.csv", csv.text, csv.len, err);
    str_free(&csv);
    if (rc != 0)
        return rc;
    give_metrics(p->ctx, t);
    say_times(p->ctx, t);
    return t->traced ? profile_give_traced(p, t, err) : 0;
}

static int profile(struct pl_stage_ctx *ctx, struct err *err)
{
    struct profile p = {.ctx = ctx, .with = ctx->stage->with};
    struct pl_step_times t = {.with = p.with, .be = ctx->be};
    int rc = profile_open(&p, err);

    t.method = profile_has_marks(&p) ? "events" : "clock";
    t.first = p.first;
    t.timed = p.timed;
    if (rc == 0)
        rc = profile_measure(&p, &t, err);
    if (rc == 0 && p.with->trace && profile_can_trace(&p)) {
        rc = profile_trace(&p, err);
        t.traced = &p.traced;
    } else if (rc == 0 && p.with->trace)
        pl_log(ctx, "no trace: this device works on its own time, which only "
                    "its own records tell");
    if (rc == 0)
        rc = pl_memory_profile(ctx, p.trainer, t.traced,
                               pl_profile_width(p.model), err);
    if (rc == 0)
        rc = report(&p, &t, err);
    pl_gpu_clear(&p.gpu);
    nn_device_trace_free(p.device);
    pl_traced_clear(&p.traced);
    prof_free(p.prof);
    mem_free(p.first);
    mem_free(p.timed);
    profile_close_trainer(&p);
    pl_sets_close(&p.sets);
    return rc;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n > k && strcmp(text + n - k, end) == 0;
}

/* HTA takes all that ends so for a trace, and nothing else. */
static bool good_file(const char *name)
{
    return (ends_in(name, ".json") || ends_in(name, ".json.gz")) &&
           !strchr(name, '/') && name[0] != '.' && name[0] != '-';
}

static void check_profile(const struct pl_config *c, const struct pl_stage *s,
                          struct pl_diag *d)
{
    const struct pl_profile_with *w = s->with;
    const struct pl_operator *loss = pl_profile_own_loss(c, w);
    struct nn_optim_spec o = pl_optimizer_spec(&w->optimizer);

    if (loss)
        pl_operator_check_loss(loss, pl_node_key_loc(w->node, "loss", s->loc),
                               d);
    if (w->file && !good_file(w->file))
        pl_diag_error(d, pl_node_key_loc(w->node, "file", s->loc),
                      "file must be a name that ends in .json or .json.gz, "
                      "without a folder, not '%s'",
                      w->file);
    if (o.nesterov && o.momentum == 0.0)
        pl_diag_error(d, pl_node_key_loc(w->optimizer.node, "nesterov", s->loc),
                      "nesterov needs a momentum");
}

const struct pl_stage_kind pl_kind_profile = {
    .name = "profile",
    .help = "how long a training step takes, and what it does meanwhile",
    .with = &pl_profile_schema,
    .needs_device = true,
    .measures = true,
    .version = 3,
    .check = check_profile,
    .run = profile,
};
