/* The files that a profile's traced steps leave. */
#include <string.h>

#include "nn/step.h"
#include "pipeline/device_settings.h"
#include "pipeline/profile.h"
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

static int write_trace(struct pl_stage_ctx *ctx, const struct pl_traced *t,
                       const char *name, struct err *err)
{
    const struct pl_profile_with *w = ctx->stage->with;
    const struct pl_trace_fact fact[] = {
        {.key = "execution", .text = execution_of(w)},
        {.key = "data", .text = pl_data_path_on(ctx->be, w->data)},
        {.key = "fusion", .text = pl_fusions[w->fusion]},
        {.key = "numerics", .text = pl_numerics_on(ctx->be, w->numerics)},
        {.key = "optimizer", .text = pl_optimizer_types[w->optimizer.type]},
        {.key = "batch_size", .number = w->batch_size},
        {.key = "device", .text = ctx->be->description},
        {.key = "lost_spans", .number = (int64_t)t->lost},
    };
    const char *path = pl_artifact_path(ctx, name, err);
    int rc;

    if (!path)
        return err ? err->code : ERR_NOMEM;
    rc = pl_traced_write(t, path, fact, sizeof fact / sizeof *fact, err);
    return rc == 0 ? pl_artifact_add(ctx, name, err) : rc;
}

static int write_text(struct pl_stage_ctx *ctx, const char *name, struct str *s,
                      struct err *err)
{
    int rc = s->failed ? err_set(err, ERR_NOMEM, "out of memory for %s", name)
                       : pl_artifact_write(ctx, name, s->text, s->len, err);

    str_clear(s);
    return rc;
}

static int write_pictures(struct pl_stage_ctx *ctx, const struct pl_traced *t,
                          int64_t width, struct err *err)
{
    struct str about = {0}, out = {0};
    int rc;

    add_about(&about, ctx, width);
    if (about.failed)
        return err_set(err, ERR_NOMEM, "out of memory for a picture");
    pl_traced_ops_csv(t, &out);
    rc = write_text(ctx, "ops.csv", &out, err);
    if (rc == 0) {
        pl_traced_track_svg(t, about.text, &out);
        rc = write_text(ctx, "cpu_track.svg", &out, err);
    }
    if (rc == 0) {
        pl_traced_span_svg(t, about.text, &out);
        rc = write_text(ctx, "step_span.svg", &out, err);
    }
    str_free(&about);
    str_free(&out);
    return rc;
}

int pl_profile_report(struct pl_stage_ctx *ctx, const struct pl_traced *t,
                      int64_t width, struct err *err)
{
    struct str name = {0};
    int rc;

    pl_trace_name(&name, ctx->stage->with, width);
    rc = name.failed ? err_set(err, ERR_NOMEM, "out of memory for a trace")
                     : write_trace(ctx, t, name.text, err);
    if (rc == 0)
        pl_log(ctx, "%s: %zu spans of %zu steps", name.text, t->n, t->n_steps);
    str_free(&name);
    if (rc == 0 && t->lost > 0)
        pl_log(ctx,
               "warning: %llu spans found no room and are not in the trace; "
               "trace fewer steps",
               (unsigned long long)t->lost);
    if (rc == 0 && t->n_steps == 0)
        pl_log(ctx, "warning: no step was traced; the schedule begins after "
                    "the last of the steps");
    return rc == 0 && t->n_steps > 0 ? write_pictures(ctx, t, width, err) : rc;
}
