/* The names that a trace shows: of functions, kernels, copies and fills. Each
 * is made once and lies in the trace's arena. NULL from them: no memory. */
#ifndef CUDA_TRACE_NAME_H
#define CUDA_TRACE_NAME_H

#include <stddef.h>

#include "cuda/cuda_cupti.h"
#include "nn/base/arena.h"

struct cuda_names {
    const struct cupti *cupti;
    struct arena *arena;
    struct cuda_name {
        CUpti_CallbackDomain domain; /* of a function; else INVALID */
        uint32_t number;             /* of a function, a copy or a fill */
        const void *kernel;          /* CUPTI's own text, the same for all */
        const char *text;
    } * name;
    size_t n, cap, last;
};

/* "cudaLaunchKernel", without version and kind of stream. */
const char *cuda_name_call(struct cuda_names *n, CUpti_CallbackDomain domain,
                           uint32_t number);
/* As in the source: demangled. */
const char *cuda_name_kernel(struct cuda_names *n, const char *kernel);
const char *cuda_name_copy(struct cuda_names *n, const cupti_copy_record *r);
const char *cuda_name_fill(struct cuda_names *n, const cupti_fill_record *r);
void cuda_names_free(struct cuda_names *n); /* but for the texts */

#endif
