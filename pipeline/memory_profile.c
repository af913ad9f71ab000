/* The memory timeline that a profile stage leaves. */
#include "nn/base/mem.h"
#include "nn/train.h"
#include "pipeline/device_settings.h"
#include "pipeline/memory_timeline.h"
#include "pipeline/profile.h"
#include "pipeline/profile_traced.h"

/* Whether the traced steps are without a gap, and each has as many operators
 * as the recorded one. */
static bool is_complete(const struct pl_traced *traced, int n_call)
{
    size_t i, ops = 0;

    for (i = 0; i < traced->n; i++)
        ops += traced->span[i]->kind == PROF_OP;
    for (i = 1; i < traced->n_steps; i++)
        if (traced->step[i]->step != traced->step[i - 1]->step + 1)
            return false;
    return traced->n_steps > 0 && n_call > 0 &&
           ops == traced->n_steps * (size_t)n_call;
}

/* The operators' times in pairs, the caller's (mem_free); NULL: no memory. */
static int64_t *times_of(const struct pl_traced *traced)
{
    int64_t *ns = mem_array(2 * traced->n, sizeof *ns);
    size_t i, n = 0;

    for (i = 0; ns && i < traced->n; i++) {
        if (traced->span[i]->kind != PROF_OP)
            continue;
        ns[n++] = traced->span[i]->begin;
        ns[n++] = traced->span[i]->end;
    }
    return ns;
}

static int make(struct nn_step_memory **out, const struct nn_trainer *t,
                const struct pl_profile_with *w, const struct pl_traced *traced,
                struct err *err)
{
    const struct nn_step *step = nn_trainer_recorded(t, w->batch_size);
    struct nn_step_memory_opts opts = {.batch = w->batch_size,
                                       .n_step = (int)w->n_step};
    int64_t *ns = NULL;
    int rc;

    if (traced && step && is_complete(traced, step->n_call)) {
        ns = times_of(traced);
        if (!ns)
            return err_set(err, ERR_NOMEM,
                           "out of memory for a memory timeline");
        opts.first_step = (int)traced->step[0]->step;
        opts.n_step = (int)traced->n_steps;
        opts.ns = ns;
    }
    rc = nn_step_memory_new(out, t, &opts, err);
    mem_free(ns);
    return rc;
}

int pl_memory_traced(struct nn_step_memory **out, const struct nn_trainer *t,
                     const struct pl_profile_with *w,
                     const struct pl_traced *traced, struct err *err)
{
    const struct nn_step *step = nn_trainer_recorded(t, w->batch_size);

    *out = NULL;
    return step && is_complete(traced, step->n_call)
               ? make(out, t, w, traced, err)
               : 0;
}

/* Bytes of the data set on a device that gathers its batches itself. */
static int64_t resident(const struct nn_trainer *t,
                        const struct pl_profile_with *w)
{
    const struct nn_data *d = t->data;

    if (!t->model->be->pci_bus_id[0] || w->data != NN_DATA_DEVICE)
        return 0;
    return d->n * nn_shape_numel(&d->sample) * (int64_t)nn_dtype_size(d->dtype);
}

int pl_memory_profile(struct pl_stage_ctx *ctx, const struct nn_trainer *t,
                      const struct pl_traced *traced, int64_t width,
                      struct err *err)
{
    const struct pl_profile_with *w = ctx->stage->with;
    struct pl_memory_run run = {.resident = resident(t, w),
                                .workspace = (int64_t)ctx->be->work_bytes};
    struct pl_memory_runs runs = {
        .run = &run,
        .n = 1,
        .simulated = pl_device_is_simulated(ctx->be->description)};
    struct str name = {0}, label = {0}, title = {0};
    struct nn_step_memory *m = NULL;
    int rc;

    pl_profile_recipe(&name, w, width, "_");
    pl_profile_recipe(&label, w, width, ", ");
    str_addf(&title, "Memory: %s", label.text ? label.text : "");
    if (name.failed || label.failed || title.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for a memory timeline");
    else
        rc = make(&m, t, w, traced, err);
    if (rc == 0) {
        run.label = label.text;
        run.memory = m;
        runs.title = title.text;
        rc = pl_memory_write(ctx, name.text, &runs, err);
    }
    nn_step_memory_free(m);
    str_free(&name);
    str_free(&label);
    str_free(&title);
    return rc;
}
