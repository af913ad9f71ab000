/* Opening a GPU, and the table of functions that nn/ works it through. */
#include "cuda/cuda_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_graph.h"
#include "cuda/cuda_input.h"
#include "cuda/cuda_lt.h"
#include "cuda/cuda_mem.h"
#include "cuda/cuda_time.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_nvtx.h"
#include "cuda/cuda_trace.h"
#include "cuda/cuda_upload.h"
#include "nn/base/mem.h"

/* Bytes of workspace for cuBLAS: what NVIDIA recommends from Hopper (compute
 * capability 9) on, and before (cuBLAS documentation, cublasSetWorkspace). */
enum { BLAS_WORK_BEFORE = 4 << 20, BLAS_WORK_HOPPER = 32 << 20 };

static void cuda_close(struct nn_backend *be)
{
    struct cuda *cu = (struct cuda *)be;

    (void)cudaDeviceSynchronize();
    cuda_trace_free(cu);
    cuda_nvtx_close(cu);
    cuda_input_free(cu->input, cu);
    cuda_upload_free(cu);
    cuda_marks_free(cu);
    cuda_lt_free(cu->lt);
    if (cu->blas)
        (void)cublasDestroy(cu->blas);
    for (int i = 0; i <= NN_CAT_TEMPORARY; i++)
        cuda_arena_free(cu->arena[i], cu);
    cuda_memory_free_all(cu); /* and what lies in no arena */
    if (cu->copy)
        (void)cudaStreamDestroy(cu->copy);
    if (cu->stream)
        (void)cudaStreamDestroy(cu->stream);
    mem_free(cu);
}

static int cuda_alloc(struct nn_backend *be, struct nn_buf **out, size_t size,
                      enum nn_category cat, struct err *err)
{
    return cuda_mem_alloc((struct cuda *)be, out, size, cat, err);
}

static void cuda_free(struct nn_backend *be, struct nn_buf *buf)
{
    cuda_mem_free((struct cuda *)be, buf);
}

/* Every layout is plain rows here: it is what cuBLAS takes. */
static size_t layout_bytes(const struct nn_backend *be,
                           const struct nn_shape *shape, enum nn_dtype dtype,
                           enum nn_layout layout)
{
    (void)be;
    (void)layout;
    return (size_t)nn_shape_numel(shape) * nn_dtype_size(dtype);
}

static int cuda_import(struct nn_backend *be, struct nn_tensor *t,
                       const void *src, struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    size_t n = nn_tensor_bytes(t);
    int rc = cuda_late(cu, err);

    if (rc != 0 || n == 0)
        return rc;
    rc = CU(cudaMemcpyAsync(cuda_data(t), src, n, cudaMemcpyHostToDevice,
                            cu->stream),
            err);
    return rc == 0 ? CU(cudaStreamSynchronize(cu->stream), err) : rc;
}

static int cuda_export(struct nn_backend *be, const struct nn_tensor *t,
                       void *dst, struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    size_t n = nn_tensor_bytes(t);
    int rc = cuda_late(cu, err);

    if (rc == 0 && n > 0)
        rc = CU(cudaMemcpyAsync(dst, cuda_data(t), n, cudaMemcpyDeviceToHost,
                                cu->stream),
                err);
    return rc == 0 ? cuda_wait(cu, err) : rc;
}

static int set_scalars(struct nn_backend *be, const struct nn_scalars *s,
                       struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    struct cuda_scalars v = {s->lr,
                             s->decay,
                             s->adam_step,
                             s->adam_rsqrt_bias2,
                             (uint32_t)s->step,
                             s->result};

    cuda_upload_note(cu, &v);
    return cuda_late(cu, err);
}

static int cuda_sync(struct nn_backend *be, struct err *err)
{
    return cuda_wait((struct cuda *)be, err);
}

static int configure(struct nn_backend *be, const struct nn_backend_config *c,
                     struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    cublasMath_t math = c->numerics == NN_NUMERICS_TF32
                            ? CUBLAS_TF32_TENSOR_OP_MATH
                            : CUBLAS_DEFAULT_MATH;

    int rc = cuda_wait(cu, err);

    if (rc != 0)
        return rc;
    cuda_input_forget(cu->input, cu);
    cu->config = *c;
    return CUBLAS(cublasSetMathMode(cu->blas, math), err);
}

static const struct nn_backend_ops cuda_ops = {
    .name = "cuda",
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .layout_bytes = layout_bytes,
    .import = cuda_import,
    .export = cuda_export,
    .supports = cuda_supports,
    .set_scalars = set_scalars,
    .run = cuda_run,
    .sync = cuda_sync,
    .configure = configure,
    .step_prepare = cuda_step_prepare,
    .step_run = cuda_step_run,
    .step_release = cuda_step_release,
    .mark = cuda_mark,
    .elapsed = cuda_elapsed,
    .trace_begin = cuda_trace_begin,
    .trace_end = cuda_trace_end,
};

/* The workspace must be set behind the stream, which resets it; with one of
 * its own cuBLAS allocates nothing while a graph is captured, and repeats its
 * bits from run to run. */
static int open_blas(struct cuda *cu, bool hopper, struct err *err)
{
    size_t size = hopper ? BLAS_WORK_HOPPER : BLAS_WORK_BEFORE;
    int rc = CUBLAS(cublasCreate(&cu->blas), err);

    if (rc == 0)
        rc = cuda_memory_alloc(cu, &cu->blas_work, size, err);
    if (rc == 0)
        rc = CUBLAS(cublasSetStream(cu->blas, cu->stream), err);
    if (rc == 0)
        rc = CUBLAS(cublasSetWorkspace(cu->blas, cu->blas_work, size), err);
    cu->blas_work_size = size;
    cu->base.work_bytes = size;
    return rc;
}

