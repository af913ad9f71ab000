#include "cuda/cuda_time.h"

/* Made when first used, so that a run that measures nothing has none. */
int cuda_mark(struct nn_backend *be, int i, struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    int rc = 0;

    if (!cu->mark[i])
        rc = CU(cudaEventCreate(&cu->mark[i]), err);
    return rc == 0 ? CU(cudaEventRecord(cu->mark[i], cu->stream), err) : rc;
}

int cuda_elapsed(struct nn_backend *be, int i, int j, double *seconds,
                 struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    float ms = 0.0f;
    int rc;

    *seconds = 0.0;
    if (!cu->mark[i] || !cu->mark[j])
        return err_set(err, ERR_DEVICE, "mark %d or %d was not set", i, j);
    rc = CU(cudaEventSynchronize(cu->mark[j]), err);
    if (rc == 0)
        rc = CU(cudaEventElapsedTime(&ms, cu->mark[i], cu->mark[j]), err);
    *seconds = (double)ms / 1000.0;
    return rc;
}

void cuda_marks_free(struct cuda *cu)
{
    for (int i = 0; i < NN_MARKS; i++)
        if (cu->mark[i])
            (void)cudaEventDestroy(cu->mark[i]);
}
