/* What a training step would take on a GPU that nobody has measured: a
 * roofline. An operator takes the longest of its arithmetic at the device's
 * peak, its bytes at the memory's bandwidth, its copy at the link's, and what
 * it costs to have it started (Williams, Waterman, Patterson, "Roofline", CACM
 * 52(4), 2009). */
#ifndef PIPELINE_PREDICT_H
#define PIPELINE_PREDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/op.h"
#include "pipeline/stage.h"

/* ---- devices ---- */

struct pl_card {
    const char *name;    /* "H100" */
    int sms;             /* multiprocessors */
    double gflops;       /* float32 outside tensor cores, at its peak */
    double memory_gb_s;  /* 10^9 bytes a second */
    double link_gb_s;    /* one way */
    const char *link;    /* "PCIe 3.0 x16" */
    const char *variant; /* the card that the numbers are of */
    const char *source;  /* where they are published */
};
enum { PL_CARDS = 4 };
extern const struct pl_card pl_cards[PL_CARDS];

/* The card that a device's name or description names; NULL: none of them, or a
 * simulated one. */
const struct pl_card *pl_card_find(const char *device);

/* A device's own float32 peak in 10^9 operations a second: multiprocessors
 * times lanes of each (CUDA C++ Programming Guide, "Arithmetic Instructions")
 * times 2 times its highest clock. NaN: it does not say, or is simulated. */
struct nn_device_info;
double pl_peak_gflops(const struct nn_device_info *device);

/* What it costs to have work started, in us, of a chain of small kernels. */
extern const double pl_launch_us;                  /* a kernel, by the host */
extern const double pl_graph_us, pl_graph_node_us; /* a replay, and its nodes */
extern const char pl_launch_source[];

/* ---- the work of a step ---- */

/* What an operator cannot do without. */
struct pl_work {
    double flops; /* of products (linear, matmul, conv2d): 2 a multiply-add */
    double bytes; /* each operand read or written once */
    double link_bytes; /* from the host to the device */
    int launches;      /* kernels or copies, at least */
};

/* data: of enum nn_data_path, where batches come from. */
struct pl_work pl_work_of(const struct nn_call *call, int data);

struct pl_step_op {
    char layer[64]; /* "" outside a layer; as in ops.csv, as are these: */
    enum nn_op_id op;
    enum nn_role role;
    enum nn_phase phase;
    struct pl_work work;
};
struct pl_step_work {
    struct pl_step_op *op; /* in the order of the step */
    size_t n;
    double flops, bytes, link_bytes; /* of all of them */
    int launches;
};

/* The operators of one step of a profile stage; the step is taken on the CPU
 * for them, and is the same on a GPU. End with pl_step_work_free, after a
 * failure too. */
int pl_step_work_read(struct pl_step_work *out, struct pl_stage_ctx *ctx,
                      const struct pl_stage *profile, struct err *err);
void pl_step_work_free(struct pl_step_work *w);

/* ---- predictions ---- */

enum pl_bound {
    PL_BOUND_LAUNCH,
    PL_BOUND_MEMORY,
    PL_BOUND_COMPUTE,
    PL_BOUND_LINK,
    PL_BOUNDS
};
const char *pl_bound_name(enum pl_bound b); /* "launch", "memory", ... */

struct pl_predicted {
    double us;
    enum pl_bound by; /* what the most of it is */
};
/* recorded: as a node of a graph that is replayed; a copy from the host is
 * none, and waits as it does in an eager step. */
struct pl_predicted pl_predict_op(const struct pl_card *gpu,
                                  const struct pl_work *work, bool recorded);
/* Of a whole step: the sum of its operators, and what a replay costs by
 * itself. */
struct pl_predicted pl_predict_step(const struct pl_card *gpu,
                                    const struct pl_step_work *step,
                                    bool recorded);

/* A step that is predicted, as the report calls it. */
struct pl_predict_cell {
    const char *label; /* "batch_size=32" */
    const struct pl_step_work *work;
};
/* Writes predicted.md and predicted.csv: every cell on every GPU, and the
 * constants with their sources. Both say that nothing was measured. */
int pl_predict_report(struct pl_stage_ctx *ctx,
                      const struct pl_predict_cell *cell, size_t n,
                      struct err *err);

#endif
