/* The traced steps of a profile. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/step.h"
#include "pipeline/predict.h"
#include "pipeline/memory_timeline.h"
#include "pipeline/profile_run.h"

enum { MOST_SPANS = 1 << 22 };

bool profile_can_trace(const struct profile *p)
{
    return !profile_has_marks(p) || p->ctx->be->ops->trace_begin != NULL;
}

static int trace_step(struct profile *p, struct err *err)
{
    double unasked;
    int rc;

    prof_step_begin(p->prof);
    rc = profile_step(p, &unasked, err);
    if (rc == 0)
        prof_step_end(p->prof);
    profile_show_progress(p);
    return rc;
}

static int take_steps(struct profile *p, struct err *err)
{
    struct nn_backend *be = p->ctx->be;
    int64_t i;
    int rc = 0;

    be->prof = p->prof;
    for (i = 0; rc == 0 && i < p->with->n_step && !pl_stopping(p->ctx); i++)
        rc = trace_step(p, err);
    be->prof = NULL;
    return rc;
}

/* The recorder and, on a device that has one, its own. */
static int begin_recording(struct profile *p, struct err *err)
{
    struct nn_backend *be = p->ctx->be;
    int rc = prof_new(&p->prof, &p->with->schedule, MOST_SPANS, err);

    if (rc != 0 || !be->ops->trace_begin)
        return rc;
    pl_log(p->ctx, "tracing %lld steps with the device's own records",
           (long long)p->with->n_step);
    prof_device_clock(p->prof);
    return be->ops->trace_begin(be, err);
}

/* From the first step on: a model, optimizer and order as they began. The
 * device's recorder is there before them: it has to see their graphs made. */
static int record(struct profile *p, struct err *err)
{
    struct nn_backend *be = p->ctx->be;
    struct err late = {0};
    int rc, end;

    profile_close_trainer(p);
    rc = begin_recording(p, err);
    if (rc != 0)
        return rc;
    rc = profile_open_model(p, err);
    if (rc == 0)
        rc = profile_open_trainer(p, err);
    if (rc == 0)
        rc = take_steps(p, err);
    end = be->ops->trace_end ? be->ops->trace_end(be, &p->device, &late) : 0;
    if (rc == 0 && end != 0) {
        *err = late;
        rc = end;
    }
    return rc;
}

/* What a device could not tell is no failure, and is said. */
static void say_device(struct profile *p)
{
    const struct nn_device_trace *d = p->device;

    if (!d)
        return;
    if (d->refused[0] != '\0')
        pl_log(p->ctx, "warning: %s", d->refused);
    if (d->dropped > 0)
        pl_log(p->ctx,
               "warning: %llu records of the device found no room and are not "
               "in the trace; trace fewer steps",
               (unsigned long long)d->dropped);
    if (d->invalid > 0)
        pl_log(p->ctx,
               "warning: %llu records of the device have no times or are of "
               "no known kind, and are not in the trace",
               (unsigned long long)d->invalid);
    if (p->gpu.unmatched > 0)
        pl_log(p->ctx,
               "warning: %llu launches or pieces of work of the device have no "
               "counterpart among its records, and are not in the trace",
               (unsigned long long)p->gpu.unmatched);
}

static int write_files(struct profile *p, struct err *err)
{
    struct nn_step_memory *memory;
    struct pl_traced_more more = {.gpu = p->device ? &p->gpu : NULL};
    int rc = pl_memory_traced(&memory, p->trainer, p->with, &p->traced, err);

    more.memory = memory;
    if (rc == 0)
        rc = pl_profile_report(p->ctx, &p->traced, &more,
                               pl_profile_width(p->model), err);
    nn_step_memory_free(memory);
    return rc;
}

/* What was recorded before a stop is written all the same. */
int profile_trace(struct profile *p, struct err *err)
{
    int rc = record(p, err);

    if (rc == 0)
        rc = pl_traced_read(&p->traced, p->prof, err);
    if (rc == 0 && p->device)
        rc = pl_gpu_read(&p->gpu, &p->traced, p->device, err);
    if (rc == 0) {
        say_device(p);
        rc = write_files(p, err);
    }
    if (rc == 0 && p->trainer->step < p->with->n_step)
        rc = err_set(err, ERR_INTERRUPTED,
                     "stopped before all steps were traced");
    return rc;
}

/* ---- metrics ---- */

static void give_steps(struct pl_stage_ctx *ctx, const struct pl_step_times *t)
{
    const struct pl_traced *r = t->traced;
    const struct prof_span *last;
    char name[64];
    double ms;
    int k;

    pl_metric(ctx, "traced.steps", (double)r->n_steps);
    pl_metric(ctx, "traced.lost", (double)r->lost);
    if (r->n_steps == 0)
        return;
    last = r->step[r->n_steps - 1];
    ms = pl_ms(last->end - last->begin);
    pl_metric(ctx, "traced.last_ms", ms);
    pl_metric(ctx, "traced.ratio", ms / (1e3 * t->sum.median));
    for (k = NN_PHASE_H2D; k < NN_PHASE_COUNT; k++) {
        (void)snprintf(name, sizeof name, "traced.share.%s",
                       nn_phase_name((enum nn_phase)k));
        if (strchr(name, ' '))
            *strchr(name, ' ') = '_';
        pl_metric(ctx, name, (double)r->phase_ns[k] / (double)r->steps_ns);
    }
}

/* Of the last step. */
static int give_gpu(const struct profile *p, struct err *err)
{
    struct pl_stage_ctx *ctx = p->ctx;
    struct pl_gpu_sums s;
    double peak;
    int rc;

    pl_metric(ctx, "trace.dropped", (double)p->device->dropped);
    pl_metric(ctx, "trace.invalid", (double)p->device->invalid);
    pl_metric(ctx, "trace.unmatched", (double)p->gpu.unmatched);
    pl_metric(ctx, "trace.refused", p->device->refused[0] != '\0');
    if (p->device->device.sms > 0)
        pl_metric(ctx, "gpu.sms", p->device->device.sms);
    peak = pl_peak_gflops(&p->device->device);
    if (!isnan(peak))
        pl_metric(ctx, "gpu.peak_gflops", peak);
    if (p->traced.n_steps == 0 || p->gpu.n_ops == 0)
        return 0;
    rc = pl_gpu_sum_up(&p->gpu, &p->traced, p->traced.n_steps - 1, &s, err);
    if (rc != 0)
        return rc;
    pl_metric(ctx, "gpu.busy", (double)s.busy / (double)(s.end - s.begin));
    pl_metric(ctx, "gpu.kernels", (double)s.kernels);
    pl_metric(ctx, "gpu.launches", (double)s.launches);
    pl_metric(ctx, "gpu.h2d_bytes", (double)s.h2d_bytes);
    pl_metric(ctx, "gpu.h2d_us", (double)s.h2d_ns / 1e3);
    pl_metric(ctx, "gpu.sync_wait_us", (double)s.wait_ns / 1e3);
    return 0;
}

int profile_give_traced(const struct profile *p, const struct pl_step_times *t,
                        struct err *err)
{
    give_steps(p->ctx, t);
    return p->device ? give_gpu(p, err) : 0;
}
