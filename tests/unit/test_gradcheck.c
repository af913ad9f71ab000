/* Every operator's gradients against central differences, in float64, over
 * random shapes and values, edge values among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/rng.h"
#include "nn/gradcheck.h"
#include "nn/opcase.h"
#include "tests/unit/device_fixture.h"

enum { ROUNDS = 6, MAX_NUMBERS = 400 };
#define TOLERANCE 1e-6

/* How a number is drawn. Those that are near a kink or a pole step round it. */
enum draw {
    ANY,      /* [-2, 2] */
    OFF_ZERO, /* likewise, 0.05 or more from 0 */
    POSITIVE, /* [0.2, 2.2] */
    ABOVE_M1, /* [-0.8, 3] */
    APART,    /* no two within 0.01 of each other */
    UNIT,     /* [0, 1], a target without a gradient */
    EIGHTHS,  /* multiples of 1/8: float32 holds them */
    INDEX     /* below 4 */
};

/* Shapes in letters, one operand after another: a to d are random dimensions
 * of 1 to 4, digits stand for themselves. "abc,bc": broadcast. */
struct check {
    const char *op, *shapes;
    enum draw draw[5];
    struct nn_opcase c;
    double eps; /* 0: 1e-6 */
};

#define ALL NN_AXIS_ALL

static const struct check checks[] = {
    {"linear", "ab,cb,c", {ANY, ANY, ANY}, {0}, 0},
    {"linear", "ab,cb,c", {ANY, ANY, ANY}, {.act = NN_ACT_TANH}, 0},
    {"linear", "ab,cb,c", {ANY, ANY, ANY}, {.act = NN_ACT_SIGMOID}, 0},
    {"matmul", "ab,bc", {ANY, ANY}, {0}, 0},
    {"relu", "ab", {OFF_ZERO}, {0}, 0},
    {"tanh", "abc", {ANY}, {0}, 0},
    {"sigmoid", "ab", {ANY}, {0}, 0},
    {"gelu", "ab", {ANY}, {0}, 0},
    {"dropout", "ab", {ANY}, {.p = 0.4}, 0},
    {"softmax", "ab", {ANY}, {0}, 0},
    {"log_softmax", "abc", {ANY}, {0}, 0},
    {"cross_entropy", "b4,b", {ANY, INDEX}, {0}, 0},
    {"cross_entropy", "b4,b", {ANY, INDEX}, {.label_smoothing = 0.1}, 0},
    {"bce_with_logits", "ab,ab", {ANY, UNIT}, {.pos_weight = 1}, 0},
    {"bce_with_logits", "ab,ab", {ANY, UNIT}, {.pos_weight = 3}, 0},
    {"mse", "ab,ab", {ANY, ANY}, {0}, 0},
    {"mse", "ab,ab", {ANY, ANY}, {.sum = true}, 0},
    {"add", "abc,bc", {ANY, ANY}, {0}, 0},
    {"sub", "a1c,bc", {ANY, ANY}, {0}, 0},
    {"mul", "ab,a1", {ANY, ANY}, {0}, 0},
    {"div", "ab,b", {ANY, OFF_ZERO}, {0}, 0},
    {"neg", "ab", {ANY}, {0}, 0},
    {"exp", "ab", {ANY}, {0}, 0},
    {"log", "ab", {POSITIVE}, {0}, 0},
    {"log1p", "ab", {ABOVE_M1}, {0}, 0},
    {"sqrt", "ab", {POSITIVE}, {0}, 0},
    {"abs", "ab", {OFF_ZERO}, {0}, 0},
    {"pow", "ab", {POSITIVE}, {.exponent = 2.5}, 0},
    {"pow", "ab", {OFF_ZERO}, {.exponent = 3}, 0},
    {"pow", "ab", {POSITIVE}, {.exponent = -1}, 0},
    {"maximum", "abc,bc", {APART, APART}, {0}, 0},
    {"sum", "abc", {ANY}, {.dim = ALL}, 0},
    {"sum", "abc", {ANY}, {.dim = 1}, 0},
    {"mean", "abc", {ANY}, {.dim = 0}, 0},
    {"mean", "ab", {ANY}, {.dim = ALL}, 0},
    {"max", "ab", {APART}, {.dim = ALL}, 0},
    {"max", "abc", {APART}, {.dim = 1}, 0},
    {"max", "ab", {APART}, {.dim = 1}, 0},
    {"squeeze", "a1b", {ANY}, {.dim = 1}, 0},
    {"transpose", "abcd", {ANY}, {.dim = 1, .dim2 = 3}, 0},
    {"transpose", "ab", {ANY}, {.dim = 0, .dim2 = 1}, 0},
    {"slice", "a4b", {ANY}, {.dim = 1, .start = 1, .stop = 3}, 0},
    {"cat", "a2b,a3b", {ANY, ANY}, {.dim = 1}, 0},
    {"cat3", "ab,cb,db", {ANY, ANY, ANY}, {.dim = 0}, 0},
    {"cast", "ab", {EIGHTHS}, {0}, 0.125},
    {"embedding", "4b,cd", {ANY, INDEX}, {0}, 0},
    {"conv2d", "ab54,cb32,c", {ANY, ANY, ANY}, {.stride = 1}, 0},
    {"conv2d", "ab45,cb33,c", {ANY, ANY, ANY}, {.stride = 2, .padding = 1}, 0},
    {"max_pool2d", "ab45", {APART}, {.kernel = 2}, 0},
    {"max_pool2d",
     "1a54",
     {APART},
     {.kernel = 3, .stride = 2, .padding = 1},
     0},
    {"avg_pool2d", "ab44", {ANY}, {.kernel = 2}, 0},
    {"avg_pool2d", "1a54", {ANY}, {.kernel = 3, .stride = 2, .padding = 1}, 0},
    {"batch_norm", "5a", {APART, ANY, ANY}, {.eps = 1e-2}, 0},
    {"batch_norm", "3a2b", {APART, ANY, ANY}, {.eps = 1e-2}, 0},
    {"layer_norm", "ab3,b3,b3", {APART, ANY, ANY}, {.eps = 1e-2}, 0},
};
enum { CHECKS = sizeof checks / sizeof *checks };

