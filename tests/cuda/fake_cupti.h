/* The double of CUPTI inside: what its two files share. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <cupti.h>

#include "tests/cuda/fake.h"

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 fake_kernel_record;
typedef CUpti_ActivityMemcpy6 fake_copy_record;
#else
typedef CUpti_ActivityKernel9 fake_kernel_record;
typedef CUpti_ActivityMemcpy5 fake_copy_record;
#endif

/* CUPTI's number of a function of the runtime; 0: none. */
uint32_t fake_cupti_number(const char *fn);
/* Tells the subscriber of a node, made or cloned. */
void fake_cupti_node(const struct fake_op *node, const struct fake_op *of);
/* Activity and callbacks come through one tracer. */
void fake_cupti_trace(void);

#endif
