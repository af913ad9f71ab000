#include "nn/train_results.h"

#include <math.h>
#include <string.h>

int nn_result_check(const struct nn_step_result *r, int32_t bad,
                    struct err *err)
{
    if (!isfinite(r->loss))
        return err_set(err, ERR_NONFINITE,
                       "the loss is %s at step %lld (learning rate %g): "
                       "training diverged; try a smaller learning rate",
                       isnan(r->loss) ? "nan" : "inf", (long long)r->step,
                       r->lr);
    if (bad != 0)
        return err_set(err, ERR_NONFINITE,
                       "a parameter is inf or nan after step %lld (learning "
                       "rate %g): training diverged; try a smaller learning "
                       "rate",
                       (long long)r->step, r->lr);
    return 0;
}

/* A vector of NN_RESULTS and a view of each of its numbers. */
static int ring_new(struct nn_tensor **ring, struct nn_tensor **at,
                    struct nn_backend *be, enum nn_dtype dtype,
                    const struct nn_shape *one, struct err *err)
{
    struct nn_shape all = nn_shape1(NN_RESULTS);
    int rc =
        nn_tensor_new(ring, be, &all, dtype, NN_ROWS, NN_CAT_TEMPORARY, err);

    for (int i = 0; rc == 0 && i < NN_RESULTS; i++)
        rc = nn_tensor_view(&at[i], (*ring)->st,
                            (size_t)i * nn_dtype_size(dtype), one, dtype,
                            NN_ROWS, err);
    return rc;
}

static int results_new(struct nn_trainer *t, const struct nn_tensor *loss,
                       struct err *err)
{
    struct nn_backend *be = t->model->be;
    int rc = ring_new(&t->losses, t->loss_at, be, NN_F32, &loss->shape, err);

    return rc == 0 ? ring_new(&t->flags, t->flag_at, be, NN_I32,
                              &t->optim->flag->shape, err)
                   : rc;
}

void nn_results_free(struct nn_trainer *t)
{
    for (int i = 0; i < NN_RESULTS; i++) {
        nn_tensor_free(t->loss_at[i]);
        nn_tensor_free(t->flag_at[i]);
    }
    nn_tensor_free(t->losses);
    nn_tensor_free(t->flags);
}

static int copy(struct nn_backend *be, struct nn_tensor *from,
                struct nn_tensor *to, struct err *err)
{
    const struct nn_call c = {.op = NN_OP_COPY,
                              .n_in = 1,
                              .n_out = 1,
                              .in = {from},
                              .out = {to},
                              .layer = ""};

    return nn_backend_run(be, &c, err);
}

static int results_ready(struct nn_trainer *t, const struct nn_tensor *loss,
                         struct err *err)
{
    return t->flag_at[NN_RESULTS - 1] ? 0 : results_new(t, loss, err);
}

int nn_results_keeper(struct nn_trainer *t, struct nn_tensor *loss,
                      struct nn_step_keep *out, struct err *err)
{
    int rc;

    *out = (struct nn_step_keep){.from = {NULL}};
    if (t->opts.execution != NN_EXEC_RECORDED ||
        !t->model->be->ops->step_prepare)
        return 0;
    rc = results_ready(t, loss, err);
    if (rc == 0)
        *out = (struct nn_step_keep){.from = {loss, t->optim->flag},
                                     .ring = {t->losses, t->flags}};
    return rc;
}

int nn_results_copy(struct nn_trainer *t, struct nn_tensor *loss,
                    struct err *err)
{
    int i = t->n_waiting;
    int rc = results_ready(t, loss, err);

    if (rc == 0)
        rc = copy(t->model->be, loss, t->loss_at[i], err);
    if (rc == 0)
        rc = copy(t->model->be, t->optim->flag, t->flag_at[i], err);
    return rc;
}

int nn_trainer_collect(struct nn_trainer *t,
                       struct nn_step_result out[NN_RESULTS], int *n,
                       struct err *err)
{
    float loss[NN_RESULTS];
    int32_t bad[NN_RESULTS];
    int waiting = t->n_waiting;
    int rc;

    *n = 0;
    t->n_waiting = 0;
    if (waiting == 0)
        return 0;
    rc = nn_tensor_get(t->losses, loss, err);
    if (rc == 0)
        rc = nn_tensor_get(t->flags, bad, err);
    for (int i = 0; rc == 0 && i < waiting; i++) {
        t->waiting[i].loss = loss[i];
        rc = nn_result_check(&t->waiting[i], bad[i], err);
        if (rc != 0)
            t->step = t->waiting[i].step;
        else
            out[(*n)++] = t->waiting[i];
    }
    return rc;
}