/* The operands of one check. */
struct trial {
    struct nn_backend *be;
    struct nn_opcase c;
    struct nn_tensor *in[5];
    int n;
};

static int apply(void *user, struct nn_tape *tape, struct nn_tensor *const *in,
                 struct nn_tensor **out, struct err *err)
{
    const struct trial *t = user;

    return nn_opcase_apply(&t->c, tape, in, out, err);
}

static double uniform(struct rng_mt *g, double lo, double hi)
{
    return (double)rng_mt_uniform(g, (float)lo, (float)hi);
}

/* Now and then a value at the edge. */
static double draw(struct rng_mt *g, enum draw how)
{
    bool edge = uniform(g, 0, 1) < 0.1;
    double x = uniform(g, -2, 2);

    switch (how) {
    case OFF_ZERO:
        return edge ? copysign(0.05, x) : copysign(fabs(x) + 0.05, x);
    case POSITIVE:
        return edge ? 0.2 : x / 2 + 1.2;
    case ABOVE_M1:
        return edge ? 0.0 : uniform(g, -0.8, 3);
    case UNIT:
        return edge ? 1.0 : uniform(g, 0, 1);
    case EIGHTHS:
        return round(x * 8) / 8;
    default:
        return edge ? copysign(x < 1 ? 0 : 20, x) : x;
    }
}

/* Numbers 0.03 apart, in a random order; a second operand lies between. */
static void draw_apart(struct rng_mt *g, double *v, int64_t n, int operand)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = 0.03 * (double)(i - n / 2) + 0.015 * operand;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)uniform(g, 0, (double)i + 0.99);
        double t = v[i];

        v[i] = v[k];
        v[k] = t;
    }
}

static struct nn_tensor *operand(struct trial *t, const struct check *k, int i,
                                 const struct nn_shape *s, struct rng_mt *g)
{
    bool index = k->draw[i] == INDEX;
    bool weight = nn_opcase_is_weight(k->op, i);
    int64_t n = nn_shape_numel(s);
    double v[MAX_NUMBERS];
    int32_t at[MAX_NUMBERS];
    struct nn_tensor *x;
    struct err err = {0};

    assert_true(n <= MAX_NUMBERS);
    assert_int_equal(nn_tensor_new(&x, t->be, s, index ? NN_I32 : NN_F64,
                                   weight ? NN_WEIGHT : NN_ROWS, NN_CAT_INPUT,
                                   &err),
                     0);
    for (int64_t e = 0; e < n; e++) {
        v[e] = draw(g, k->draw[i]);
        at[e] = (int32_t)uniform(g, 0, 3.99);
    }
    if (k->draw[i] == APART)
        draw_apart(g, v, n, i);
    assert_int_equal(
        index ? nn_tensor_set(x, at, &err) : nn_tensor_set(x, v, &err), 0);
    if (!index && k->draw[i] != UNIT)
        assert_int_equal(nn_tensor_require_grad(x, &err), 0);
    return x;
}

