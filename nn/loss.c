#include "nn/loss.h"

static const enum nn_op_id ops[] = {
    [NN_LOSS_CROSS_ENTROPY] = NN_OP_CROSS_ENTROPY,
    [NN_LOSS_BCE_WITH_LOGITS] = NN_OP_BCE_WITH_LOGITS,
    [NN_LOSS_MSE] = NN_OP_MSE,
};

const char *nn_loss_name(enum nn_loss_type t)
{
    return nn_op_name(ops[t]);
}

enum nn_loss_type nn_loss_default(const struct nn_data *data)
{
    return data->label ? NN_LOSS_CROSS_ENTROPY : NN_LOSS_MSE;
}

/* Numbers that one sample's target is made of under this loss. */
static int64_t target_width(const struct nn_data *data)
{
    return data->label ? 1 : data->target_width;
}

int nn_loss_check(const struct nn_loss *loss, const struct nn_data *data,
                  const struct nn_shape *out, struct err *err)
{
    int64_t n = nn_shape_numel(out);

    if (loss->type == NN_LOSS_CROSS_ENTROPY && !data->label)
        return err_set(err, ERR_CONFIG,
                       "cross_entropy needs class labels, and "
                       "the data set has number targets; mse "
                       "would fit");
    if (loss->type == NN_LOSS_CROSS_ENTROPY && n < data->classes)
        return err_set(err, ERR_CONFIG,
                       "the model has %lld outputs for %lld classes; its last "
                       "layer needs out: %lld",
                       (long long)n, (long long)data->classes,
                       (long long)data->classes);
    if (loss->type == NN_LOSS_CROSS_ENTROPY && out->ndim != 1)
        return err_set(err, ERR_CONFIG,
                       "cross_entropy takes one row of logits a sample; put a "
                       "linear or flatten layer last");
    if (loss->type == NN_LOSS_BCE_WITH_LOGITS && data->label &&
        data->classes > 2)
        return err_set(err, ERR_CONFIG,
                       "bce_with_logits tells 2 classes "
                       "apart, and the data set has %lld; "
                       "cross_entropy would fit",
                       (long long)data->classes);
    if (loss->type != NN_LOSS_CROSS_ENTROPY && n != target_width(data))
        return err_set(err, ERR_CONFIG,
                       "the model has %lld outputs for targets of %lld number%s"
                       "%s",
                       (long long)n, (long long)target_width(data),
                       target_width(data) == 1 ? "" : "s",
                       data->label ? "; two classes need one logit: out: 1"
                                   : "; for class labels say how many classes "
                                     "the data set has");
    return 0;
}

int nn_loss_batch(const struct nn_loss *loss, struct nn_tape *tape,
                  const struct nn_batch_source *source, int64_t batch,
                  struct nn_tensor **x, struct nn_tensor **y, struct err *err)
{
    struct nn_call c = {.op = NN_OP_BATCH, .n_out = 2, .layer = ""};
    const struct nn_data *data = source->data;
    bool classes = loss->type == NN_LOSS_CROSS_ENTROPY;
    struct nn_shape xs = {.ndim = data->sample.ndim + 1, .dim = {batch}};
    struct nn_shape ys =
        classes ? nn_shape1(batch) : nn_shape2(batch, target_width(data));
    int rc, i;

    if (xs.ndim > NN_MAX_DIMS)
        return err_set(err, ERR_SHAPE, "samples of %d dimensions are too many",
                       data->sample.ndim);
    for (i = 0; i < data->sample.ndim; i++)
        xs.dim[i + 1] = data->sample.dim[i];
    tape->phase = NN_PHASE_H2D;
    rc = nn_tape_tensor(tape, &xs, NN_F32, NN_CAT_INPUT, &c.out[0], err);
    if (rc == 0)
        rc = nn_tape_tensor(tape, &ys, classes ? NN_I32 : NN_F32, NN_CAT_INPUT,
                            &c.out[1], err);
    if (rc != 0)
        return rc;
    *x = c.out[0];
    *y = c.out[1];
    (*x)->name = "x";
    (*y)->name = "y";
    c.attrs.batch = source;
    return nn_tape_call(tape, &c, err);
}

int nn_loss_apply(const struct nn_loss *loss, struct nn_tape *tape,
                  struct nn_tensor *outputs, struct nn_tensor *y,
                  int64_t samples, struct nn_tensor **out, struct err *err)
{
    union nn_attrs attrs = {.loss = {.per_sample = samples == 0,
                                     .label_smoothing = loss->label_smoothing,
                                     .pos_weight = loss->pos_weight}};
    struct nn_tensor *in[2] = {outputs, y};
    int64_t width = 1;
    int rc;

    if (loss->type != NN_LOSS_CROSS_ENTROPY) {
        width = y->shape.dim[1];
        rc = nn_tape_reshape(tape, outputs, &y->shape, &in[0], err);
        if (rc != 0)
            return rc;
    }
    if (samples > 0) /* the mean is over all numbers, as PyTorch's */
        attrs.loss.scale = 1.0 / (double)(samples * width);
    tape->role = NN_ROLE_FORWARD;
    tape->layer = "loss";
    rc = nn_tape_apply(tape, ops[loss->type], in, 2, &attrs, out, err);
    tape->role = NN_ROLE_NONE;
    tape->layer = "";
    return rc;
}
