/* The operators at both ends of a step by their definitions in nn/op.h: SGD,
 * ADAM, CLIP_GRAD_NORM, BATCH. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nn/data.h"
#include "tests/unit/cpu_fixture.h"

enum { OUT = 37, IN = 19, N = OUT * IN };

static float snap(float x, float bound)
{
    return fabsf(x) < bound ? 0.0f : x;
}

/* Parameter, gradient and state of one weight, in rows. */
struct weights {
    float p[N], g[N], m[N], v[N];
};

static void weights_init(struct weights *w)
{
    fill_random(w->p, N, 1);
    fill_random(w->g, N, 2);
    fill_random(w->m, N, 3);
    fill_random(w->v, N, 4);
    for (int i = 0; i < N; i++)
        w->v[i] = fabsf(w->v[i]);
    w->m[0] = 0x1.08p-100f; /* decays below the bound */
    w->g[0] = 0;
    w->v[0] = 0x1p-120f;
}

static const struct nn_scalars scalars = {.lr = 0.05f,
                                          .decay = 0.9995f,
                                          .adam_step = 0.01f,
                                          .adam_rsqrt_bias2 = 3.0f};

static void naive_sgd(struct weights *w, float mu, float wd, bool nesterov)
{
    for (int i = 0; i < N; i++) {
        float d = wd != 0 ? fmaf(wd, w->p[i], w->g[i]) : w->g[i];

        if (mu != 0) {
            w->m[i] = snap(fmaf(mu, w->m[i], d), 0x1p-100f);
            d = nesterov ? fmaf(mu, w->m[i], d) : w->m[i];
        }
        w->p[i] = fmaf(-scalars.lr, d, w->p[i]);
    }
}

static void naive_adam(struct weights *w, float eps, float wd, bool decoupled)
{
    const float b1 = 0.9f, b2 = 0.999f;

    for (int i = 0; i < N; i++) {
        float g = w->g[i], root;

        if (decoupled)
            w->p[i] *= scalars.decay;
        else if (wd != 0)
            g = fmaf(wd, w->p[i], g);
        w->m[i] = snap(fmaf(b1, w->m[i], (float)(1 - 0.9) * g), 0x1p-100f);
        w->v[i] =
            snap(fmaf(b2, w->v[i], (float)(1 - 0.999) * (g * g)), 0x1p-120f);
        root = fmaf(sqrtf(w->v[i]), scalars.adam_rsqrt_bias2, eps);
        w->p[i] = fmaf(-scalars.adam_step, w->m[i] / root, w->p[i]);
    }
}

static void expect_equal(const struct nn_tensor *t, const float *want,
                         const char *what)
{
    float got[N];

    get(t, got);
    assert_true(padding_is_zero(t));
    for (int i = 0; i < N; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0)
            fail_msg("%s of element %d is %a, not %a", what, i, (double)got[i],
                     (double)want[i]);
}

/* Runs call on tensors made from w and compares them with want. */
static void check_update(struct nn_backend *be, struct nn_call *call,
                         const struct weights *w, const struct weights *want)
{
    const float *from[4] = {w->p, w->g, w->m, w->v};
    const float *to[4] = {want->p, want->g, want->m, want->v};
    static const char *const name[4] = {"p", "g", "m", "v"};
    int32_t flag = -1;

    for (int i = 0; i < call->n_in; i++)
        call->in[i] =
            tensor_of(be, nn_shape2(OUT, IN), NN_F32, NN_WEIGHT, from[i]);
    call->out[0] = tensor_new(be, nn_shape1(1), NN_I32, NN_ROWS);
    assert_int_equal(be->ops->set_scalars(be, &scalars, NULL), 0);
    run_call(be, call);
    get(call->out[0], &flag);
    assert_int_equal(flag, 0);
    for (int i = 0; i < call->n_in; i++) {
        expect_equal(call->in[i], to[i], name[i]);
        nn_tensor_free(call->in[i]);
    }
    nn_tensor_free(call->out[0]);
}

static void sgd_follows_its_definition(void **state)
{
    static const struct {
        double mu, wd;
        bool nesterov;
    } forms[] = {{0, 0, false},     {0, 0.1, false}, {0.9, 0, false},
                 {0.9, 0.1, false}, {0.9, 0, true},  {0.9, 0.1, true}};

    (void)state;
    for (int c = 0; c < cpus.n; c++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            struct weights w, want;
            struct nn_call call = call_of(NN_OP_SGD, 2, 0, 0, 0, NULL);

            call.n_in = forms[f].mu != 0 ? 3 : 2;
            call.attrs.sgd.momentum = forms[f].mu;
            call.attrs.sgd.weight_decay = forms[f].wd;
            call.attrs.sgd.nesterov = forms[f].nesterov;
            weights_init(&w);
            want = w;
            naive_sgd(&want, (float)forms[f].mu, (float)forms[f].wd,
                      forms[f].nesterov);
            check_update(cpus.be[c], &call, &w, &want);
        }
}