/* The next shape at *text, a to d standing for dim; past the comma. */
static struct nn_shape next_shape(const char **text, const int64_t dim[4])
{
    struct nn_shape s = {0};

    for (; **text && **text != ','; (*text)++)
        s.dim[s.ndim++] = **text >= 'a' ? dim[**text - 'a'] : **text - '0';
    if (**text == ',')
        (*text)++;
    return s;
}

static void make(struct trial *t, const struct check *k, struct rng_mt *g)
{
    const char *text = k->shapes;
    int64_t dim[4];
    struct nn_shape s;

    for (int i = 0; i < 4; i++)
        dim[i] = 1 + (int64_t)uniform(g, 0, 3.99);
    t->c = k->c;
    t->c.op = k->op;
    while (*text) {
        s = next_shape(&text, dim);
        t->in[t->n] = operand(t, k, t->n, &s, g);
        t->n++;
    }
    if (strcmp(k->op, "batch_norm") == 0) { /* vectors of the channels */
        s = nn_shape1(t->in[0]->shape.dim[1]);
        for (; t->n < 3; t->n++)
            t->in[t->n] = operand(t, k, t->n, &s, g);
    }
}

static void run(struct nn_backend *be, const struct check *k, uint64_t seed)
{
    struct trial t = {.be = be};
    struct nn_gradcheck_result r;
    struct nn_gradcheck what;
    struct err err = {0};
    struct rng_mt g;

    rng_mt_seed(&g, seed);
    make(&t, k, &g);
    what = (struct nn_gradcheck){
        t.in, t.n, apply, &t, k->eps != 0 ? k->eps : 1e-6, seed};
    if (nn_gradcheck(&r, be, &what, &err) != 0)
        fail_msg("%s %s, seed %d: %s", k->op, k->shapes, (int)seed, err.msg);
    if (!(r.max_error < TOLERANCE) || r.checked == 0)
        fail_msg("%s %s, seed %d: input %d, element %d is off by %g", k->op,
                 k->shapes, (int)seed, r.input, (int)r.element, r.max_error);
    for (int i = 0; i < t.n; i++) {
        nn_tensor_free(t.in[i]->grad);
        nn_tensor_free(t.in[i]);
    }
}

static void gradients_are_those_of_central_differences(void **state)
{
    struct nn_backend *be;
    struct err err = {0};

    (void)state;
    assert_true(CHECKS * ROUNDS >= 200);
    assert_int_equal(device_open(&be, 1, &err), 0);
    for (int i = 0; i < CHECKS; i++)
        for (uint64_t round = 0; round < ROUNDS; round++)
            run(be, &checks[i], 1000 * (uint64_t)i + round);
    nn_backend_close(be);
    assert_int_equal(mem_live(), 0);
}

/* All operators that have a gradient are in the table under some name. */
static void every_operator_with_a_gradient_is_checked(void **state)
{
    static const enum nn_op_id other[] = {
        NN_OP_SCALE, /* part of pow and mean */
        NN_OP_COPY,  /* from rows to a weight: test_tape, to the bit */
    };
    (void)state;
    for (int id = 0; id < NN_OP_COUNT; id++) {
        const char *name = nn_op_name((enum nn_op_id)id);
        bool seen = nn_op_get((enum nn_op_id)id)->backward == NULL;

        for (size_t i = 0; i < sizeof other / sizeof *other; i++)
            seen = seen || other[i] == (enum nn_op_id)id;
        for (int i = 0; i < CHECKS; i++)
            seen = seen || strcmp(checks[i].op, name) == 0;
        if (!seen)
            fail_msg("the gradient of %s is not checked", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_central_differences),
        cmocka_unit_test(every_operator_with_a_gradient_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
