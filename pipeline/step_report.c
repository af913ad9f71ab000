#include "pipeline/step_report.h"

#include <string.h>

#include "nn/base/arena.h"
#include "pipeline/table.h"

enum { MAX_ROWS = 2000, COLUMNS = 8 };

/* The layer that a call belongs to; -1: none of the model's. Names are compared
 * by their place, for a layer may be called "loss". */
static int layer_of(const struct pl_step_view *v, const struct nn_call *c)
{
    int i;

    for (i = 0; i < v->model->n_layers; i++)
        if (c->layer == v->model->layer[i].name)
            return i;
    return -1;
}

/* NN_PART_COUNT for what belongs to none: the batch. */
static enum nn_part part_of(const struct pl_step_view *v,
                            const struct nn_call *c)
{
    switch (c->phase) {
    case NN_PHASE_CLEAR_GRAD:
        return NN_PART_ZERO_GRAD;
    case NN_PHASE_FORWARD:
        return layer_of(v, c) < 0 ? NN_PART_LOSS : NN_PART_FORWARD;
    case NN_PHASE_BACKWARD:
        return NN_PART_BACKWARD;
    case NN_PHASE_OPTIMIZER:
        return NN_PART_STEP;
    default:
        return NN_PART_COUNT;
    }
}

void pl_step_places(const struct pl_step_view *v, int place[NN_PART_COUNT])
{
    int i, n = 0;

    memset(place, 0, NN_PART_COUNT * sizeof *place);
    for (i = 0; i < v->step->n_call; i++) {
        enum nn_part p = part_of(v, &v->step->call[i]);

        if (p != NN_PART_COUNT && place[p] == 0)
            place[p] = ++n;
    }
}

/* --- in a line --- */

static void add_item(struct str *out, size_t begin, const char *text)
{
    str_add(out, out->len > begin ? ", " : "");
    str_add(out, text);
}

/* Layers that only look at the numbers in another shape make no call: each is
 * named with the next one that does. */
static void add_forward(const struct pl_step_view *v, struct str *out)
{
    size_t begin = out->len;
    int i, last = -1;

    for (i = 0; i < v->step->n_call; i++) {
        const struct nn_call *c = &v->step->call[i];
        bool loss = part_of(v, c) == NN_PART_LOSS;
        int layer = loss ? v->model->n_layers - 1 : layer_of(v, c);

        if (c->phase != NN_PHASE_FORWARD)
            continue;
        while (last < layer) {
            last++;
            add_item(out, begin, v->model->layer[last].name);
            str_addf(out, " %s", nn_layer_kind(&v->model->layer[last]));
        }
    }
}

static void add_backward(const struct pl_step_view *v, struct str *out)
{
    size_t begin = out->len;
    int i, last = v->model->n_layers;

    add_item(out, begin, "loss");
    for (i = 0; i < v->step->n_call; i++) {
        const struct nn_call *c = &v->step->call[i];
        int layer = layer_of(v, c);

        if (c->phase != NN_PHASE_BACKWARD || layer < 0)
            continue;
        while (last > layer)
            add_item(out, begin, v->model->layer[--last].name);
    }
}

static const char *optimizer_name(const struct nn_call *c)
{
    if (c->op == NN_OP_ADAM && c->attrs.adam.decoupled)
        return "adamw";
    if (c->op == NN_OP_SGD && c->attrs.sgd.momentum != 0)
        return "sgd_momentum";
    return nn_op_name(c->op);
}

static void add_optimizer(const struct pl_step_view *v, struct str *out)
{
    size_t begin = out->len;
    int i;

    for (i = 0; i < v->step->n_call; i++)
        if (v->step->call[i].phase == NN_PHASE_OPTIMIZER)
            add_item(out, begin, optimizer_name(&v->step->call[i]));
}

static void add_part(const struct pl_step_view *v, enum nn_part p,
                     struct str *out)
{
    str_add(out, nn_part_name(p));
    if (p == NN_PART_ZERO_GRAD)
        return;
    str_add(out, " (");
    if (p == NN_PART_FORWARD)
        add_forward(v, out);
    else if (p == NN_PART_LOSS)
        str_add(out, v->loss);
    else if (p == NN_PART_BACKWARD)
        add_backward(v, out);
    else
        add_optimizer(v, out);
    str_addc(out, ')');
}

/* How many pieces the batch goes through in: each begins backward anew. */
static int count_pieces(const struct pl_step_view *v)
{
    int i, n = 0;

    for (i = 0; i < v->step->n_call; i++)
        n += v->step->call[i].op == NN_OP_FILL &&
             v->step->call[i].phase == NN_PHASE_BACKWARD &&
             v->step->call[i].layer[0] == '\0';
    return n;
}

void pl_step_line(const struct pl_step_view *v, struct str *out)
{
    int place[NN_PART_COUNT], i, p, pieces = count_pieces(v);

    pl_step_places(v, place);
    str_add(out, "one step: ");
    for (i = 1; i <= NN_PART_COUNT; i++)
        for (p = 0; p < NN_PART_COUNT; p++)
            if (place[p] == i) {
                str_add(out, i > 1 ? ", " : "");
                add_part(v, (enum nn_part)p, out);
            }
    if (pieces > 1)
        str_addf(out, "; forward to backward for each of %d pieces", pieces);
    if (place[NN_PART_STEP] == 0)
        str_add(out, "; step finds no gradients and changes nothing");
}

/* --- call by call --- */

/* A whole block of the model's; its gaps between tensors, which differ from
 * machine to machine, are not told. */
static bool is_block(const struct nn_tensor *t)
{
    return t->name[0] == '\0' && t->shape.ndim == 1 &&
           (t->st->cat == NN_CAT_PARAMETER || t->st->cat == NN_CAT_GRADIENT ||
            t->st->cat == NN_CAT_OPTIMIZER);
}

