/* Batches gathered on the device from a data set that lies there whole. */
#ifndef CUDA_K_INPUT_H
#define CUDA_K_INPUT_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "nn/tensor.h"

/* to (n, len), float32 or float64 = rows row[0 .. n) of from (.., len), which
 * is uint8 (divided, rounded once), int32 or float32; or int32 from int32 */
struct k_gather {
    void *to;
    enum nn_dtype to_type;
    const void *from;
    enum nn_dtype from_type;
    const int64_t *row; /* on the device */
    int64_t n, len;
    float divide; /* uint8 */
};
cudaError_t k_gather(const struct k_gather *g, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