static void adam_follows_its_definition(void **state)
{
    (void)state;
    for (int c = 0; c < cpus.n; c++)
        for (int f = 0; f < 4; f++) {
            struct weights w, want;
            struct nn_call call = call_of(NN_OP_ADAM, 4, 0, 0, 0, NULL);
            double eps = f == 3 ? 0 : 1e-8, wd = f == 0 ? 0 : 0.01;

            call.attrs.adam.beta1 = 0.9;
            call.attrs.adam.beta2 = 0.999;
            call.attrs.adam.eps = eps;
            call.attrs.adam.weight_decay = wd;
            call.attrs.adam.decoupled = f == 2;
            weights_init(&w);
            want = w;
            naive_adam(&want, (float)eps, (float)wd, f == 2);
            check_update(cpus.be[c], &call, &w, &want);
        }
}

static void the_flag_counts_parameters_that_are_not_finite(void **state)
{
    (void)state;
    for (int c = 0; c < cpus.n; c++) {
        struct nn_backend *be = cpus.be[c];
        float p[13] = {0}, g[13] = {0};
        struct nn_tensor *flag = tensor_new(be, nn_shape1(1), NN_I32, NN_ROWS);
        struct nn_tensor *tp, *tg;
        struct nn_call call;
        int32_t count;

        g[0] = NAN;
        g[7] = INFINITY;
        p[12] = -INFINITY;
        tp = vector_of(be, 13, p);
        tg = vector_of(be, 13, g);
        call = call_of(NN_OP_SGD, 2, tp, tg, NULL, flag);
        assert_int_equal(be->ops->set_scalars(be, &scalars, NULL), 0);
        run_call(be, &call);
        get(flag, &count);
        assert_int_equal(count, 3);
        nn_tensor_free(tp);
        nn_tensor_free(tg);
        nn_tensor_free(flag);
    }
}

static float pairwise(const float *s, int n)
{
    float t[64];

    memcpy(t, s, (size_t)n * sizeof *t);
    for (; n > 1; n = (n + 1) / 2)
        for (int i = 0; i < (n + 1) / 2; i++)
            t[i] = 2 * i + 1 < n ? t[2 * i] + t[2 * i + 1] : t[2 * i];
    return t[0];
}

static float sum_of_squares(const float *g, int rows, int cols)
{
    float s[64];

    for (int r = 0; r < rows; r++) {
        s[r] = 0;
        for (int c = 0; c < cols; c++)
            s[r] = fmaf(g[r * cols + c], g[r * cols + c], s[r]);
    }
    return pairwise(s, rows);
}

static void check_clip(struct nn_backend *be, float max_norm)
{
    float w[N], b[OUT], x[7 * 3], got[N], norm, factor;
    struct nn_tensor *grads[3];
    struct nn_call call = call_of(NN_OP_CLIP_GRAD_NORM, 0, 0, 0, 0, NULL);

    fill_random(w, N, 1);
    fill_random(b, OUT, 2);
    fill_random(x, 7 * 3, 3);
    grads[0] = tensor_of(be, nn_shape2(OUT, IN), NN_F32, NN_WEIGHT, w);
    grads[1] = vector_of(be, OUT, b);
    grads[2] = tensor_of(be, nn_shape2(7, 3), NN_F32, NN_ROWS, x);
    norm = 0.0f + sum_of_squares(w, OUT, IN);
    norm += sum_of_squares(b, OUT, 1);
    norm += sum_of_squares(x, 7, 3);
    norm = sqrtf(norm);
    factor = max_norm / (norm + 1e-6f);
    call.out[0] = tensor_new(be, nn_shape1(1), NN_F32, NN_ROWS);
    call.attrs.clip.max_norm = (double)max_norm;
    call.attrs.clip.grads = grads;
    call.attrs.clip.n = 3;
    run_call(be, &call);
    assert_true(get1(call.out[0]) == norm);
    get(grads[0], got);
    assert_true(padding_is_zero(grads[0]));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == (factor < 1 ? w[i] * factor : w[i]));
    get(grads[1], got);
    for (int i = 0; i < OUT; i++)
        assert_true(got[i] == (factor < 1 ? b[i] * factor : b[i]));
    for (int i = 0; i < 3; i++)
        nn_tensor_free(grads[i]);
    nn_tensor_free(call.out[0]);
}

static void clipping_follows_its_definition_in_any_layout(void **state)
{
    (void)state;
    for (int c = 0; c < cpus.n; c++) {
        check_clip(cpus.be[c], 1.0f);
        check_clip(cpus.be[c], 1e6f);
    }
}

