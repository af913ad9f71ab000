#include "cuda/cuda_graph.h"

#include "cuda/cuda_backend.h"
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_input.h"
#include "cuda/cuda_memory.h"
#include "nn/base/mem.h"

struct replay {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};

static void replay_free(struct replay *r, struct cuda *cu)
{
    if (!r)
        return;
    if (r->exec)
        CU_LATE(cudaGraphExecDestroy(r->exec), cu);
    if (r->graph)
        CU_LATE(cudaGraphDestroy(r->graph), cu);
    mem_free(r);
    if (--cu->graphs == 0)
        cuda_memory_sweep(cu);
}

/* Puts the calls into the graph that the stream captures. Whatever fails, the
 * capture ends, and the first error is the one that is told. */
static int capture(struct cuda *cu, const struct nn_step *step,
                   cudaGraph_t *graph, struct err *err)
{
    struct err ending = {0};
    int rc =
        CU(cudaStreamBeginCapture(cu->stream, cudaStreamCaptureModeThreadLocal),
           err);
    int end, i;

    if (rc != 0)
        return rc;
    cu->capturing = true;
    for (i = 0; rc == 0 && i < step->n_call; i++)
        rc = cuda_run(&cu->base, &step->call[i], err);
    cu->capturing = false;
    end = CU(cudaStreamEndCapture(cu->stream, graph), &ending);
    if (rc == 0 && end != 0) {
        *err = ending;
        rc = end;
    }
    return rc;
}

int cuda_step_prepare(struct nn_backend *be, struct nn_step *step,
                      struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    struct replay *r = mem_zalloc(sizeof *r);
    int rc;

    if (!r)
        return err_set(err, ERR_NOMEM, "out of memory for a recorded step");
    cu->graphs++;
    /* The run that was recorded has loaded every kernel and made every
     * workspace; it must be through before its graph is cut. */
    rc = cuda_wait(cu, err);
    if (rc == 0)
        rc = capture(cu, step, &r->graph, err);
    if (rc == 0)
        rc = CU(cudaGraphInstantiate(&r->exec, r->graph, 0), err);
    if (rc == 0) /* now, not within the first replay */
        rc = CU(cudaGraphUpload(r->exec, cu->stream), err);
    if (rc != 0) {
        CU_LATE(cudaStreamSynchronize(cu->stream), cu);
        replay_free(r, cu);
        return rc;
    }
    step->replay = r;
    return 0;
}

int cuda_step_run(struct nn_backend *be, struct nn_step *step, struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    const struct replay *r = step->replay;
    int rc = cuda_late(cu, err), i;

    for (i = 0; rc == 0 && i < step->n_call; i++)
        if (step->call[i].op == NN_OP_BATCH)
            rc = cuda_input_begin(cu, &step->call[i], err);
    return rc == 0 ? CU(cudaGraphLaunch(r->exec, cu->stream), err) : rc;
}

void cuda_step_release(struct nn_backend *be, struct nn_step *step)
{
    struct cuda *cu = (struct cuda *)be;

    CU_LATE(cudaStreamSynchronize(cu->stream), cu);
    replay_free(step->replay, cu);
    step->replay = NULL;
}