static int64_t bytes_of(const struct pl_step_view *v, const struct nn_tensor *t)
{
    int64_t n = is_block(t) ? nn_model_count(v->model) : nn_tensor_numel(t);

    return n * (int64_t)nn_dtype_size(t->dtype);
}

static const char *block_name(const struct nn_tensor *t)
{
    switch (t->st->cat) {
    case NN_CAT_PARAMETER:
        return "parameters";
    case NN_CAT_GRADIENT:
        return "gradients";
    default:
        return "state";
    }
}

/* "0.weight (16, 2)", "grad 0.weight (16, 2)", "parameters (337,)", "(32, 4)"
 */
static void add_tensor(const struct pl_step_view *v, struct str *out,
                       const struct nn_tensor *t)
{
    char shape[96];

    str_add(out, out->len > 0 ? ", " : "");
    if (is_block(t)) {
        str_addf(out, "%s (%lld,)", block_name(t),
                 (long long)nn_model_count(v->model));
        return;
    }
    if (t->name[0] != '\0')
        str_addf(out, "%s%s ", t->st->cat == NN_CAT_GRADIENT ? "grad " : "",
                 t->name);
    str_add(out, nn_shape_text(&t->shape, shape, sizeof shape));
}

struct row {
    struct str operands, result;
    int64_t bytes;
};

static void add_operand(const struct pl_step_view *v, struct row *r,
                        const struct nn_tensor *t)
{
    add_tensor(v, &r->operands, t);
    r->bytes += bytes_of(v, t);
}

static void add_result(const struct pl_step_view *v, struct row *r,
                       const struct nn_tensor *t, bool counted)
{
    add_tensor(v, &r->result, t);
    r->bytes += counted ? 0 : bytes_of(v, t);
}

/* What a call reads and writes; what it changes in place counts once. */
static void describe(const struct pl_step_view *v, const struct nn_call *c,
                     struct row *r)
{
    bool update = c->op == NN_OP_SGD || c->op == NN_OP_ADAM;
    int i;

    for (i = 0; i < c->n_in; i++)
        add_operand(v, r, c->in[i]);
    if (c->op == NN_OP_CLIP_GRAD_NORM) {
        add_operand(v, r, v->model->grads.flat);
        add_result(v, r, v->model->grads.flat, true);
    }
    for (i = 0; update && i < c->n_in; i++)
        if (i != 1)
            add_result(v, r, c->in[i], true);
    for (i = 0; !update && i < c->n_out; i++)
        add_result(v, r, c->out[i], false);
    str_add(&r->operands, "");
}

/* "linear + relu" where a linear layer took its activation in. */
static const char *operator_name(const struct nn_call *c, struct arena *a)
{
    static const char *const act[] = {"", " + relu", " + tanh", " + sigmoid"};

    if (c->op != NN_OP_LINEAR)
        return nn_op_name(c->op);
    return arena_printf(a, "linear%s", act[c->attrs.linear.act]);
}

static int add_row(const struct pl_step_view *v, int i, const char **cell,
                   struct arena *a)
{
    const struct nn_call *c = &v->step->call[i];
    struct row r = {.bytes = 0};
    int rc = ERR_NOMEM, k;

    describe(v, c, &r);
    if (r.operands.failed || r.result.failed)
        goto done;
    cell[0] = arena_printf(a, "%d", i + 1);
    cell[1] = nn_phase_name(c->phase);
    cell[2] = c->layer;
    cell[3] = operator_name(c, a);
    cell[4] = nn_role_name(c->role);
    cell[5] = arena_strdup(a, r.operands.text);
    cell[6] = arena_strdup(a, r.result.text);
    cell[7] = arena_printf(a, "%lld", (long long)r.bytes);
    for (k = 0; k < COLUMNS && cell[k]; k++)
        continue;
    rc = k == COLUMNS ? 0 : ERR_NOMEM;
done:
    str_free(&r.operands);
    str_free(&r.result);
    return rc;
}

static int add_calls(const struct pl_step_view *v, struct str *out)
{
    static const char *const head[COLUMNS] = {"call",     "phase", "layer",
                                              "operator", "role",  "operands",
                                              "result",   "bytes"};
    int n = v->step->n_call < MAX_ROWS ? v->step->n_call : MAX_ROWS;
    struct arena a = {0};
    const char **cell =
        arena_array(&a, (size_t)n * COLUMNS + 1, sizeof(const char *));
    int rc = cell ? 0 : ERR_NOMEM, i;

    for (i = 0; rc == 0 && i < n; i++)
        rc = add_row(v, i, cell + (size_t)i * COLUMNS, &a);
    if (rc == 0)
        pl_table_add(
            out, &(struct pl_table){head, "rllllllr", cell, COLUMNS, (size_t)n},
            true);
    arena_free(&a);
    return rc;
}

int pl_step_markdown(const struct pl_step_view *v, struct str *out,
                     struct err *err)
{
    int rc;

    str_add(out, "# One training step, call by call\n\n");
    pl_step_line(v, out);
    str_add(out, "\n\nRecorded while it ran; every other step is the same "
                 "calls on other numbers. Bytes are those of\nthe operands and "
                 "the result, without what a machine adds to them in memory.\n"
                 "\n");
    rc = add_calls(v, out);
    if (v->step->n_call > MAX_ROWS)
        str_addf(out, "\n%d more calls, as those of the first pieces.\n",
                 v->step->n_call - MAX_ROWS);
    if (rc == 0 && !out->failed)
        return 0;
    return err_set(err, ERR_NOMEM, "out of memory describing a step");
}