/* 5 samples of 3 bytes, of which a subset picks 4. */
static const uint8_t pixels[15] = {0,   1,   2,   3,  4,   5,  6, 7,
                                   100, 101, 255, 12, 254, 77, 9};
static const int32_t labels[5] = {4, 3, 2, 1, 0};
static const int64_t subset[4] = {4, 0, 2, 3};

static void check_bytes(struct nn_backend *be, enum nn_dtype dtype)
{
    const struct nn_data data = {.n = 4,
                                 .sample = nn_shape1(3),
                                 .dtype = NN_U8,
                                 .x = pixels,
                                 .divide = 255,
                                 .label = labels,
                                 .classes = 5,
                                 .rows = subset};
    const int64_t order[4] = {3, 1, 2, 0};
    const struct nn_batch_source src = {&data, order, 1};
    struct nn_tensor *x = tensor_new(be, nn_shape2(3, 3), dtype, NN_ROWS);
    struct nn_tensor *y = tensor_new(be, nn_shape1(3), NN_I32, NN_ROWS);
    struct nn_call call = call_of(NN_OP_BATCH, 0, 0, 0, 0, x);
    double got[9];
    int32_t got_y[3];

    call.n_out = 2;
    call.out[1] = y;
    call.attrs.batch = &src;
    run_call(be, &call);
    get(x, got);
    get(y, got_y);
    for (int i = 0; i < 9; i++) {
        int64_t row = subset[order[1 + i / 3]];
        uint8_t byte = pixels[row * 3 + i % 3];

        assert_int_equal(got_y[i / 3], labels[row]);
        if (dtype == NN_F64)
            assert_true(got[i] == byte / 255.0);
        else
            assert_true(((float *)(void *)got)[i] == (float)byte / 255.0f);
    }
    nn_tensor_free(x);
    nn_tensor_free(y);
}

static void batch_gathers_bytes_through_order_and_subset(void **state)
{
    (void)state;
    for (int c = 0; c < cpus.n; c++) {
        check_bytes(cpus.be[c], NN_F32);
        check_bytes(cpus.be[c], NN_F64);
    }
}

static void batch_gathers_floats_with_their_targets(void **state)
{
    const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const float targets[8] = {10, 20, 30, 40, 50, 60, 70, 80};
    const struct nn_data data = {.n = 4,
                                 .sample = nn_shape1(2),
                                 .dtype = NN_F32,
                                 .x = values,
                                 .divide = 1,
                                 .target = targets,
                                 .target_width = 2};
    const struct nn_batch_source src = {&data, NULL, 2};

    (void)state;
    for (int c = 0; c < cpus.n; c++) {
        struct nn_shape s = nn_shape2(2, 2);
        struct nn_tensor *x = tensor_new(cpus.be[c], s, NN_F32, NN_ROWS);
        struct nn_tensor *y = tensor_new(cpus.be[c], s, NN_F32, NN_ROWS);
        struct nn_call call = call_of(NN_OP_BATCH, 0, 0, 0, 0, x);
        float got[4];

        call.n_out = 2;
        call.out[1] = y;
        call.attrs.batch = &src;
        run_call(cpus.be[c], &call);
        get(x, got);
        assert_memory_equal(got, values + 4, sizeof got);
        get(y, got);
        assert_memory_equal(got, targets + 4, sizeof got);
        nn_tensor_free(x);
        nn_tensor_free(y);
    }
}

static void a_batch_past_the_end_is_an_error(void **state)
{
    const struct nn_data data = {.n = 5,
                                 .sample = nn_shape1(3),
                                 .dtype = NN_U8,
                                 .x = pixels,
                                 .divide = 1,
                                 .label = labels,
                                 .classes = 5};
    const struct nn_batch_source src = {&data, NULL, 4};
    struct nn_tensor *x =
        tensor_new(cpus.be[0], nn_shape2(2, 3), NN_F32, NN_ROWS);
    struct nn_call call = call_of(NN_OP_BATCH, 0, 0, 0, 0, x);
    struct err err = {0};

    (void)state;
    call.attrs.batch = &src;
    assert_int_equal(nn_backend_run(cpus.be[0], &call, &err), ERR_SHAPE);
    assert_string_equal(err.msg, "batch: sample 5 is outside 0 to 4");
    nn_tensor_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_follows_its_definition),
        cmocka_unit_test(adam_follows_its_definition),
        cmocka_unit_test(the_flag_counts_parameters_that_are_not_finite),
        cmocka_unit_test(clipping_follows_its_definition_in_any_layout),
        cmocka_unit_test(batch_gathers_bytes_through_order_and_subset),
        cmocka_unit_test(batch_gathers_floats_with_their_targets),
        cmocka_unit_test(a_batch_past_the_end_is_an_error),
    };

    return cmocka_run_group_tests(tests, cpus_open, cpus_close);
}