static int open_memory(struct cuda *cu, struct err *err)
{
    void *p = NULL;
    int rc = 0, i;

    for (i = 0; rc == 0 && i <= NN_CAT_TEMPORARY; i++)
        rc = cuda_arena_new(&cu->arena[i], (enum nn_category)i, err);
    if (rc == 0)
        rc = cuda_upload_new(cu, err);
    if (rc == 0)
        rc = cuda_memory_alloc(cu, &p, sizeof *cu->fault, err);
    if (rc != 0)
        return rc;
    cu->fault = p;
    return CU(cudaMemsetAsync(cu->fault, 0, sizeof *cu->fault, cu->stream),
              err);
}

static int open_device(struct cuda *cu, struct err *err)
{
    struct cudaDeviceProp p;
    int rc = CU(cudaSetDevice(cu->device), err);

    if (rc == 0)
        rc = CU(cudaGetDeviceProperties(&p, cu->device), err);
    if (rc == 0)
        rc = CU(cudaStreamCreateWithFlags(&cu->stream, cudaStreamNonBlocking),
                err);
    if (rc == 0)
        rc = CU(cudaStreamCreateWithFlags(&cu->copy, cudaStreamNonBlocking),
                err);
    if (rc == 0)
        rc = open_memory(cu, err);
    if (rc == 0)
        rc = open_blas(cu, p.major >= 9, err);
    if (rc == 0)
        rc = cuda_input_new(&cu->input, err);
    if (rc != 0)
        return rc;
    (void)snprintf(cu->base.pci_bus_id, sizeof cu->base.pci_bus_id,
                   "%04x:%02x:%02x.0", p.pciDomainID & 0xffff,
                   p.pciBusID & 0xff, p.pciDeviceID & 0xff);
    cu->simulated = strncmp(p.name, "SIMULATED", 9) == 0;
    cuda_nvtx_open(cu);
    (void)snprintf(cu->base.description, sizeof cu->base.description,
                   "cuda:%d (%.100s, sm_%d%d)", cu->device, p.name, p.major,
                   p.minor);
    return 0;
}

static bool has_no_arenas(void)
{
    const char *s = getenv("PIPELINE_CUDA_ARENAS");

    return s && strcmp(s, "0") == 0;
}

/* Why there is nothing to open, in one line; 0: there is a device. */
static int probe(int device, char why[200], struct err *err)
{
    int n = 0, driver = 0, runtime = 0;
    cudaError_t rc = cudaGetDeviceCount(&n);

    if (rc == cudaSuccess && device < n)
        return 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (rc == cudaErrorInsufficientDriver && driver == 0)
        (void)snprintf(why, 200, "no NVIDIA driver");
    else if (rc == cudaErrorInsufficientDriver)
        (void)snprintf(why, 200,
                       "the NVIDIA driver is too old: it does CUDA %d.%d, this "
                       "program wants %d.%d",
                       driver / 1000, driver % 1000 / 10, runtime / 1000,
                       runtime % 1000 / 10);
    else if (rc == cudaSuccess && n > 0)
        (void)snprintf(why, 200, "there is no device %d, only 0 to %d", device,
                       n - 1);
    else if (rc == cudaSuccess || rc == cudaErrorNoDevice)
        (void)snprintf(why, 200, "no NVIDIA GPU");
    else
        (void)snprintf(why, 200, "cudaGetDeviceCount: %s",
                       cudaGetErrorString(rc));
    return err_set(err, ERR_DEVICE, "device cuda:%d: %s", device, why);
}

/* The plug-in's one entry point; see nn/backend.c. automatic: nobody asked for
 * a GPU by name, so a simulated one does not count. why gets a line. */
int cuda_backend_open(struct nn_backend **out, int device, bool automatic,
                      char why[200], struct err *err);

int cuda_backend_open(struct nn_backend **out, int device, bool automatic,
                      char why[200], struct err *err)
{
    struct cuda *cu;
    int rc;

    *out = NULL;
    rc = probe(device, why, err);
    if (rc != 0)
        return rc;
    cu = mem_zalloc(sizeof *cu);
    if (!cu)
        return err_set(err, ERR_NOMEM, "out of memory for the cuda backend");
    cu->base.ops = &cuda_ops;
    cu->device = device;
    cu->apart = has_no_arenas();
    rc = open_device(cu, err);
    if (rc == 0 && automatic && cu->simulated)
        rc = err_set(err, ERR_DEVICE, "the GPU is a simulated one");
    if (rc != 0) {
        (void)snprintf(why, 200, "%.190s",
                       err ? err->msg : "it failed to open");
        cuda_close(&cu->base);
        return rc;
    }
    (void)snprintf(why, 200, "%.190s", cu->base.description);
    *out = &cu->base;
    return 0;
}

int cuda_workspace(struct cuda *cu, size_t size, void **out, struct err *err)
{
    void *work;
    int rc;

    *out = cu->work;
    if (size <= cu->work_size)
        return 0;
    if (cu->capturing)
        return err_set(err, ERR_DEVICE,
                       "a captured step must not allocate memory");
    rc = CU(cudaStreamSynchronize(cu->stream), err);
    if (rc == 0)
        rc = cuda_memory_alloc(cu, &work, size, err);
    if (rc != 0)
        return rc;
    cuda_memory_retire(cu, cu->work);
    cu->work = work;
    cu->work_size = size;
    cu->base.work_bytes = cu->blas_work_size + size;
    *out = work;
    return 0;
}
