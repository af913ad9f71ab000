#include "cuda/cuda_graph.h"

#include "cuda/cuda_backend.h"
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_fuse.h"
#include "cuda/cuda_input.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_nvtx.h"
#include "cuda/cuda_trace.h"
#include "cuda/cuda_upload.h"
#include "cuda/k_move.h"
#include "nn/base/mem.h"
#include "nn/base/prof.h"
#include "nn/traced.h"

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

static int capture_call(struct cuda *cu, const struct nn_step *step, int i,
                        struct err *err)
{
    struct cuda_loss_pair pair;

    cuda_trace_capture(cu, &step->call[i]);
    if (cu->config.fuse && cuda_fuse_drops(step, i))
        return 0;
    if (cu->config.fuse && cuda_fuse_loss(&pair, step, i))
        return cuda_run_loss_pair(cu, &pair, err);
    return cuda_run(&cu->base, &step->call[i], err);
}

/* The numbers that the host is to read go where it will look for them. */
static int capture_keep(struct cuda *cu, const struct nn_step_keep *keep,
                        struct err *err)
{
    return keep->ring[0]
               ? CU(k_keep(cuda_data(keep->ring[0]), cuda_data(keep->from[0]),
                           cuda_data(keep->ring[1]), cuda_data(keep->from[1]),
                           cu->scalars, cu->stream),
                    err)
               : 0;
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
        rc = capture_call(cu, step, i, err);
    cuda_trace_capture(cu, NULL);
    if (rc == 0)
        rc = capture_keep(cu, &step->keep, err);
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

/* A part of a replayed step, under a span of its own. */
static int64_t part_begin(struct cuda *cu, const char *phase, const char *name)
{
    struct prof *p = cu->base.prof;

    if (cu->nvtx) {
        cuda_nvtx_phase(cu, phase);
        cuda_nvtx_begin_named(cu, name);
    }
    nn_traced_phase(&cu->base, phase);
    if (!p || !prof_active(p))
        return 0;
    cu->base.at_span = prof_id(p);
    cuda_trace_push(cu);
    return prof_now(p);
}

static void part_end(struct cuda *cu, const char *name,
                     const struct nn_call *call, int64_t begin)
{
    struct prof *p = cu->base.prof;

    if (cu->nvtx)
        cuda_nvtx_end(cu);
    if (cu->base.at_span == 0)
        return;
    cuda_trace_pop(cu);
    prof_add_as(p, PROF_OP, name, call, begin, prof_now(p), cu->base.at_span);
    cu->base.at_span = 0;
}

static int begin_input(struct cuda *cu, const struct nn_call *batch,
                       struct err *err)
{
    const char *name = nn_op_name(batch->op);
    int64_t begin = part_begin(cu, nn_phase_name(NN_PHASE_H2D), name);
    int rc = cuda_input_begin(cu, batch, err);

    part_end(cu, name, batch, begin);
    return rc;
}

static int launch(struct cuda *cu, const struct replay *r, struct err *err)
{
    static const char name[] = "graph_launch";
    int64_t begin = part_begin(cu, nn_traced_replay, name);
    int rc = CU(cudaGraphLaunch(r->exec, cu->stream), err);

    part_end(cu, name, NULL, begin);
    return rc;
}

int cuda_step_run(struct nn_backend *be, struct nn_step *step, struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    int rc = cuda_late(cu, err), i;

    for (i = 0; rc == 0 && i < step->n_call; i++)
        if (step->call[i].op == NN_OP_BATCH)
            rc = begin_input(cu, &step->call[i], err);
    if (rc == 0) /* unless a batch has taken them along */
        rc = cuda_upload_scalars(cu, err);
    return rc == 0 ? launch(cu, step->replay, err) : rc;
}

void cuda_step_release(struct nn_backend *be, struct nn_step *step)
{
    struct cuda *cu = (struct cuda *)be;

    CU_LATE(cudaStreamSynchronize(cu->stream), cu);
    replay_free(step->replay, cu);
    step->replay = NULL;
}
