/* A table of calls, run on every instruction set and thread count, which must
 * agree to the bit, and in float64, which must come close. */
#ifndef CPU_CASES_H
#define CPU_CASES_H

#include "tests/unit/cpu_fixture.h"

#define S0 \
    { \
        .ndim = 0 \
    }
#define S1(a) \
    { \
        1, \
        { \
            a \
        } \
    }
#define S2(a, b) \
    { \
        2, \
        { \
            a, b \
        } \
    }
#define S3(a, b, c) \
    { \
        3, \
        { \
            a, b, c \
        } \
    }

/* How operand i is filled. */
enum fill {
    ANY,      /* [-2, 2) */
    POSITIVE, /* (0, 2] */
    UNIT,     /* [0, 1) */
    LABEL,    /* int32 below the last dimension of the operand before */
    INDEX     /* int32 below 5 */
};

enum { PANELS_OUT = 1 << 8 };

struct op_case {
    enum nn_op_id op;
    int n_in;
    struct nn_shape in[NN_MAX_IN];
    enum fill fill[NN_MAX_IN];
    struct nn_shape out;
    union nn_attrs attrs;
    bool f32_only;
    bool weight;     /* all matrices in NN_WEIGHT */
    unsigned panels; /* bits of inputs in NN_WEIGHT; PANELS_OUT */
    bool int_out;
    double close; /* to float64, absolute; 0: 1e-5 */
};

static inline struct nn_tensor *fill_operand(struct nn_backend *be,
                                             const struct op_case *c, int i,
                                             enum nn_dtype dtype)
{
    struct nn_shape s = c->in[i];
    int64_t n = nn_shape_numel(&s), classes;
    uint32_t seed = 77 + (uint32_t)i;
    struct nn_tensor *t;
    float *x = calloc((size_t)n + 1, sizeof *x);
    int32_t *label = (int32_t *)(void *)x;

    assert_non_null(x);
    classes = c->fill[i] == INDEX ? 5 : i > 0 ? c->in[i - 1].dim[1] : 1;
    for (int64_t k = 0; k < n; k++) {
        if (c->fill[i] >= LABEL)
            label[k] = (int32_t)(next_u32(&seed) % classes);
        else if (c->fill[i] == ANY)
            x[k] = next_float(&seed);
        else if (c->fill[i] == POSITIVE)
            x[k] = fabsf(next_float(&seed)) + 0x1p-20f;
        else if (c->fill[i] == UNIT)
            x[k] = (next_float(&seed) + 2) / 4;
    }
    if (c->fill[i] >= LABEL)
        t = labels_of(be, n, label);
    else
        t = tensor_of(be, s, dtype,
                      (c->weight && s.ndim == 2) || (c->panels >> i & 1)
                          ? NN_WEIGHT
                          : NN_ROWS,
                      x);
    free(x);
    return t;
}

/* All operands after the call, outputs first. */
struct result {
    size_t size;
    char *bytes;
};

static inline void keep(struct result *r, const struct nn_tensor *t)
{
    size_t n = (size_t)nn_tensor_numel(t) * nn_dtype_size(t->dtype);

    r->bytes = realloc(r->bytes, r->size + n + 1);
    assert_non_null(r->bytes);
    get(t, r->bytes + r->size);
    r->size += n;
    if (t->layout == NN_WEIGHT && t->dtype == NN_F32)
        assert_true(padding_is_zero(t));
}

static inline struct result
run_case(struct nn_backend *be, const struct op_case *c, enum nn_dtype dtype)
{
    const struct nn_scalars scalars = {.lr = 0.01f,
                                       .decay = 0.9999f,
                                       .adam_step = 0.01f,
                                       .adam_rsqrt_bias2 = 1.5f,
                                       .step = 42};
    struct nn_call call = {.op = c->op,
                           .n_in = c->n_in,
                           .n_out = 1,
                           .attrs = c->attrs,
                           .layer = ""};
    struct result r = {0};

    for (int i = 0; i < c->n_in; i++)
        call.in[i] = fill_operand(be, c, i, dtype);
    call.out[0] = tensor_new(be, c->out, c->int_out ? NN_I32 : dtype,
                             c->panels & PANELS_OUT ? NN_WEIGHT : NN_ROWS);
    assert_int_equal(be->ops->set_scalars(be, &scalars, NULL), 0);
    run_call(be, &call);
    keep(&r, call.out[0]);
    nn_tensor_free(call.out[0]);
    for (int i = 0; i < c->n_in; i++) {
        keep(&r, call.in[i]);
        nn_tensor_free(call.in[i]);
    }
    return r;
}

static inline void check_same_bits(const struct op_case *cases, int n)
{
    for (int i = 0; i < n; i++) {
        struct result want = run_case(cpus.be[0], &cases[i], NN_F32);

        for (int k = 1; k < cpus.n; k++) {
            struct result got = run_case(cpus.be[k], &cases[i], NN_F32);

            if (got.size != want.size ||
                memcmp(got.bytes, want.bytes, got.size) != 0)
                fail_msg("case %d (%s) differs on %s", i,
                         nn_op_name(cases[i].op), cpus.be[k]->description);
            free(got.bytes);
        }
        free(want.bytes);
    }
}

static inline void check_close_to_float64(const struct op_case *cases, int n)
{
    for (int i = 0; i < n; i++) {
        const struct op_case *c = &cases[i];
        struct result f, d;
        int64_t numel = nn_shape_numel(&c->out);

        if (c->f32_only || c->int_out)
            continue;
        f = run_case(cpus.be[1], c, NN_F32);
        d = run_case(cpus.be[1], c, NN_F64);
        for (int64_t k = 0; k < numel; k++) {
            float x;
            double y, close = c->close > 0 ? c->close : 1e-5;

            memcpy(&x, f.bytes + 4 * k, 4);
            memcpy(&y, d.bytes + 8 * k, 8);
            if (!(fabs((double)x - y) <= close * (1 + fabs(y))))
                fail_msg("case %d (%s) element %lld: %.9g, in float64 %.17g", i,
                         nn_op_name(c->op), (long long)k, (double)x, y);
        }
        free(f.bytes);
        free(d.bytes);
    }
}

#endif
