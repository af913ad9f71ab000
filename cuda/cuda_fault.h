/* What a kernel found wrong with the data: the first one stays. Lies in device
 * memory, read when the host waits for the stream. */
#ifndef CUDA_FAULT_H
#define CUDA_FAULT_H

#include <stdint.h>

struct cuda_fault {
    int32_t set;   /* 0: all well */
    int32_t op;    /* enum nn_op_id */
    int64_t where; /* row or element */
    int64_t value; /* that was found there */
    int64_t limit; /* it should be at least 0 and below this */
};

#endif
