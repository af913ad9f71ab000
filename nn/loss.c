#include "nn/loss.h"

#include <stdio.h>

static const enum nn_op_id ops[] = {
    [NN_LOSS_CROSS_ENTROPY] = NN_OP_CROSS_ENTROPY,
    [NN_LOSS_BCE_WITH_LOGITS] = NN_OP_BCE_WITH_LOGITS,
    [NN_LOSS_MSE] = NN_OP_MSE,
    [NN_LOSS_CUSTOM] = NN_OP_CUSTOM,
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

static int check_cross_entropy(const struct nn_data *data,
                               const struct nn_shape *out, struct err *err)
{
    int64_t n = nn_shape_numel(out);

    if (!data->label)
        return err_set(err, ERR_CONFIG,
                       "cross_entropy needs class labels, and "
                       "the data set has number targets; mse "
                       "would fit");
    if (n < data->classes)
        return err_set(err, ERR_CONFIG,
                       "the model has %lld outputs for %lld classes; its last "
                       "layer needs out: %lld",
                       (long long)n, (long long)data->classes,
                       (long long)data->classes);
    if (out->ndim != 1)
        return err_set(err, ERR_CONFIG,
                       "cross_entropy takes one row of logits a sample; put a "
                       "linear or flatten layer last");
    return 0;
}

static int check_width(const struct nn_data *data, const struct nn_shape *out,
                       struct err *err)
{
    int64_t n = nn_shape_numel(out), want = target_width(data);

    if (n == want)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "the model has %lld outputs for targets of %lld number%s"
                   "%s",
                   (long long)n, (long long)want, want == 1 ? "" : "s",
                   data->label ? "; two classes need one logit: out: 1"
                               : "; for class labels say how many classes "
                                 "the data set has");
}

/* The targets of one sample: a class is a number, not a row of one. */
static struct nn_shape target_shape(const struct nn_loss *loss,
                                    const struct nn_data *data)
{
    if (data->label && loss->type != NN_LOSS_MSE)
        return nn_shape0();
    return nn_shape1(target_width(data));
}

/* "(B, 3)" for samples of shape s. */
static const char *batch_text(const struct nn_shape *s, char *buf, size_t size)
{
    size_t at = (size_t)snprintf(buf, size, "(B");
    int i;

    for (i = 0; i < s->ndim && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, ", %lld",
                               (long long)s->dim[i]);
    if (at < size)
        (void)snprintf(buf + at, size - at, ")");
    return buf;
}

static int check_bce(const struct nn_loss *loss, const struct nn_data *data,
                     const struct nn_shape *out, struct err *err)
{
    struct nn_shape want = target_shape(loss, data);
    char a[160], b[160];
    int rc;

    if (data->label && data->classes > 2)
        return err_set(err, ERR_CONFIG,
                       "bce_with_logits tells 2 classes "
                       "apart, and the data set has %lld; "
                       "cross_entropy would fit",
                       (long long)data->classes);
    rc = check_width(data, out, err);
    if (rc != 0 || nn_shape_eq(out, &want))
        return rc;
    return err_set(err, ERR_CONFIG,
                   "the model gives %s and the targets are %s: put a %s layer "
                   "last",
                   batch_text(out, a, sizeof a), batch_text(&want, b, sizeof b),
                   want.ndim == 0 ? "squeeze" : "flatten");
}

int nn_loss_check(const struct nn_loss *loss, const struct nn_data *data,
                  const struct nn_shape *out, struct err *err)
{
    switch (loss->type) {
    case NN_LOSS_CROSS_ENTROPY:
        return check_cross_entropy(data, out, err);
    case NN_LOSS_BCE_WITH_LOGITS:
        return check_bce(loss, data, out, err);
    case NN_LOSS_MSE:
        return check_width(data, out, err);
    case NN_LOSS_CUSTOM:
        break;
    }
    if (loss->custom->n_in == 2)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "a loss takes the model's outputs and the targets, and %s "
                   "takes %d tensor%s",
                   loss->custom->name, loss->custom->n_in,
                   loss->custom->n_in == 1 ? "" : "s");
}

