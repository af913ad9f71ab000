/* The operators of a profile stage's step, by taking it once on the CPU. */
#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/predict.h"
#include "pipeline/profile.h"
#include "pipeline/train_run.h"

struct one_step {
    struct pl_stage_ctx ctx; /* as if the profile stage ran */
    const struct pl_profile_with *with;
    struct nn_backend *be;
    struct pl_sets sets;
    struct nn_model *model;
    struct nn_trainer *trainer;
};

static int open_trainer(struct one_step *s, struct err *err)
{
    const struct pl_profile_with *w = s->with;
    const struct pl_train_with loss = {
        .loss = w->loss, .own_loss = w->own_loss, .pos_weight = 1.0};
    const struct nn_trainer_opts opts = {
        .loss = pl_loss_of(s->ctx.config, &loss, s->sets.train),
        .optim = pl_optimizer_spec(&w->optimizer),
        .microbatches = 1,
        .fusion = w->fusion ? NN_FUSION_ALL : NN_FUSION_NONE,
        .execution = NN_EXEC_EAGER,
    };
    int rc = pl_model_new(&s->model, s->ctx.config, w->model, s->be,
                          &s->sets.train->sample, NULL, err);

    return rc == 0 ? nn_trainer_new(&s->trainer, s->model, s->sets.train, &opts,
                                    err)
                   : rc;
}

/* From weights of 0, on the first samples: any numbers will do. */
static int take_step(struct one_step *s, struct err *err)
{
    const struct pl_profile_with *w = s->with;
    float loss;
    int rc = pl_open_dataset(&s->ctx, w->dataset, &s->sets, err);

    if (rc == 0 && w->batch_size > s->sets.train->n)
        rc = err_set(err, ERR_CONFIG, "batch_size %lld is more than there are",
                     (long long)w->batch_size);
    if (rc == 0)
        rc = nn_cpu_open(&s->be, 0, NULL, err);
    if (rc == 0)
        rc = open_trainer(s, err);
    if (rc == 0)
        rc = nn_trainer_step(s->trainer, NULL, 0, w->batch_size, w->lr, &loss,
                             err);
    return rc == ERR_NONFINITE ? 0 : rc;
}

static void close_step(struct one_step *s)
{
    nn_trainer_free(s->trainer);
    nn_model_free(s->model);
    nn_backend_close(s->be);
    pl_sets_close(&s->sets);
}

static int read_calls(struct pl_step_work *out, const struct nn_step *step,
                      int data, struct err *err)
{
    int i;

    if (!step)
        return err_set(err, ERR_CONFIG, "a step of the profile left no record");
    out->op = mem_array((size_t)step->n_call + 1, sizeof *out->op);
    if (!out->op)
        return err_set(err, ERR_NOMEM, "out of memory for a step's operators");
    for (i = 0; i < step->n_call; i++) {
        const struct nn_call *c = &step->call[i];
        struct pl_step_op *op = &out->op[out->n++];

        (void)snprintf(op->layer, sizeof op->layer, "%s", c->layer);
        op->op = c->op;
        op->role = c->role;
        op->phase = c->phase;
        op->work = pl_work_of(c, data);
        out->flops += op->work.flops;
        out->bytes += op->work.bytes;
        out->link_bytes += op->work.link_bytes;
        out->launches += op->work.launches;
    }
    return 0;
}

int pl_step_work_read(struct pl_step_work *out, struct pl_stage_ctx *ctx,
                      const struct pl_stage *profile, struct err *err)
{
    struct one_step s = {.ctx = *ctx, .with = profile->with};
    int rc;

    memset(out, 0, sizeof *out);
    s.ctx.config = profile->home;
    s.ctx.stage = profile;
    rc = take_step(&s, err);
    if (rc == 0)
        rc = read_calls(out, nn_trainer_recorded(s.trainer, s.with->batch_size),
                        s.with->data, err);
    close_step(&s);
    return rc;
}

void pl_step_work_free(struct pl_step_work *w)
{
    mem_free(w->op);
    memset(w, 0, sizeof *w);
}
