/* What a train stage tells of its recorded step. */
#include <stdio.h>

#include "pipeline/step_report.h"
#include "pipeline/train_run.h"

static void give_places(struct pl_stage_ctx *ctx, const struct pl_step_view *v)
{
    int place[NN_PART_COUNT], p;
    char name[64];

    pl_step_places(v, place);
    for (p = 0; p < NN_PART_COUNT; p++) {
        if (place[p] == 0)
            continue;
        (void)snprintf(name, sizeof name, "step.%s",
                       nn_part_name((enum nn_part)p));
        pl_metric(ctx, name, place[p]);
    }
}

static int tell(struct pl_train *t, const struct nn_step *step, struct err *err)
{
    struct pl_step_view v = {step, t->model,
                             t->loss.type == NN_LOSS_CUSTOM
                                 ? t->loss.custom->name
                                 : nn_loss_name(t->loss.type)};
    struct str text = {0};
    int rc;

    pl_step_line(&v, &text);
    if (!text.failed)
        pl_log(t->ctx, "%s", text.text);
    str_clear(&text);
    rc = pl_step_markdown(&v, &text, err);
    if (rc == 0)
        rc = pl_artifact_write(t->ctx, "step.md", text.text, text.len, err);
    str_free(&text);
    give_places(t->ctx, &v);
    t->step_told = rc == 0;
    return rc;
}

/* The first step of an order may not be a usual one: then a second follows. */
static const struct nn_step *record_now(struct pl_train *t, int64_t count,
                                        struct err *err)
{
    const struct nn_step *step = NULL;
    int64_t at = t->trainer->step;
    float loss;
    int rc = 0, i;

    for (i = 0; rc == 0 && !step && i < 2; i++) {
        rc = nn_trainer_step(t->trainer, NULL, 0, count, 0.0, &loss, err);
        step = nn_trainer_recorded(t->trainer, count);
    }
    if (step) /* that its loss may be inf or nan does not matter here */
        err_clear(err);
    t->trainer->step = at;
    return step;
}

int pl_train_tell_step(struct pl_train *t, bool must, struct err *err)
{
    const struct nn_step *step;
    int64_t first, count;

    if (t->step_told)
        return 0;
    nn_loader_batch(t->loader, 0, &first, &count);
    step = nn_trainer_recorded(t->trainer, count);
    if (!step && must) {
        step = record_now(t, count, err);
        if (!step)
            return err->code;
    }
    return step ? tell(t, step, err) : 0;
}