int nn_loss_batch(const struct nn_loss *loss, struct nn_tape *tape,
                  const struct nn_batch_source *source, int64_t batch,
                  struct nn_tensor **x, struct nn_tensor **y, struct err *err)
{
    struct nn_call c = {.op = NN_OP_BATCH, .n_out = 2, .layer = ""};
    const struct nn_data *data = source->data;
    bool classes = data->label && (loss->type == NN_LOSS_CROSS_ENTROPY ||
                                   loss->type == NN_LOSS_CUSTOM);
    struct nn_shape xs = {.ndim = data->sample.ndim + 1, .dim = {batch}};
    struct nn_shape target = target_shape(loss, data);
    struct nn_shape ys = {.ndim = target.ndim + 1,
                          .dim = {batch, target.dim[0]}};
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

/* losses (B) -> (): a chain over the samples of each times 1 / samples. */
static int add_up(struct nn_tape *tape, struct nn_tensor *losses,
                  int64_t samples, struct nn_tensor **out, struct err *err)
{
    union nn_attrs part = {.scalar = 1.0 / (double)samples};
    union nn_attrs down = {.reduce = {0}};
    struct nn_shape column = nn_shape2(losses->shape.dim[0], 1);
    struct nn_shape one = nn_shape0();
    int rc = nn_tape_apply(tape, NN_OP_SCALE, &losses, 1, &part, out, err);

    if (rc == 0) /* the sum over a last dimension is one of lanes */
        rc = nn_tape_reshape(tape, *out, &column, out, err);
    if (rc == 0)
        rc = nn_tape_apply(tape, NN_OP_SUM, out, 1, &down, out, err);
    return rc == 0 ? nn_tape_reshape(tape, *out, &one, out, err) : rc;
}

static int apply_custom(const struct nn_custom *c, struct nn_tape *tape,
                        struct nn_tensor *const *in, int64_t samples,
                        struct nn_tensor **out, struct err *err)
{
    struct nn_shape want = nn_shape1(in[0]->shape.dim[0]);
    char got[96], due[96];
    int rc = nn_tape_custom(tape, c, in, out, err);

    if (rc != 0)
        return rc;
    if (!nn_shape_eq(&(*out)->shape, &want) || (*out)->dtype != NN_F32)
        return err_set(err, ERR_SHAPE,
                       "a loss gives one number a sample, float32 %s here, and "
                       "%s gives %s %s",
                       nn_shape_text(&want, due, sizeof due), c->name,
                       nn_dtype_name((*out)->dtype),
                       nn_shape_text(&(*out)->shape, got, sizeof got));
    return samples > 0 ? add_up(tape, *out, samples, out, err) : 0;
}

static int apply_builtin(const struct nn_loss *loss, struct nn_tape *tape,
                         struct nn_tensor *const *operands, int64_t samples,
                         struct nn_tensor **out, struct err *err)
{
    union nn_attrs attrs = {.loss = {.per_sample = samples == 0,
                                     .label_smoothing = loss->label_smoothing,
                                     .pos_weight = loss->pos_weight}};
    struct nn_tensor *in[2] = {operands[0], operands[1]};
    int64_t width = 1;
    int rc = 0;

    if (in[1]->shape.ndim > 1) {
        width = in[1]->shape.dim[1];
        rc = nn_tape_reshape(tape, in[0], &in[1]->shape, &in[0], err);
    }
    if (samples > 0) /* the mean is over all numbers, as PyTorch's */
        attrs.loss.scale = 1.0 / (double)(samples * width);
    if (rc == 0)
        rc = nn_tape_apply(tape, ops[loss->type], in, 2, &attrs, out, err);
    return rc;
}

int nn_loss_apply(const struct nn_loss *loss, struct nn_tape *tape,
                  struct nn_tensor *outputs, struct nn_tensor *y,
                  int64_t samples, struct nn_tensor **out, struct err *err)
{
    struct nn_tensor *in[2] = {outputs, y};
    int rc;

    tape->role = NN_ROLE_FORWARD;
    tape->layer = "loss";
    if (loss->type == NN_LOSS_CUSTOM)
        rc = apply_custom(loss->custom, tape, in, samples, out, err);
    else
        rc = apply_builtin(loss, tape, in, samples, out, err);
    tape->role = NN_ROLE_NONE;
    tape->layer = "";
    return rc;
}
