#include "nn/eval.h"

#include <string.h>

#include "nn/base/mem.h"
#include "nn/step.h"

/* How an output becomes a class. */
enum verdict { VERDICT_NONE, VERDICT_LARGEST, VERDICT_SIGN };

/* A step that was recorded, and what it leaves. */
struct recorded {
    struct nn_step *step;
    struct nn_tensor *losses, *outputs, *predicted;
};

struct nn_evaluator {
    struct nn_model *model;
    const struct nn_data *data;
    const struct nn_loss *loss;
    struct nn_eval_opts opts;
    enum verdict verdict;
    struct nn_batch_source source;
    struct recorded recorded[2]; /* whole batches, and the last, smaller one */
    float *loss_values, *output_values;
    int32_t *predicted_values;
};

static int record_outputs(const struct nn_evaluator *e, struct recorded *r,
                          struct nn_tape *tape, struct nn_tensor *x,
                          struct nn_tensor *y, struct err *err)
{
    struct nn_forward_opts f = {.fusion = NN_FUSION_ALL};
    int rc;

    tape->phase = NN_PHASE_FORWARD;
    rc = nn_model_forward(e->model, tape, x, &f, &r->outputs, err);
    if (rc == 0)
        rc = nn_loss_apply(e->loss, tape, r->outputs, y, 0, &r->losses, err);
    r->predicted = NULL;
    if (rc == 0 && e->verdict == VERDICT_LARGEST)
        rc = nn_tape_apply(tape, NN_OP_ARGMAX, &r->outputs, 1, NULL,
                           &r->predicted, err);
    return rc;
}

/* Runs a batch for the first time while writing it down. */
static int record(struct nn_evaluator *e, struct recorded *r, int64_t batch,
                  struct err *err)
{
    struct nn_scalars none = {0};
    struct nn_tensor *x, *y;
    struct nn_tape *tape;
    int rc;

    rc = nn_tape_new(&tape, e->model->be, err);
    if (rc != 0)
        return rc;
    tape->grad_enabled = false;
    rc = e->model->be->ops->set_scalars(e->model->be, &none, err);
    if (rc == 0)
        rc = nn_loss_batch(e->loss, tape, &e->source, batch, &x, &y, err);
    if (rc == 0)
        rc = record_outputs(e, r, tape, x, y, err);
    if (rc != 0) {
        nn_tape_free(tape);
        return rc;
    }
    return nn_step_new(&r->step, tape, NN_EXEC_RECORDED, NULL, err);
}

static int32_t label_of(const struct nn_evaluator *e, int64_t i)
{
    return e->data->label[nn_data_row(e->data, i)];
}

static void count(struct nn_evaluator *e, int64_t first, int64_t n,
                  int64_t *confusion, struct nn_eval_result *out)
{
    bool binary = e->verdict == VERDICT_SIGN;
    int64_t i;

    for (i = 0; i < n; i++) {
        out->loss += (double)e->loss_values[i];
        if (out->has_accuracy) {
            int32_t got =
                binary ? e->output_values[i] > 0.0f : e->predicted_values[i];
            int32_t want = label_of(e, first + i);

            out->correct += got == want;
            if (confusion && got < e->data->classes)
                confusion[want * e->data->classes + got]++;
        }
    }
    out->samples += n;
}

static int read_batch(struct nn_evaluator *e, const struct recorded *r,
                      struct err *err)
{
    int rc = nn_tensor_get(r->losses, e->loss_values, err);

    if (rc == 0 && r->predicted)
        rc = nn_tensor_get(r->predicted, e->predicted_values, err);
    if (rc == 0 && e->verdict == VERDICT_SIGN)
        rc = nn_tensor_get(r->outputs, e->output_values, err);
    return rc;
}

static int run_batch(struct nn_evaluator *e, int64_t n, struct err *err)
{
    struct recorded *r = &e->recorded[n < e->opts.batch_size];
    struct nn_scalars none = {0};
    int rc = r->step ? nn_step_run(r->step, &none, err) : record(e, r, n, err);

    return rc == 0 ? read_batch(e, r, err) : rc;
}

