/* The steps of a training run: put on their way, and their losses booked. */
#include <stdio.h>

#include "pipeline/train_run.h"

static void show_progress(struct pl_train *t, float loss)
{
    char text[96];
    struct pl_progress p = {.text = text, .unit = "step"};

    (void)snprintf(text, sizeof text, "epoch %lld/%lld  loss %.4f",
                   (long long)t->epoch + 1, (long long)t->with->epochs,
                   (double)loss);
    p.done = (double)t->trainer->step;
    p.total = (double)(t->with->epochs * t->steps_per_epoch);
    pl_progress(t->ctx, &p);
}

/* Books the results of steps: the epoch's mean loss, the curve. */
static int book(struct pl_train *t, const struct nn_step_result *r, int n,
                struct err *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        t->loss_sum += (double)r[i].loss * (double)r[i].batch;
        t->loss_samples += r[i].batch;
        rc = pl_curve_add(&t->curve, r[i].step + 1, t->epoch + 1, r[i].lr,
                          (double)r[i].loss, err);
    }
    if (n > 0)
        show_progress(t, r[n - 1].loss);
    return rc;
}

int pl_train_collect(struct pl_train *t, struct err *err)
{
    struct nn_step_result r[NN_RESULTS];
    int n;
    int rc = nn_trainer_collect(t->trainer, r, &n, err);
    int booked = book(t, r, n, rc == 0 ? err : NULL);

    return rc != 0 ? rc : booked;
}

/* A device is given many steps before the first one's loss is asked for. */
static int steps_ahead(const struct pl_train *t)
{
    return t->ctx->be->ops->step_run ? NN_RESULTS : 1;
}

int pl_train_one_step(struct pl_train *t, struct err *err)
{
    double lr = nn_sched_lr(&t->sched, t->trainer->step);
    struct nn_step_result r = {.step = t->trainer->step, .lr = lr};
    int ahead = steps_ahead(t);
    int64_t first;
    int rc;

    nn_loader_batch(t->loader, t->step_in_epoch, &first, &r.batch);
    if (ahead > 1)
        rc = nn_trainer_launch(t->trainer, t->loader->order, first, r.batch, lr,
                               err);
    else
        rc = nn_trainer_step(t->trainer, t->loader->order, first, r.batch, lr,
                             &r.loss, err);
    if (rc == ERR_CONFIG) /* the order of its calls */
        pl_err_at_node(err, pl_node_get(t->with->node, "step_order"));
    if (rc != 0)
        return rc;
    t->step_in_epoch++;
    rc = pl_train_tell_step(t, false, err);
    if (rc == 0 && ahead == 1)
        rc = book(t, &r, 1, err);
    if (rc == 0 && t->trainer->n_waiting == ahead)
        rc = pl_train_collect(t, err);
    return rc;
}
