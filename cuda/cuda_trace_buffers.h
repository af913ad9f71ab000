/* The memory that CUPTI writes its records to. One set for the process: CUPTI's
 * two callbacks for it take no argument by which to tell more apart. */
#ifndef CUDA_TRACE_BUFFERS_H
#define CUDA_TRACE_BUFFERS_H

#include <stddef.h>

#include "cuda/cuda_cupti.h"
#include "nn/base/err.h"

/* Makes the first buffers and touches their pages. *used: they served before,
 * and nothing is done. ERR_NOMEM. */
int cuda_trace_buffers_begin(const struct cupti *c, bool *used,
                             struct err *err);
/* CUPTI's callbacks. A buffer is always given while there is memory: rejecting
 * one can crash CUPTI before 12.9. Beyond 128 MiB the records of a buffer are
 * counted as dropped and it is given again. */
void cuda_trace_buffer_request(uint8_t **data, size_t *size, size_t *most);
void cuda_trace_buffer_complete(CUcontext context, uint32_t stream,
                                uint8_t *data, size_t size, size_t valid);

/* Nothing is kept from now on. After it, without a lock: */
void cuda_trace_buffers_stop(void);
/* Full buffer i, in the order of their coming; NULL: there are no more. */
uint8_t *cuda_trace_buffer(size_t i, size_t *valid);
uint64_t cuda_trace_buffers_dropped(void); /* records without room */
void cuda_trace_buffers_free(void);

#endif
