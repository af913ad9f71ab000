/* The files that a profile's traced steps leave. */
#include <string.h>

#include "nn/model.h"
#include "nn/step.h"
#include "pipeline/device_settings.h"
#include "pipeline/profile.h"
#include "pipeline/profile_gpu.h"
#include "pipeline/stage.h"
#include "pipeline/trace_write.h"

static const char *execution_of(const struct pl_profile_with *w)
{
    return w->execution == NN_EXEC_EAGER ? "eager" : "recorded";
}

void pl_profile_recipe(struct str *s, const struct pl_profile_with *w,
                       int64_t width, const char *between)
{
    str_add(s, pl_optimizer_types[w->optimizer.type]);
    if (width > 0)
        str_addf(s, "%sh=%lld", between, (long long)width);
    str_addf(s, "%sbs=%lld", between, (long long)w->batch_size);
}

void pl_trace_name(struct str *out, const struct pl_profile_with *w,
                   int64_t width)
{
    str_add(out, "traces/");
    if (w->file) {
        str_add(out, w->file);
        return;
    }
    pl_profile_recipe(out, w, width, "_");
    str_add(out, "_trace.json");
}

/* For titles: "adam, h=256, bs=32; eager, data host, fusion none, cpu (...)".
 */
static void add_about(struct str *s, const struct pl_stage_ctx *ctx,
                      int64_t width)
{
    const struct pl_profile_with *w = ctx->stage->with;

    pl_profile_recipe(s, w, width, ", ");
    str_addf(s, "; %s, data %s, fusion %s, %s", execution_of(w),
             pl_data_path_on(ctx->be, w->data), pl_fusions[w->fusion],
             ctx->be->description);
}

int64_t pl_profile_width(const struct nn_model *m)
{
    int i;

    for (i = 0; i < m->n_layers; i++)
        if (m->layer[i].type == NN_LAYER_LINEAR)
            return m->layer[i].out.dim[m->layer[i].out.ndim - 1];
    return 0;
}

/* What the files are made of. */
struct report {
    struct pl_stage_ctx *ctx;
    const struct pl_traced *t;
    const struct pl_traced_gpu *gpu;     /* NULL: none */
    const struct nn_step_memory *memory; /* NULL: none with times */
    bool simulated;
    const char *about;
    struct str out; /* of one file after the other */
};

static int write_trace(const struct report *r, const char *name,
                       struct err *err)
{
    const struct pl_stage_ctx *ctx = r->ctx;
    const struct pl_profile_with *w = ctx->stage->with;
    const struct nn_device_trace *d = r->gpu ? r->gpu->trace : NULL;
    const struct pl_trace_fact fact[] = {
        {.key = "execution", .text = execution_of(w)},
        {.key = "data", .text = pl_data_path_on(ctx->be, w->data)},
        {.key = "fusion", .text = pl_fusions[w->fusion]},
        {.key = "numerics", .text = pl_numerics_on(ctx->be, w->numerics)},
        {.key = "optimizer", .text = pl_optimizer_types[w->optimizer.type]},
        {.key = "batch_size", .number = w->batch_size},
        {.key = "device", .text = ctx->be->description},
        {.key = "lost_spans", .number = (int64_t)r->t->lost},
        {.key = "dropped_records", .number = d ? (int64_t)d->dropped : 0},
        {.key = "invalid_records", .number = d ? (int64_t)d->invalid : 0},
        {.key = "unmatched_records",
         .number = r->gpu ? (int64_t)r->gpu->unmatched : 0},
        {.key = "refused", .text = d ? d->refused : ""},
    };
    enum { FACTS = sizeof fact / sizeof *fact, OF_A_DEVICE = 4 };
    size_t n = d ? FACTS - (d->refused[0] == '\0') : FACTS - OF_A_DEVICE;
    const struct pl_traced_more more = {.gpu = r->gpu, .memory = r->memory};
    const char *path = pl_artifact_path(r->ctx, name, err);
    int rc;

    if (!path)
        return err ? err->code : ERR_NOMEM;
    rc = pl_traced_write(r->t, &more, path, fact, n, err);
    return rc == 0 ? pl_artifact_add(r->ctx, name, err) : rc;
}

static int write_text(struct report *r, const char *name, struct err *err)
{
    struct str *s = &r->out;
    int rc = s->failed ? err_set(err, ERR_NOMEM, "out of memory for %s", name)
                       : pl_artifact_write(r->ctx, name, s->text, s->len, err);

    str_clear(s);
    return rc;
}

static int write_steps(struct report *r, struct err *err)
{
    int rc;

    pl_traced_ops_csv(r->t, &r->out);
    rc = write_text(r, "ops.csv", err);
    if (rc != 0)
        return rc;
    pl_traced_last_csv(r->t, r->gpu, &r->out);
    rc = write_text(r, "last_step.csv", err);
    if (rc != 0)
        return rc;
    pl_traced_track_svg(r->t, r->about, r->simulated, &r->out);
    rc = write_text(r, "cpu_track.svg", err);
    if (rc != 0)
        return rc;
    pl_traced_span_svg(r->t, r->about, r->simulated, &r->out);
    return write_text(r, "step_span.svg", err);
}

static int write_gpu(struct report *r, struct err *err)
{
    int rc = pl_gpu_kernels_csv(r->gpu, r->t, &r->out, err);

    if (rc == 0)
        rc = write_text(r, "kernels.csv", err);
    if (rc == 0)
        rc = pl_gpu_track_svg(r->gpu, r->t, r->about, &r->out, err);
    return rc == 0 ? write_text(r, "gpu_track.svg", err) : rc;
}

static int write_files(struct report *r, int64_t width, struct err *err)
{
    struct str about = {0};
    int rc;

    add_about(&about, r->ctx, width);
    if (about.failed)
        return err_set(err, ERR_NOMEM, "out of memory for a picture");
    r->about = about.text;
    rc = write_steps(r, err);
    if (rc == 0 && r->gpu && r->gpu->n_ops > 0)
        rc = write_gpu(r, err);
    str_free(&about);
    str_free(&r->out);
    return rc;
}

static void say_counts(const struct report *r, const char *name)
{
    const struct pl_traced *t = r->t;

    if (r->gpu)
        pl_log(r->ctx,
               "%s: %zu spans, %zu calls and %zu pieces of the device's work "
               "in %zu steps",
               name, t->n, r->gpu->n_calls, r->gpu->n_ops, t->n_steps);
    else
        pl_log(r->ctx, "%s: %zu spans of %zu steps", name, t->n, t->n_steps);
    if (t->lost > 0)
        pl_log(r->ctx,
               "warning: %llu spans found no room and are not in the trace; "
               "trace fewer steps",
               (unsigned long long)t->lost);
    if (t->n_steps == 0)
        pl_log(r->ctx, "warning: no step was traced; the schedule begins after "
                       "the last of the steps");
}

int pl_profile_report(struct pl_stage_ctx *ctx, const struct pl_traced *t,
                      const struct pl_traced_more *more, int64_t width,
                      struct err *err)
{
    struct report r = {
        .ctx = ctx,
        .t = t,
        .gpu = more->gpu,
        .memory = more->memory,
        .simulated = pl_device_is_simulated(ctx->be->description),
    };
    struct str name = {0};
    int rc;

    pl_trace_name(&name, ctx->stage->with, width);
    rc = name.failed ? err_set(err, ERR_NOMEM, "out of memory for a trace")
                     : write_trace(&r, name.text, err);
    if (rc == 0)
        say_counts(&r, name.text);
    str_free(&name);
    return rc == 0 && t->n_steps > 0 ? write_files(&r, width, err) : rc;
}
