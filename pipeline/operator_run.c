/* Running an own operator: its programs on a tape that is somebody else's. */
#include <assert.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/operator.h"

struct pl_operator_run {
    const struct pl_operator *o;
    struct nn_shape in[PL_OPERATOR_IN];
    struct arena arena;
    struct prog_run run;
};

void pl_operator_end(struct pl_operator_run *run)
{
    if (!run)
        return;
    prog_run_end(&run->run);
    arena_free(&run->arena);
    mem_free(run);
}

static int need_value(const struct pl_operator_run *run, const char *name,
                      struct nn_tensor **out, struct err *err)
{
    const struct prog_value *v = prog_run_get(&run->run, name);

    *out = v ? v->t : NULL;
    if (v && v->kind == PROG_V_TENSOR)
        return 0;
    *out = NULL;
    return err_set(err, ERR_SHAPE, "%s of operator %s is no tensor", name,
                   run->o->name);
}

/* t as the program reads it: class numbers stay integers, and what is computed
 * with gets x's type. */
static int target(const struct pl_operator *o, struct nn_tape *tape,
                  const struct nn_tensor *x, struct nn_tensor **t,
                  struct err *err)
{
    union nn_attrs cast = {.cast = {x->dtype}};

    if (o->classes && (*t)->dtype != NN_I32)
        return err_set(err, ERR_SHAPE,
                       "%s takes class labels, and the targets are numbers",
                       o->name);
    if (o->classes || (*t)->dtype == x->dtype)
        return 0;
    return nn_tape_apply(tape, NN_OP_CAST, t, 1, &cast, t, err);
}

static int bind_operands(struct pl_operator_run *run, struct nn_tape *tape,
                         struct nn_tensor *const *in, struct err *err)
{
    const struct pl_operator *o = run->o;
    int rc = 0, i;

    for (i = 0; rc == 0 && i < o->n_in; i++) {
        struct nn_tensor *t = in[i];

        assert(t);
        run->in[i] = t->shape;
        if (!o->in[i].grad)
            rc = target(o, tape, in[0], &t, err);
        if (rc == 0)
            rc = prog_run_bind(&run->run, o->in[i].name, t, err);
    }
    return rc;
}

int pl_operator_forward(const struct pl_operator *o, struct nn_tape *tape,
                        struct nn_tensor *const *in, struct nn_tensor **y,
                        struct pl_operator_run **out, struct err *err)
{
    struct pl_operator_run *run = mem_zalloc(sizeof *run);
    int rc;

    *out = NULL;
    *y = NULL;
    if (!run)
        return err_set(err, ERR_NOMEM, "out of memory for operator %s",
                       o->name);
    run->o = o;
    prog_run_borrow(&run->run, tape, &o->program.source, &run->arena);
    rc = bind_operands(run, tape, in, err);
    if (rc == 0)
        rc = prog_run_stmts(&run->run, o->program.stmts, err);
    if (rc == 0)
        rc = need_value(run, "y", y, err);
    if (rc == 0)
        *out = run;
    else
        pl_operator_end(run);
    return rc;
}

int pl_operator_backward(struct pl_operator_run *run, struct nn_tensor *grad,
                         struct nn_tensor **grad_in, struct err *err)
{
    const struct pl_operator *o = run->o;
    int rc, i;

    run->run.source = &o->back.source;
    rc = prog_run_bind(&run->run, "g", grad, err);
    if (rc == 0)
        rc = prog_run_stmts(&run->run, o->back.stmts, err);
    for (i = 0; rc == 0 && i < o->n_in; i++) {
        grad_in[i] = NULL;
        if (o->in[i].grad)
            rc = need_value(run, o->in[i].grad, &grad_in[i], err);
    }
    return rc;
}

/* ---- as nn takes it ---- */

static int forward(const struct nn_custom *c, struct nn_tape *tape,
                   struct nn_tensor *const *in, struct nn_tensor **out,
                   void **state, struct err *err)
{
    struct pl_operator_run *run;
    int rc = pl_operator_forward(c->user, tape, in, out, &run, err);

    *state = run;
    return rc;
}

/* Gradients in shapes of their own: named as the user does. */
static int check_shapes(const struct pl_operator_run *run,
                        struct nn_tensor *const *grad, struct err *err)
{
    const struct pl_operator *o = run->o;
    char a[96], b[96];
    int i;

    for (i = 0; i < o->n_in; i++)
        if (grad[i] && !nn_shape_eq(&grad[i]->shape, &run->in[i]))
            return err_set(err, ERR_SHAPE, "%s of operator %s is %s; %s is %s",
                           o->in[i].grad, o->name,
                           nn_shape_text(&grad[i]->shape, a, sizeof a),
                           o->in[i].name,
                           nn_shape_text(&run->in[i], b, sizeof b));
    return 0;
}

static int backward(const struct nn_custom *c, struct nn_tape *tape,
                    void *state, struct nn_tensor *grad,
                    struct nn_tensor **grad_in, struct err *err)
{
    int rc = pl_operator_backward(state, grad, grad_in, err);

    (void)c;
    (void)tape;
    return rc == 0 ? check_shapes(state, grad_in, err) : rc;
}

static void release(void *state)
{
    pl_operator_end(state);
}

/* Zeros of these shapes put through forward: nothing else knows what its
 * functions make of shapes. */
static int try_shapes(const struct pl_operator *o, struct nn_tape *tape,
                      const struct nn_shape *in, struct nn_shape *y,
                      struct err *err)
{
    struct nn_tensor *t[PL_OPERATOR_IN] = {NULL}, *out;
    struct pl_operator_run *run = NULL;
    int rc = 0, i;

    tape->grad_enabled = false;
    for (i = 0; rc == 0 && i < o->n_in; i++)
        rc = nn_tape_tensor(tape, &in[i], NN_F32, NN_CAT_INPUT, &t[i], err);
    if (rc == 0)
        rc = pl_operator_forward(o, tape, t, &out, &run, err);
    if (rc == 0)
        *y = out->shape;
    pl_operator_end(run);
    return rc;
}

static int shape(const struct nn_own_layer *l, const struct nn_shape *in,
                 int n_in, struct nn_shape *y, struct err *err)
{
    struct nn_backend *be;
    struct nn_tape *tape = NULL;
    int rc = nn_cpu_open(&be, 1, NULL, err);

    (void)n_in;
    if (rc == 0)
        rc = nn_tape_new(&tape, be, err);
    if (rc == 0)
        rc = try_shapes(l->custom->user, tape, in, y, err);
    nn_tape_free(tape);
    nn_backend_close(be);
    return rc;
}

void pl_operator_ready(struct pl_operator *o)
{
    o->custom = (struct nn_custom){.name = o->name,
                                   .n_in = o->n_in,
                                   .forward = forward,
                                   .backward = backward,
                                   .release = release,
                                   .user = o};
    o->layer = (struct nn_own_layer){.custom = &o->custom,
                                     .param = o->param,
                                     .n_param = o->loss ? 0 : o->n_in - 1,
                                     .flat = o->flat,
                                     .shape = shape};
}
