/* The CUDA backend inside: shared by cuda/ alone. Host code is C; kernels are
 * reached through the C functions of k_*.h, which return cudaError_t. */
#ifndef CUDA_BACKEND_H
#define CUDA_BACKEND_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cuda_fault.h"
#include "cuda/cuda_scalars.h"
#include "nn/backend.h"

/* Memory of one tensor's storage, cut from the arena of its category. */
struct nn_buf {
    char *data; /* on the device */
    size_t size;
    enum nn_category cat;
    void *block; /* the arena's own */
};

struct cuda_arena;  /* cuda_mem.c */
struct cuda_memory; /* cuda_memory.c: what cudaMalloc gave */
struct cuda_upload; /* cuda_upload.c: scalars and rows on their way */
struct cuda_input;  /* cuda_input.c: data sets and batches on their way */
struct cuda_trace;  /* cuda_trace.c: the device's own records */
struct cuda_nvtx;   /* cuda_nvtx.c: ranges for tools that listen */

struct cuda {
    struct nn_backend base; /* first: a struct nn_backend is cast back */
    int device;
    bool simulated; /* the tests' double */
    struct nn_backend_config config;
    cudaStream_t stream; /* all computing */
    cudaStream_t copy;   /* host_pinned: batches ahead of their step */
    cublasHandle_t blas;
    void *blas_work;
    size_t blas_work_size;
    struct cuda_lt *lt; /* cuda_lt.c; NULL until used */
    struct cuda_memory *memory;
    int graphs; /* captured and alive: they hold addresses */
    struct cuda_arena *arena[NN_CAT_TEMPORARY + 1];
    struct cuda_upload *upload;
    struct cuda_scalars *scalars; /* device */
    struct cuda_fault *fault;     /* device */
    struct cuda_input *input;
    struct cuda_trace *trace; /* NULL: none was begun */
    struct cuda_nvtx *nvtx;   /* NULL: no tool listens */
    void *work; /* scratch of the operator that runs; see cuda_workspace */
    size_t work_size;
    cudaEvent_t mark[NN_MARKS]; /* cuda_time.c; NULL until used */
    bool capturing;             /* a graph: nothing may allocate or wait */
    bool apart;                 /* see cuda_mem.h */
    struct err
        late; /* of a call that gives back: the next operation tells it */
};

static inline void *cuda_data(const struct nn_tensor *t)
{
    return t->st->buf->data + t->offset;
}

/* 0, or ERR_DEVICE (ERR_NOMEM for cudaErrorMemoryAllocation) with the name of
 * the call and CUDA's own words. */
int cuda_check(cudaError_t rc, const char *call, struct err *err);
int cuda_check_blas(cublasStatus_t rc, const char *call, struct err *err);
#define CU(call, err) cuda_check((call), #call, err)
#define CUBLAS(call, err) cuda_check_blas((call), #call, err)

/* For calls in functions that cannot fail. */
#define CU_LATE(call, cu) ((void)cuda_check((call), #call, &(cu)->late))
int cuda_late(struct cuda *cu, struct err *err); /* takes it out */

/* At least size bytes of device scratch, 256-byte aligned, valid until the next
 * operator. While a graph is captured it must be there already: the eager run
 * before has made it. One that has become too small is kept as long as there
 * are graphs, which hold its address. */
int cuda_workspace(struct cuda *cu, size_t size, void **out, struct err *err);

/* Waits for the stream and reports what went wrong on it, cuda_fault too. */
int cuda_wait(struct cuda *cu, struct err *err);

/* One operator: checks nothing that cuda_dispatch.c's operand letters say. */
typedef int (*cuda_op_fn)(struct cuda *cu, const struct nn_call *call,
                          struct err *err);

#endif
