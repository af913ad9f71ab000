#include "cuda/cuda_fuse.h"

#include "cuda/cuda_ops.h"
#include "cuda/cuda_trace.h"
#include "cuda/k_loss.h"

static bool same_place(const struct nn_tensor *a, const struct nn_tensor *b)
{
    return a->st == b->st && a->offset == b->offset &&
           nn_tensor_numel(a) == nn_tensor_numel(b);
}

static bool touches(const struct nn_call *c, const struct nn_storage *st)
{
    int i;

    for (i = 0; i < c->n_in; i++)
        if (c->in[i]->st == st)
            return true;
    for (i = 0; i < c->n_out; i++)
        if (c->out[i]->st == st)
            return true;
    for (i = 0; c->op == NN_OP_CLIP_GRAD_NORM && i < c->attrs.clip.n; i++)
        if (c->attrs.clip.grads[i]->st == st)
            return true;
    return false;
}

static bool is_pair(const struct nn_call *loss, const struct nn_call *grad)
{
    const struct nn_tensor *x = grad->in[1], *dx = grad->out[0];

    return loss->op == NN_OP_CROSS_ENTROPY && !loss->attrs.loss.per_sample &&
           same_place(loss->in[0], x) && same_place(loss->in[1], grad->in[2]) &&
           loss->attrs.loss.scale == grad->attrs.loss.scale &&
           loss->attrs.loss.label_smoothing ==
               grad->attrs.loss.label_smoothing &&
           x->dtype == NN_F32 && x->shape.ndim == 2 && x->st != dx->st &&
           nn_tensor_numel(x) > 0 && nn_tensor_numel(x) == nn_tensor_numel(dx);
}

/* The loss may come later where nobody asks for it or for what it is made
 * from in between. */
static bool may_wait(const struct nn_step *s, int loss, int grad)
{
    const struct nn_call *c = &s->call[loss];

    for (int i = loss + 1; i < grad; i++)
        if (touches(&s->call[i], c->in[0]->st) ||
            touches(&s->call[i], c->in[1]->st) ||
            touches(&s->call[i], c->out[0]->st))
            return false;
    return true;
}

bool cuda_fuse_loss(struct cuda_loss_pair *out, const struct nn_step *s, int i)
{
    const struct nn_call *grad = &s->call[i];
    int k;

    if (grad->op != NN_OP_CROSS_ENTROPY_GRAD)
        return false;
    for (k = i - 1; k >= 0; k--)
        if (is_pair(&s->call[k], grad))
            break;
    if (k < 0 || !may_wait(s, k, i))
        return false;
    *out = (struct cuda_loss_pair){.loss = &s->call[k], .grad = grad};
    return true;
}

/* The one call behind fill that has to do with its tensor, if no other has. */
static int only_reader(const struct nn_step *s, int fill)
{
    const struct nn_storage *st = s->call[fill].out[0]->st;
    int reader = -1;

    for (int i = 0; i < s->n_call; i++) {
        if (i == fill || !touches(&s->call[i], st))
            continue;
        if (i < fill || reader >= 0)
            return -1;
        reader = i;
    }
    return reader;
}

bool cuda_fuse_drops(const struct nn_step *s, int i)
{
    const struct nn_call *c = &s->call[i];
    struct cuda_loss_pair pair;
    int k;

    if (c->op == NN_OP_CROSS_ENTROPY) {
        for (k = i + 1; k < s->n_call; k++)
            if (cuda_fuse_loss(&pair, s, k) && pair.loss == c)
                return true;
    } else if (c->op == NN_OP_FILL) {
        k = only_reader(s, i);
        return k >= 0 && cuda_fuse_loss(&pair, s, k) &&
               pair.grad->in[0]->st == c->out[0]->st &&
               pair.grad->out[0]->st != c->out[0]->st;
    }
    return false;
}

static struct k_loss_both both_of(const struct cuda *cu,
                                  const struct cuda_loss_pair *pair)
{
    const struct nn_tensor *x = pair->grad->in[1];
    double eps = pair->loss->attrs.loss.label_smoothing;
    struct k_loss_both b = {.dx = cuda_data(pair->grad->out[0]),
                            .g = cuda_data(pair->grad->in[0]),
                            .x = cuda_data(x),
                            .target = cuda_data(pair->grad->in[2]),
                            .rows = x->shape.dim[0],
                            .cols = x->shape.dim[1],
                            .o = {.scale = pair->loss->attrs.loss.scale,
                                  .keep = 1.0 - eps,
                                  .share = eps / (double)x->shape.dim[1],
                                  .smooth = eps != 0.0,
                                  .op = (int)pair->loss->op},
                            .fault = cu->fault};

    return b;
}

/* As many rows as one block has a half warp for, twice: it adds their terms up
 * itself. The chain over more is a kernel of its own. */
int cuda_run_loss_pair(struct cuda *cu, const struct cuda_loss_pair *pair,
                       struct err *err)
{
    struct k_loss_both b = both_of(cu, pair);
    bool alone = b.rows <= K_LOSS_BOTH_ROWS;
    float *loss = cuda_data(pair->loss->out[0]);
    void *terms;
    int rc =
        cuda_workspace(cu, (size_t)(b.rows + 1) * sizeof(float), &terms, err);

    b.l = terms;
    b.sum = alone ? loss : NULL;
    cuda_trace_capture(cu, pair->grad);
    if (rc == 0)
        rc = CU(k_cross_entropy_both(&b, cu->stream), err);
    if (rc != 0 || alone)
        return rc;
    cuda_trace_capture(cu, pair->loss);
    return CU(k_chain(NN_F32, loss, terms, b.rows, b.o.scale, cu->stream), err);
}
