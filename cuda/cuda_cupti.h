/* CUPTI, the library through which a GPU tells what it does: opened while the
 * program runs, so that a machine without it trains all the same. */
#ifndef CUDA_CUPTI_H
#define CUDA_CUPTI_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

/* What the header's toolkit fills in; a newer one only adds behind. */
#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 cupti_kernel_record;
typedef CUpti_ActivityMemcpy6 cupti_copy_record;
#else
typedef CUpti_ActivityKernel9 cupti_kernel_record;
typedef CUpti_ActivityMemcpy5 cupti_copy_record;
#endif
typedef CUpti_ActivityMemset4 cupti_fill_record;
typedef CUpti_ActivityOverhead3 cupti_overhead_record;

#define CUPTI_FUNCTIONS(F) \
    F(cuptiGetVersion) \
    F(cuptiGetResultString) \
    F(cuptiGetCallbackName) \
    F(cuptiSetThreadIdType) \
    F(cuptiSubscribe) \
    F(cuptiUnsubscribe) \
    F(cuptiEnableCallback) \
    F(cuptiGetGraphNodeId) \
    F(cuptiActivityRegisterCallbacks) \
    F(cuptiActivityEnable) \
    F(cuptiActivityDisable) \
    F(cuptiActivityFlushAll) \
    F(cuptiActivityGetNextRecord) \
    F(cuptiActivityGetNumDroppedRecords) \
    F(cuptiActivityPushExternalCorrelationId) \
    F(cuptiActivityPopExternalCorrelationId)

/* Each function under its own name, with the prototype of NVIDIA's header. */
struct cupti {
#define F(name) __typeof__ (&(name))(name);
    CUPTI_FUNCTIONS(F)
#undef F
    /* Switches the records of one function of the driver; NULL before 13. */
    CUptiResult (*enable_driver)(CUpti_CallbackId function, uint8_t enable);
};

enum { CUPTI_REFUSED = 300 }; /* bytes of nn_device_trace.refused */

/* false: there is none that fits, and refused says so in a sentence. It stays
 * open as long as the process. */
bool cupti_open(struct cupti *c, char refused[CUPTI_REFUSED]);

/* What a failed call means to the user, in one sentence. */
void cupti_refusal(const struct cupti *c, CUptiResult rc, const char *call,
                   char refused[CUPTI_REFUSED]);

#endif
