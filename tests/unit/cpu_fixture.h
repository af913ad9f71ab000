/* What the tests of the backends share: those that must agree, and tensors made
 * from a seed. TEST_DEVICE=cuda puts a GPU (or the double of one, tests/cuda)
 * beside the processors: the same table for all, to the bit. */
#ifndef CPU_FIXTURE_H
#define CPU_FIXTURE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/backend.h"
#include "nn/cpu/cpu_backend.h"
#include "tests/unit/device_fixture.h"

/* Every instruction set of this machine with one thread, the best one with
 * more; the first is the reference. */
struct cpus {
    struct nn_backend *be[8];
    int n;
};

static struct cpus cpus;

/* For cmocka_run_group_tests. */
static inline int cpus_open(void **state)
{
    static const struct {
        const char *isa;
        int threads;
    } all[] = {{"scalar", 1}, {"avx2", 1}, {"avx512", 1}, {NULL, 2},
               {NULL, 3},     {NULL, 7},   {"scalar", 2}};

    (void)state;
    cpus.n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (nn_cpu_open(&cpus.be[cpus.n], all[i].threads, all[i].isa, NULL) ==
            0)
            cpus.n++;
    if (test_device() && device_open(&cpus.be[cpus.n++], 0, NULL) != 0)
        return -1;
    return cpus.n < 5 ? -1 : 0;
}

static inline int cpus_close(void **state)
{
    (void)state;
    for (int i = 0; i < cpus.n; i++)
        nn_backend_close(cpus.be[i]);
    return 0;
}

/* xorshift: the same numbers everywhere */
static inline uint32_t next_u32(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

/* In [-2, 2), 24 bits. */
static inline float next_float(uint32_t *s)
{
    return (float)(next_u32(s) >> 8) * 0x1p-22f - 2.0f;
}

static inline struct nn_tensor *tensor_new(struct nn_backend *be,
                                           struct nn_shape shape,
                                           enum nn_dtype dtype,
                                           enum nn_layout layout)
{
    struct nn_tensor *t;
    struct err err = {0};

    assert_int_equal(
        nn_tensor_new(&t, be, &shape, dtype, layout, NN_CAT_TEMPORARY, &err),
        0);
    return t;
}

/* A float tensor that holds the n floats at x. */
static inline struct nn_tensor *tensor_of(struct nn_backend *be,
                                          struct nn_shape shape,
                                          enum nn_dtype dtype,
                                          enum nn_layout layout, const float *x)
{
    struct nn_tensor *t = tensor_new(be, shape, dtype, layout);
    int64_t n = nn_tensor_numel(t);
    double *d;

    if (dtype == NN_F32) {
        assert_int_equal(nn_tensor_set(t, x, NULL), 0);
        return t;
    }
    d = malloc((size_t)(n ? n : 1) * sizeof *d);
    assert_non_null(d);
    for (int64_t i = 0; i < n; i++)
        d[i] = (double)x[i];
    assert_int_equal(nn_tensor_set(t, d, NULL), 0);
    free(d);
    return t;
}

static inline struct nn_tensor *vector_of(struct nn_backend *be, int64_t n,
                                          const float *x)
{
    return tensor_of(be, nn_shape1(n), NN_F32, NN_ROWS, x);
}

static inline struct nn_tensor *labels_of(struct nn_backend *be, int64_t n,
                                          const int32_t *x)
{
    struct nn_tensor *t = tensor_new(be, nn_shape1(n), NN_I32, NN_ROWS);

    assert_int_equal(nn_tensor_set(t, x, NULL), 0);
    return t;
}

static inline void get(const struct nn_tensor *t, void *dst)
{
    assert_int_equal(nn_tensor_get(t, dst, NULL), 0);
}

static inline float get1(const struct nn_tensor *t)
{
    float x;

    assert_int_equal(nn_tensor_numel(t), 1);
    get(t, &x);
    return x;
}

static inline struct nn_call call_of(enum nn_op_id op, int n_in,
                                     struct nn_tensor *a, struct nn_tensor *b,
                                     struct nn_tensor *c, struct nn_tensor *out)
{
    struct nn_call call = {.op = op,
                           .n_in = n_in,
                           .n_out = 1,
                           .in = {a, b, c},
                           .out = {out},
                           .layer = ""};

    return call;
}

static inline void run_call(struct nn_backend *be, const struct nn_call *call)
{
    struct err err = {0};

    if (nn_backend_run(be, call, &err) != 0)
        fail_msg("%s: %s", nn_op_name(call->op), err.msg);
}

/* What a call gives that may fail on the device only once it is waited for. */
static inline int result_of(struct nn_backend *be, const struct nn_call *call,
                            struct err *err)
{
    int rc = nn_backend_run(be, call, err);

    return rc == 0 ? nn_backend_sync(be, err) : rc;
}

/* The bytes of a tensor as they lie in memory, padding included. */
static inline void *raw(const struct nn_tensor *t)
{
    return cpu_data(t);
}

/* Whether the padding of a panel tensor is all zero bits. */
static inline int padding_is_zero(const struct nn_tensor *t)
{
    int64_t out = t->shape.dim[0], in = nn_tensor_numel(t) / out;
    int64_t panels = (out + 31) / 32;
    const uint32_t *p;

    if (strcmp(t->st->be->ops->name, "cpu") != 0)
        return 1; /* rows */
    p = raw(t);
    assert_int_equal(nn_tensor_bytes(t), panels * in * 32 * 4);
    for (int64_t q = 0; q < panels; q++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t j = 0; j < 32; j++)
                if (q * 32 + j >= out && p[(q * in + i) * 32 + j] != 0)
                    return 0;
    return 1;
}

static inline void fill_random(float *x, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = next_float(&seed);
}

static inline float *random_floats(int64_t n, uint32_t seed)
{
    float *x = malloc((size_t)(n ? n : 1) * sizeof *x);

    assert_non_null(x);
    fill_random(x, n, seed);
    return x;
}

/* t, which be computed, is want to the bit. */
static inline void assert_same(const float *want, const struct nn_tensor *t,
                               const char *what, const struct nn_backend *be)
{
    int64_t n = nn_tensor_numel(t);
    float *got = malloc((size_t)(n ? n : 1) * sizeof *got);

    assert_non_null(got);
    get(t, got);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0)
            fail_msg("%s on %s: element %lld is %a, not %a", what,
                     be->description, (long long)i, (double)got[i],
                     (double)want[i]);
    free(got);
}

#endif
