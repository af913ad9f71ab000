#include "nn/train.h"

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/traced.h"
#include "nn/train_results.h"

/* Blocks that a pairwise tree over n pieces needs at once: the binary digits
 * of the number of pieces done, and one for the piece at hand. */
static int tree_depth(int64_t n)
{
    int d = 1;

    while (n > 1) {
        n = (n + 1) / 2;
        d++;
    }
    return d;
}

static int check_order(const struct nn_trainer *t, struct err *err)
{
    int rc = nn_train_order_check(&t->opts.order, NULL, err);

    if (rc == 0 && t->plan.carries && t->opts.microbatches > 1)
        rc = err_set(err, ERR_CONFIG,
                     "step_order carries gradients over to the next step, "
                     "which takes microbatches: 1, not %lld",
                     (long long)t->opts.microbatches);
    return rc;
}

static int zero_grads(struct nn_model *model, struct err *err)
{
    struct nn_call c = {.op = NN_OP_CLEAR_GRAD, .n_out = 1, .layer = ""};

    c.out[0] = model->grads.flat;
    return nn_backend_run(model->be, &c, err);
}

int nn_trainer_new(struct nn_trainer **out, struct nn_model *model,
                   const struct nn_data *data,
                   const struct nn_trainer_opts *opts, struct err *err)
{
    struct nn_trainer *t = mem_zalloc(sizeof *t);
    int rc, i, extra;

    *out = NULL;
    if (!t)
        return err_set(err, ERR_NOMEM, "out of memory for training");
    t->model = model;
    t->data = data;
    t->opts = *opts;
    t->source.data = data;
    t->plan = nn_train_order_plan(&opts->order);
    extra = tree_depth(opts->microbatches) - 1;
    rc = check_order(t, err);
    if (rc == 0)
        rc = nn_loss_check(&opts->loss, data, &model->out, err);
    if (rc == 0 && model->params.n == 0)
        rc = err_set(err, ERR_CONFIG,
                     "the model has nothing to train: it "
                     "needs a layer with parameters");
    if (rc == 0)
        rc = nn_optim_new(&t->optim, model, &opts->optim, err);
    if (rc == 0 && extra > 0) {
        t->piece = mem_array((size_t)extra, sizeof *t->piece);
        if (!t->piece)
            rc = err_set(err, ERR_NOMEM, "out of memory for training");
    }
    for (i = 0; rc == 0 && i < extra; i++) {
        rc = nn_params_like(&t->piece[i], &model->params, NN_CAT_GRADIENT, err);
        if (rc == 0)
            t->n_piece = i + 1;
    }
    if (rc == 0 && t->plan.carries) /* backward adds to them from the start */
        rc = zero_grads(model, err);
    if (rc != 0) {
        nn_trainer_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

void nn_trainer_free(struct nn_trainer *t)
{
    int i;

    if (!t)
        return;
    for (i = 0; i < NN_STEP_CACHE; i++)
        nn_step_free(t->cache[i].step);
    for (i = 0; i < t->n_piece; i++)
        nn_params_free(&t->piece[i]);
    mem_free(t->piece);
    nn_results_free(t);
    nn_optim_free(t->optim);
    mem_free(t);
}

/* What recording a step carries along: results of pieces that wait for their
 * neighbour, as a binary counter does with its digits. */
struct recording {
    struct nn_trainer *t;
    struct nn_tape *tape;
    struct nn_tensor *x, *y; /* the whole batch */
    int64_t batch;
    bool updates;               /* the optimizer finds gradients */
    struct nn_tensor *loss[64]; /* of the subtrees on the stack */
    int level[64];              /* their heights */
    int n;
};

static struct nn_params *grad_block(struct nn_trainer *t, int i)
{
    return i == 0 ? &t->model->grads : &t->piece[i - 1];
}

/* Points the parameters at block i of gradients, which backward writes or, if
 * nothing clears them, adds to. */
static void bind_grads(struct nn_trainer *t, int i)
{
    struct nn_params *g = grad_block(t, i);
    int k;

    for (k = 0; k < t->model->params.n; k++) {
        t->model->params.t[k]->grad = g->t[k];
        t->model->params.t[k]->grad_ready = t->plan.adds;
    }
}

/* Samples [first, first + n) of the batch on their way. */
struct piece {
    int64_t first, n;
    struct nn_tensor *out;  /* of the model */
    struct nn_tensor *loss; /* what backward begins at */
};

static int record_forward(struct recording *r, struct piece *p, struct err *err)
{
    struct nn_forward_opts f = {.train = true,
                                .fusion = r->t->opts.fusion,
                                .dropout_seed = r->t->opts.dropout_seed,
                                .first = p->first};
    struct nn_tensor *x;
    int rc;

    r->tape->phase = NN_PHASE_FORWARD;
    rc = nn_tape_rows(r->tape, r->x, p->first, p->n, &x, err);
    if (rc == 0)
        rc = nn_model_forward(r->t->model, r->tape, x, &f, &p->out, err);
    return rc;
}

static int record_loss(struct recording *r, struct piece *p, struct err *err)
{
    struct nn_tensor *y;
    int rc;

    r->tape->phase = NN_PHASE_FORWARD;
    rc = nn_tape_rows(r->tape, r->y, p->first, p->n, &y, err);
    if (rc == 0)
        rc = nn_loss_apply(&r->t->opts.loss, r->tape, p->out, y, r->batch,
                           &p->loss, err);
    return rc;
}

static int record_backward(struct recording *r, struct piece *p,
                           struct err *err)
{
    int rc;

    r->tape->phase = NN_PHASE_BACKWARD;
    rc = nn_tape_backward(r->tape, p->loss, false, err);
    if (rc != ERR_SHAPE || !r->updates || !r->t->plan.between)
        return rc;
    err_clear(err); /* the tape cannot know why a parameter changed */
    return err_set(err, ERR_CONFIG,
                   "step stands between forward and backward in step_order, "
                   "and changes parameters that backward needs as forward "
                   "had them; put it before forward or behind backward");
}

static int record_clear_grad(struct recording *r, struct err *err)
{
    struct nn_call c = {.op = NN_OP_CLEAR_GRAD, .n_out = 1, .layer = ""};

    r->tape->phase = NN_PHASE_CLEAR_GRAD;
    c.out[0] = r->t->model->grads.flat;
    c.attrs.set_to_none = !r->t->opts.zero_grad_to_zero;
    return nn_tape_call(r->tape, &c, err);
}

static int add_into(struct nn_tape *tape, struct nn_tensor *to,
                    struct nn_tensor *from, struct err *err)
{
    struct nn_call c = {.op = NN_OP_ADD_INTO,
                        .n_in = 1,
                        .n_out = 1,
                        .in = {from},
                        .out = {to},
                        .layer = ""};

    return nn_tape_call(tape, &c, err);
}

/* Adds the two subtrees on top of the stack. */
static int merge_top(struct recording *r, struct err *err)
{
    int a = r->n - 2, b = r->n - 1;
    int rc = add_into(r->tape, grad_block(r->t, a)->flat,
                      grad_block(r->t, b)->flat, err);

    if (rc == 0)
        rc = add_into(r->tape, r->loss[a], r->loss[b], err);
    r->level[a] = (r->level[a] > r->level[b] ? r->level[a] : r->level[b]) + 1;
    r->n--;
    return rc;
}

static int record_optimizer(struct recording *r, struct err *err)
{
    struct nn_trainer *t = r->t;
    struct nn_call c = {.op = NN_OP_CLIP_GRAD_NORM, .n_out = 1, .layer = ""};
    struct nn_shape one = nn_shape1(1);
    int rc;

    r->tape->phase = NN_PHASE_OPTIMIZER;
    if (t->opts.clip_grad_norm > 0.0) {
        rc = nn_tape_tensor(r->tape, &one, NN_F32, NN_CAT_TEMPORARY, &c.out[0],
                            err);
        if (rc != 0)
            return rc;
        c.attrs.clip.max_norm = t->opts.clip_grad_norm;
        c.attrs.clip.grads = t->model->grads.t;
        c.attrs.clip.n = t->model->grads.n;
        rc = nn_tape_call(r->tape, &c, err);
        if (rc != 0)
            return rc;
    }
    return nn_optim_record(t->optim, r->tape, err);
}

/* Piece i of m over batch samples: the first batch % m pieces have one more. */
static int64_t piece_begin(int64_t batch, int64_t m, int64_t i)
{
    int64_t q = batch / m, rest = batch % m;

    return i * q + (i < rest ? i : rest);
}

/* What a step does once, however many pieces it has. */
static int record_once(struct recording *r, enum nn_part part, struct err *err)
{
    if (part == NN_PART_ZERO_GRAD)
        return record_clear_grad(r, err);
    return r->updates ? record_optimizer(r, err) : 0;
}

static int record_part(struct recording *r, enum nn_part part, struct piece *p,
                       struct err *err)
{
    bool named = nn_train_order_index(&r->t->plan.order, NN_PART_LOSS) >= 0;
    int rc;

    switch (part) {
    case NN_PART_FORWARD:
        rc = record_forward(r, p, err);
        return rc == 0 && !named ? record_loss(r, p, err) : rc;
    case NN_PART_LOSS:
        return record_loss(r, p, err);
    case NN_PART_BACKWARD:
        return record_backward(r, p, err);
    default:
        return p->first == 0 ? record_once(r, part, err) : 0;
    }
}

/* One piece through the parts from forward, at i, to backward. */
static int record_piece(struct recording *r, int i, struct piece *p,
                        struct err *err)
{
    const struct nn_train_order *o = &r->t->plan.order;
    int last = nn_train_order_index(o, NN_PART_BACKWARD);
    int rc = 0;

    bind_grads(r->t, r->n);
    for (; rc == 0 && i <= last; i++)
        rc = record_part(r, o->part[i], p, err);
    if (rc != 0)
        return rc;
    r->loss[r->n] = p->loss;
    r->level[r->n++] = 0;
    while (rc == 0 && r->n > 1 && r->level[r->n - 1] == r->level[r->n - 2])
        rc = merge_top(r, err);
    return rc;
}

static int record_pieces(struct recording *r, int forward, struct err *err)
{
    int64_t m = r->t->opts.microbatches < 1 ? 1 : r->t->opts.microbatches;
    int64_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < m; i++) {
        struct piece p = {.first = piece_begin(r->batch, m, i)};

        p.n = piece_begin(r->batch, m, i + 1) - p.first;
        if (p.n > 0) /* adding an empty piece's zeros changes nothing */
            rc = record_piece(r, forward, &p, err);
    }
    while (rc == 0 && r->n > 1)
        rc = merge_top(r, err);
    bind_grads(r->t, 0);
    return rc;
}

static int record_calls(struct recording *r, struct err *err)
{
    const struct nn_train_order *o = &r->t->plan.order;
    int rc = nn_loss_batch(&r->t->opts.loss, r->tape, &r->t->source, r->batch,
                           &r->x, &r->y, err);
    int i;

    for (i = 0; rc == 0 && i < o->n; i++) {
        if (o->part[i] != NN_PART_FORWARD) {
            rc = record_once(r, o->part[i], err);
            continue;
        }
        rc = record_pieces(r, i, err);
        i = nn_train_order_index(o, NN_PART_BACKWARD);
    }
    return rc;
}

/* Runs a step of this batch size while writing it down, and keeps it. */
static int record_step(struct nn_trainer *t, int64_t batch, bool updates,
                       struct err *err)
{
    struct recording r = {.t = t, .batch = batch, .updates = updates};
    int slot = t->next_cache;
    struct nn_step_keep keep;
    struct nn_step *step;
    int rc = nn_tape_new(&r.tape, t->model->be, err);

    if (rc != 0)
        return rc;
    nn_traced_phase(t->model->be, nn_phase_name(NN_PHASE_H2D));
    rc = t->model->be->ops->set_scalars(t->model->be, &t->scalars, err);
    if (rc == 0)
        rc = record_calls(&r, err);
    nn_traced_phase(t->model->be,
                    t->model->be->ops->trace_begin ? nn_traced_prepare : NULL);
    if (rc != 0) {
        nn_tape_free(r.tape);
        return rc;
    }
    rc = nn_results_keeper(t, r.loss[0], &keep, err);
    if (rc != 0) {
        nn_tape_free(r.tape);
        return rc;
    }
    rc = nn_step_new(&step, r.tape, t->opts.execution, &keep, err);
    if (rc != 0)
        return rc;
    nn_step_free(t->cache[slot].step);
    t->cache[slot].batch = batch;
    t->cache[slot].updates = updates;
    t->cache[slot].step = step;
    t->cache[slot].loss = r.loss[0];
    t->next_cache = (slot + 1) % NN_STEP_CACHE;
    return 0;
}

static int find_step(const struct nn_trainer *t, int64_t batch, bool updates)
{
    int i;

    for (i = 0; i < NN_STEP_CACHE; i++)
        if (t->cache[i].step && t->cache[i].batch == batch &&
            t->cache[i].updates == updates)
            return i;
    return -1;
}

const struct nn_step *nn_trainer_recorded(const struct nn_trainer *t,
                                          int64_t batch)
{
    int i = find_step(t, batch, t->plan.updates);

    return i < 0 ? NULL : t->cache[i].step;
}

/* Puts a step on its way; *slot says where it was recorded, *replayed whether
 * that is what runs now. */
static int launch(struct nn_trainer *t, const int64_t *order, int64_t first,
                  const struct nn_step_result *r, int *slot, bool *replayed,
                  struct err *err)
{
    bool updates = t->plan.updates_first || (t->plan.updates && t->held);
    int rc = 0;

    *slot = find_step(t, r->batch, updates);
    *replayed = *slot >= 0 && t->cache[*slot].step->prepared;
    t->source.order = order;
    t->source.first = first;
    t->scalars.step = (uint64_t)t->step;
    if (updates) /* torch counts no step of parameters without a gradient */
        nn_optim_advance(t->optim, r->lr, &t->scalars);
    if (*slot >= 0)
        return nn_step_run(t->cache[*slot].step, &t->scalars, err);
    rc = record_step(t, r->batch, updates, err);
    *slot = find_step(t, r->batch, updates);
    return rc;
}

static void step_done(struct nn_trainer *t)
{
    t->step++;
    t->held = t->plan.carries;
}

/* The host waits here for what a device still has to do. The phase goes on to
 * the end of the step: who asked for it may wait for more. */
static int read_result(struct nn_trainer *t, int slot, struct nn_step_result *r,
                       int32_t *bad, struct err *err)
{
    struct nn_backend *be = t->model->be;
    int rc;

    if (be->ops->trace_begin)
        nn_traced_phase(be, nn_traced_read);
    rc = nn_tensor_get(t->cache[slot].loss, &r->loss, err);
    if (rc == 0)
        rc = nn_tensor_get(t->optim->flag, bad, err);
    return rc;
}

int nn_trainer_step(struct nn_trainer *t, const int64_t *order, int64_t first,
                    int64_t batch, double lr, float *loss, struct err *err)
{
    struct nn_step_result r = {.step = t->step, .batch = batch, .lr = lr};
    int32_t bad = 0;
    bool replayed;
    int slot, rc;

    t->scalars.result = -1; /* it is read at once */
    rc = launch(t, order, first, &r, &slot, &replayed, err);
    if (rc == 0)
        rc = read_result(t, slot, &r, &bad, err);
    *loss = r.loss;
    if (rc == 0)
        rc = nn_result_check(&r, bad, err);
    if (rc == 0)
        step_done(t);
    return rc;
}

int nn_trainer_launch(struct nn_trainer *t, const int64_t *order, int64_t first,
                      int64_t batch, double lr, struct err *err)
{
    struct nn_step_result r = {.step = t->step, .batch = batch, .lr = lr};
    bool replayed;
    int slot;
    int rc;

    if (t->n_waiting == NN_RESULTS)
        return err_set(err, ERR_SHAPE, "%d steps wait to be collected",
                       NN_RESULTS);
    t->scalars.result = t->n_waiting;
    rc = launch(t, order, first, &r, &slot, &replayed, err);
    if (rc == 0 && !replayed)
        rc = nn_results_copy(t, t->cache[slot].loss, err);
    if (rc == 0)
        t->waiting[t->n_waiting++] = r;
    if (rc == 0)
        step_done(t);
    return rc;
}
