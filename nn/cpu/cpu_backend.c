#include "nn/cpu/cpu_backend.h"

#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/cpu/cpu_layout.h"

/* Work units (see cpu_parallel) below which a second thread costs more than
 * it saves: some ten microseconds. */
enum { MIN_WORK = 1 << 16 };

/* A buffer's numbers begin on the next cache line after it. */
enum { BUF_HEAD = 64 };
_Static_assert(sizeof(struct nn_buf) <= BUF_HEAD, "a buffer needs more room");

static void cpu_close(struct nn_backend *be)
{
    struct cpu *cpu = (struct cpu *)be;

    pool_free(cpu->pool);
    mem_free_aligned(cpu->work);
    mem_free(cpu);
}

static int cpu_alloc(struct nn_backend *be, struct nn_buf **out, size_t size,
                     enum nn_category cat, struct err *err)
{
    struct nn_buf *buf = NULL;

    (void)be;
    (void)cat;
    *out = NULL;
    if (size <= SIZE_MAX - BUF_HEAD)
        buf = mem_alloc_aligned(BUF_HEAD + size);
    if (!buf)
        return err_set(err, ERR_NOMEM, "out of memory for %zu bytes", size);
    buf->size = size;
    buf->data = (char *)buf + BUF_HEAD;
    *out = buf;
    return 0;
}

static void cpu_free(struct nn_backend *be, struct nn_buf *buf)
{
    (void)be;
    mem_free_aligned(buf);
}

static size_t layout_bytes(const struct nn_backend *be,
                           const struct nn_shape *shape, enum nn_dtype dtype,
                           enum nn_layout layout)
{
    (void)be;
    return cpu_layout_bytes(shape, dtype, layout);
}

static int cpu_import(struct nn_backend *be, struct nn_tensor *t,
                      const void *src, struct err *err)
{
    (void)be;
    (void)err;
    if (cpu_is_panels(&t->shape, t->dtype, t->layout))
        cpu_to_panels(cpu_data(t), src, t->shape.dim[0],
                      cpu_panel_rest(&t->shape));
    else if (nn_tensor_numel(t) > 0)
        memcpy(cpu_data(t), src, nn_tensor_bytes(t));
    return 0;
}

static int cpu_export(struct nn_backend *be, const struct nn_tensor *t,
                      void *dst, struct err *err)
{
    (void)be;
    (void)err;
    if (cpu_is_panels(&t->shape, t->dtype, t->layout))
        cpu_from_panels(dst, cpu_data(t), t->shape.dim[0],
                        cpu_panel_rest(&t->shape));
    else if (nn_tensor_numel(t) > 0)
        memcpy(dst, cpu_data(t), nn_tensor_bytes(t));
    return 0;
}

static int set_scalars(struct nn_backend *be, const struct nn_scalars *s,
                       struct err *err)
{
    struct cpu *cpu = (struct cpu *)be;

    (void)err;
    cpu->scalars = *s;
    return 0;
}

/* run has done the work when it returns. */
static int cpu_sync(struct nn_backend *be, struct err *err)
{
    (void)be;
    (void)err;
    return 0;
}

static const struct nn_backend_ops cpu_ops = {
    .name = "cpu",
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .layout_bytes = layout_bytes,
    .import = cpu_import,
    .export = cpu_export,
    .supports = cpu_supports,
    .set_scalars = set_scalars,
    .run = cpu_run,
    .sync = cpu_sync,
};

#if defined(__x86_64__)
static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool have_avx512(void)
{
    return have_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq");
}
#endif

static bool have_scalar(void)
{
    return true;
}

/* The kernels for isa, or the best ones where it is NULL. */
static int choose(const struct cpu_kernels **out, const char *isa,
                  struct err *err)
{
    static const struct {
        const struct cpu_kernels *kernels;
        bool (*have)(void);
    } all[] = {
#if defined(__x86_64__)
        {&cpu_kernels_avx512, have_avx512},
        {&cpu_kernels_avx2, have_avx2},
#endif
        {&cpu_kernels_scalar, have_scalar},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if ((!isa || strcmp(isa, all[i].kernels->name) == 0) && all[i].have()) {
            *out = all[i].kernels;
            return 0;
        }
    return err_set(err, ERR_DEVICE,
                   "instruction set '%s' is none of scalar, avx2, avx512 that "
                   "this machine has",
                   isa);
}

const char *nn_cpu_isa(void)
{
    const struct cpu_kernels *best;
    struct err none = {0};

    return choose(&best, NULL, &none) == 0 ? best->name : "none";
}

int nn_cpu_open(struct nn_backend **out, int threads, const char *isa,
                struct err *err)
{
    struct cpu *cpu;
    int rc;

    *out = NULL;
    cpu = mem_zalloc(sizeof *cpu);
    if (!cpu)
        return err_set(err, ERR_NOMEM, "out of memory for the cpu backend");
    cpu->base.ops = &cpu_ops;
    rc = choose(&cpu->f32, isa, err);
    if (rc == 0)
        rc = pool_new(&cpu->pool, threads == 0 ? pool_cores() : threads, err);
    if (rc != 0) {
        cpu_close(&cpu->base);
        return rc;
    }
    threads = cpu->base.threads = pool_threads(cpu->pool);
    (void)snprintf(cpu->base.description, sizeof cpu->base.description,
                   "cpu (%d thread%s, %s)", threads, threads == 1 ? "" : "s",
                   cpu->f32->name);
    *out = &cpu->base;
    return 0;
}

int cpu_workspace(struct cpu *cpu, size_t size, void **out, struct err *err)
{
    if (size > cpu->work_size) {
        mem_free_aligned(cpu->work);
        cpu->work_size = cpu->base.work_bytes = 0;
        cpu->work = mem_alloc_aligned(size);
        if (!cpu->work)
            return err_set(err, ERR_NOMEM,
                           "out of memory for %zu bytes of workspace", size);
        cpu->work_size = cpu->base.work_bytes = size;
    }
    *out = cpu->work;
    return 0;
}

void cpu_parallel(struct cpu *cpu, int64_t n, int64_t grain, int64_t work,
                  pool_fn fn, void *arg)
{
    if (n <= 0)
        return;
    if (pool_threads(cpu->pool) == 1 || n < MIN_WORK / (work > 0 ? work : 1))
        fn(arg, 0, n);
    else
        pool_for(cpu->pool, n, grain, fn, arg);
}