static int run_all(struct nn_evaluator *e, struct nn_eval_result *out,
                   struct err *err)
{
    const struct nn_eval_opts *opts = &e->opts;
    int64_t first;
    int rc = 0;

    for (first = 0; rc == 0 && first < e->data->n; first += opts->batch_size) {
        int64_t n = e->data->n - first;

        if (n > opts->batch_size)
            n = opts->batch_size;
        if (opts->stop && opts->stop(opts->user))
            return err_set(err, ERR_INTERRUPTED, "evaluation was interrupted");
        e->source.first = first;
        rc = run_batch(e, n, err);
        if (rc == 0)
            count(e, first, n, opts->confusion, out);
    }
    return rc;
}

static enum verdict verdict_of(const struct nn_loss *loss,
                               const struct nn_data *data,
                               const struct nn_shape *out)
{
    if (!data->label || loss->type == NN_LOSS_MSE)
        return VERDICT_NONE;
    if (loss->type == NN_LOSS_CROSS_ENTROPY)
        return VERDICT_LARGEST;
    if (loss->type == NN_LOSS_BCE_WITH_LOGITS)
        return VERDICT_SIGN;
    /* Of an own loss a single output has no known place to be cut at. */
    if (out->ndim == 1 && out->dim[0] >= data->classes && data->classes > 1)
        return VERDICT_LARGEST;
    return VERDICT_NONE;
}

int nn_evaluator_new(struct nn_evaluator **out, struct nn_model *model,
                     const struct nn_data *data, const struct nn_loss *loss,
                     const struct nn_eval_opts *opts, struct err *err)
{
    size_t n = (size_t)opts->batch_size;
    size_t width = (size_t)nn_shape_numel(&model->out);
    struct nn_evaluator *e;
    int rc = nn_loss_check(loss, data, &model->out, err);

    *out = NULL;
    if (rc != 0)
        return rc;
    e = mem_zalloc(sizeof *e);
    if (!e)
        return err_set(err, ERR_NOMEM, "out of memory for an evaluation");
    e->model = model;
    e->data = data;
    e->loss = loss;
    e->opts = *opts;
    e->source.data = data;
    e->verdict = verdict_of(loss, data, &model->out);
    e->loss_values = mem_array(n, sizeof *e->loss_values);
    e->output_values = mem_array(n, width * sizeof *e->output_values);
    e->predicted_values = mem_array(n, sizeof *e->predicted_values);
    if (!e->loss_values || !e->output_values || !e->predicted_values) {
        nn_evaluator_free(e);
        return err_set(err, ERR_NOMEM, "out of memory for an evaluation");
    }
    *out = e;
    return 0;
}

void nn_evaluator_free(struct nn_evaluator *e)
{
    if (!e)
        return;
    nn_step_free(e->recorded[0].step);
    nn_step_free(e->recorded[1].step);
    mem_free(e->loss_values);
    mem_free(e->output_values);
    mem_free(e->predicted_values);
    mem_free(e);
}

int nn_evaluator_run(struct nn_eval_result *out, struct nn_evaluator *e,
                     struct err *err)
{
    int rc;

    memset(out, 0, sizeof *out);
    out->has_accuracy = e->verdict != VERDICT_NONE;
    rc = run_all(e, out, err);
    if (rc == 0 && out->samples > 0) {
        out->loss /= (double)out->samples;
        out->accuracy = (double)out->correct / (double)out->samples;
    }
    return rc;
}

int nn_evaluate(struct nn_eval_result *out, struct nn_model *model,
                const struct nn_data *data, const struct nn_loss *loss,
                const struct nn_eval_opts *opts, struct err *err)
{
    struct nn_evaluator *e;
    int rc;

    memset(out, 0, sizeof *out);
    rc = nn_evaluator_new(&e, model, data, loss, opts, err);
    if (rc == 0)
        rc = nn_evaluator_run(out, e, err);
    nn_evaluator_free(e);
    return rc;
}
