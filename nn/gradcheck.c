#include "nn/gradcheck.h"

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/rng.h"

struct check {
    struct nn_backend *be;
    struct nn_tensor *const *in;
    int n;
    nn_gradcheck_fn fn;
    void *user;
    double eps;
    double *weight; /* of each output element */
    double *value;  /* room for one output */
    int64_t n_out;
};

/* Draws the weights once the size of the output is known. */
static int draw_weights(struct check *c, const struct nn_tensor *out,
                        uint64_t seed, struct err *err)
{
    struct rng_mt g;
    int64_t i;

    c->n_out = nn_tensor_numel(out);
    c->weight = mem_array((size_t)c->n_out, sizeof *c->weight);
    c->value = mem_array((size_t)c->n_out, sizeof *c->value);
    if (!c->weight || !c->value)
        return err_set(err, ERR_NOMEM, "out of memory for a gradient check");
    rng_mt_seed(&g, seed);
    for (i = 0; i < c->n_out; i++)
        c->weight[i] = (double)rng_mt_uniform(&g, -1.0f, 1.0f);
    return 0;
}

static int run_backward(struct check *c, uint64_t seed, struct err *err)
{
    struct nn_tensor *out, *grad;
    struct nn_tape *tape;
    int rc, i;

    for (i = 0; i < c->n; i++)
        c->in[i]->grad_ready = false;
    rc = nn_tape_new(&tape, c->be, err);
    if (rc != 0)
        return rc;
    rc = c->fn(c->user, tape, c->in, &out, err);
    if (rc == 0)
        rc = draw_weights(c, out, seed, err);
    if (rc == 0)
        rc = nn_tape_tensor(tape, &out->shape, NN_F64, NN_CAT_TEMPORARY, &grad,
                            err);
    if (rc == 0)
        rc = nn_tensor_set(grad, c->weight, err);
    if (rc == 0)
        rc = nn_tape_backward_from(tape, out, grad, false, err);
    nn_tape_free(tape);
    return rc;
}

/* The output at the inputs as they are now, times the weights, minus base. */
static int forward_diff(struct check *c, const double *base, double *sum,
                        struct err *err)
{
    struct nn_tensor *out;
    struct nn_tape *tape;
    int64_t i;
    int rc = nn_tape_new(&tape, c->be, err);

    if (rc != 0)
        return rc;
    tape->grad_enabled = false;
    rc = c->fn(c->user, tape, c->in, &out, err);
    if (rc == 0)
        rc = nn_tensor_get(out, c->value, err);
    *sum = 0.0;
    for (i = 0; rc == 0 && i < c->n_out; i++)
        *sum += c->weight[i] * (c->value[i] - (base ? base[i] : 0.0));
    nn_tape_free(tape);
    return rc;
}

/* The central difference for element k of input i, whose values are v. The
 * upper output is subtracted element by element before it is summed: less
 * cancels. */
static int difference(struct check *c, int i, double *v, int64_t k,
                      double *upper, double *slope, struct err *err)
{
    double keep = v[k], lo = keep - c->eps, hi = keep + c->eps, sum = 0.0;
    int rc;

    v[k] = hi;
    rc = nn_tensor_set(c->in[i], v, err);
    if (rc == 0)
        rc = forward_diff(c, NULL, &sum, err);
    memcpy(upper, c->value, (size_t)c->n_out * sizeof *upper);
    v[k] = lo;
    if (rc == 0)
        rc = nn_tensor_set(c->in[i], v, err);
    if (rc == 0)
        rc = forward_diff(c, upper, &sum, err);
    v[k] = keep;
    if (rc == 0)
        rc = nn_tensor_set(c->in[i], v, err);
    *slope = -sum / (hi - lo);
    return rc;
}

static void note(struct nn_gradcheck_result *out, double a, double b, int i,
                 int64_t k)
{
    double e = fabs(a - b) / fmax(1.0, fmax(fabs(a), fabs(b)));

    out->checked++;
    if (e > out->max_error || isnan(e)) {
        out->max_error = isnan(e) ? HUGE_VAL : e;
        out->input = i;
        out->element = k;
    }
}

static int check_input(struct check *c, int i, struct nn_gradcheck_result *out,
                       struct err *err)
{
    int64_t n = nn_tensor_numel(c->in[i]), k;
    double *v = mem_array((size_t)n, sizeof *v);
    double *g = mem_array((size_t)n, sizeof *g);
    double *upper = mem_array((size_t)c->n_out, sizeof *upper);
    double slope;
    int rc;

    if (!v || !g || !upper) {
        rc = err_set(err, ERR_NOMEM, "out of memory for a gradient check");
        goto done;
    }
    rc = nn_tensor_get(c->in[i], v, err);
    if (rc == 0 && c->in[i]->grad_ready) /* else: never reached, zero */
        rc = nn_tensor_get(c->in[i]->grad, g, err);
    for (k = 0; rc == 0 && k < n; k++) {
        rc = difference(c, i, v, k, upper, &slope, err);
        if (rc == 0)
            note(out, g[k], slope, i, k);
    }
done:
    mem_free(v);
    mem_free(g);
    mem_free(upper);
    return rc;
}

int nn_gradcheck(struct nn_gradcheck_result *out, struct nn_backend *be,
                 const struct nn_gradcheck *what, struct err *err)
{
    struct check c = {be,        what->in, what->n, what->fn, what->user,
                      what->eps, NULL,     NULL,    0};
    int rc, i;

    memset(out, 0, sizeof *out);
    rc = run_backward(&c, what->seed, err);
    for (i = 0; rc == 0 && i < what->n; i++)
        if (what->in[i]->requires_grad)
            rc = check_input(&c, i, out, err);
    mem_free(c.weight);
    mem_free(c.value);
    return rc;
}
