/* The CPU backend inside: shared by nn/cpu/cpu_*.c and seen by nobody else.
 * The rest of nn/ opens it with nn_cpu_open (nn/backend.h). */
#ifndef NN_CPU_BACKEND_H
#define NN_CPU_BACKEND_H

#include "nn/backend.h"
#include "nn/base/pool.h"
#include "nn/cpu/cpu_kernels.h"

struct nn_buf {
    char *data;
    size_t size;
};

struct cpu {
    struct nn_backend base; /* first: a struct nn_backend is cast back */
    struct pool *pool;
    const struct cpu_kernels *f32;
    struct nn_scalars scalars;
    /* scratch of the operator that runs; grown when needed, never shrunk */
    void *work;
    size_t work_size;
};

static inline void *cpu_data(const struct nn_tensor *t)
{
    return t->st->buf->data + t->offset;
}

static inline const struct cpu_kernels *cpu_kernels_of(const struct cpu *cpu,
                                                       enum nn_dtype dtype)
{
    return dtype == NN_F64 ? &cpu_kernels_f64 : cpu->f32;
}

/* At least size bytes of scratch, 64-byte aligned, valid until the next call.
 * ERR_NOMEM. */
int cpu_workspace(struct cpu *cpu, size_t size, void **out, struct err *err);

/* pool_for, where n items of some work each (1: a load, an add, a store) are
 * enough to pay for waking threads; else fn(arg, 0, n). */
void cpu_parallel(struct cpu *cpu, int64_t n, int64_t grain, int64_t work,
                  pool_fn fn, void *arg);

/* A value rounded to a float type, as the operand of a binary kernel. */
union cpu_number {
    float f32;
    double f64;
};
static inline union cpu_number cpu_number(enum nn_dtype dtype, double value)
{
    union cpu_number x;

    if (dtype == NN_F64)
        x.f64 = value;
    else
        x.f32 = (float)value;
    return x;
}

/* n floats of type dtype after p */
static inline void *cpu_at(const void *p, int64_t n, enum nn_dtype dtype)
{
    return (char *)p + n * (dtype == NN_F64 ? 8 : 4);
}

/* ERR_SHAPE: the operator with the shapes of its operands. */
int cpu_shape_error(const struct nn_call *call, struct err *err);

/* cpu_dispatch.c */
bool cpu_supports(const struct nn_backend *be, const struct nn_call *call);
int cpu_run(struct nn_backend *be, const struct nn_call *call, struct err *err);

#endif
