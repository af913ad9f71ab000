#include "pipeline/predict.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "nn/backend.h"
#include "nn/device_trace.h"
#include "pipeline/device_settings.h"

/* A link's number is half of the one that NVIDIA states for both ways. */
const struct pl_card pl_cards[PL_CARDS] = {
    {"T4", 40, 8100, 320, 16, "PCIe 3.0 x16", "T4, 16 GB",
     "NVIDIA T4 Tensor Core GPU, data sheet, 2019"},
    {"A100", 108, 19500, 2039, 32, "PCIe 4.0 x16", "A100 SXM, 80 GB",
     "NVIDIA A100 Tensor Core GPU, data sheet, 2021"},
    {"H100", 132, 67000, 3350, 64, "PCIe 5.0 x16", "H100 SXM, 80 GB",
     "NVIDIA H100 Tensor Core GPU, data sheet, 2023"},
    {"H200", 132, 67000, 4800, 64, "PCIe 5.0 x16", "H200 SXM, 141 GB",
     "NVIDIA H200 Tensor Core GPU, data sheet, 2024"},
};

const double pl_launch_us = 6.4, pl_graph_us = 15.0, pl_graph_node_us = 0.58;
const char pl_launch_source[] =
    "chains of 8 to 117 empty kernels on an RTX 5070 Ti laptop, CUDA 13.3, "
    "WSL2: github.com/ahrefs/ocannl/issues/488";

/* Whether text has word with neither letter nor digit beside it. */
static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    const char *p = text;

    while ((p = strstr(p, word)) != NULL) {
        bool begins = p == text || !isalnum((unsigned char)p[-1]);

        if (begins && !isalnum((unsigned char)p[len]))
            return true;
        p += len;
    }
    return false;
}

const struct pl_card *pl_card_find(const char *device)
{
    size_t i;

    /* Other cards of the same name are slower, and so is a part of one. */
    if (pl_device_is_simulated(device) || has_word(device, "NVL") ||
        has_word(device, "MIG") ||
        (has_word(device, "H100") && has_word(device, "PCIe")))
        return NULL;
    for (i = 0; i < PL_CARDS; i++)
        if (has_word(device, pl_cards[i].name))
            return &pl_cards[i];
    return NULL;
}

/* float32 multiply-adds that a multiprocessor begins in a cycle; 0: unknown. */
static int lanes(int major, int minor)
{
    switch (10 * major + minor) {
    case 75:
    case 80:
        return 64;
    case 86:
    case 87:
    case 89:
    case 90:
    case 100:
    case 103:
    case 120:
        return 128;
    default:
        return 0;
    }
}

double pl_peak_gflops(const struct nn_device_info *device)
{
    int n = lanes(device->major, device->minor);

    if (device->simulated || n == 0 || device->sms <= 0 ||
        device->clock_khz <= 0)
        return NAN;
    return 1e-6 * 2 * n * (double)device->sms * device->clock_khz;
}

/* ---- work ---- */

static double numel(const struct nn_tensor *t)
{
    return (double)nn_tensor_numel(t);
}

static double bytes_of(const struct nn_tensor *t)
{
    return numel(t) * (double)nn_dtype_size(t->dtype);
}

/* Numbers of a tensor (n, ...) past its first dimension. */
static double row(const struct nn_tensor *t)
{
    return t->shape.ndim > 0 && t->shape.dim[0] > 0
               ? numel(t) / (double)t->shape.dim[0]
               : 0;
}

/* Two for each multiply-add of a product; 0 of all other operators. */
static double flops_of(const struct nn_call *c)
{
    switch (c->op) {
    case NN_OP_LINEAR: /* (B, out), a row of (out, in) each */
        return 2 * numel(c->out[0]) * row(c->in[1]);
    case NN_OP_LINEAR_GRAD_INPUT: /* dy (B, out), w (out, in) */
        return 2 * numel(c->in[0]) * row(c->in[1]);
    case NN_OP_LINEAR_GRAD_WEIGHT: /* dy (B, out), dw (out, in) */
        return 2 * numel(c->in[0]) * row(c->out[0]);
    case NN_OP_MATMUL: /* (m, n), k: what a has besides m */
        return 2 * numel(c->in[0]) *
               (double)c->out[0]->shape.dim[c->out[0]->shape.ndim - 1];
    case NN_OP_CONV2D: /* (B, O, H', W'), a row of (O, C, kh, kw) each */
        return 2 * numel(c->out[0]) * row(c->in[1]);
    case NN_OP_CONV2D_GRAD_INPUT:
        return 2 * numel(c->in[0]) * row(c->in[1]);
    case NN_OP_CONV2D_GRAD_WEIGHT:
        return 2 * numel(c->in[0]) * row(c->out[0]);
    default:
        return 0;
    }
}

/* Operands that change in place stand among the inputs only. */
static double written_inputs(const struct nn_call *c)
{
    double sum = 0;
    int i;

    if (c->op == NN_OP_SGD || c->op == NN_OP_ADAM)
        for (i = 0; i < c->n_in; i++)
            sum += i == 1 ? 0 : bytes_of(c->in[i]); /* 1: the gradients */
    else if (c->op == NN_OP_CLIP_GRAD_NORM)
        for (i = 0; i < c->attrs.clip.n; i++)
            sum += 3 * bytes_of(c->attrs.clip.grads[i]);
    else if (c->op == NN_OP_ADD_INTO)
        sum = bytes_of(c->out[0]); /* read as well */
    return sum;
}

static struct pl_work work_of_batch(const struct nn_call *c, int data)
{
    double bytes = 0;
    int i;

    for (i = 0; i < c->n_out; i++)
        bytes += bytes_of(c->out[i]);
    if (data == NN_DATA_DEVICE) /* one kernel reads the resident set */
        return (struct pl_work){.bytes = 2 * bytes, .launches = 1};
    return (struct pl_work){.link_bytes = bytes, .launches = c->n_out};
}

struct pl_work pl_work_of(const struct nn_call *call, int data)
{
    struct pl_work w = {.launches = 1};
    int i;

    if (call->op == NN_OP_BATCH)
        return work_of_batch(call, data);
    if (call->op == NN_OP_RESHAPE ||
        (call->op == NN_OP_CLEAR_GRAD && call->attrs.set_to_none))
        return (struct pl_work){0}; /* nothing runs */
    w.flops = flops_of(call);
    for (i = 0; i < call->n_in; i++)
        w.bytes += bytes_of(call->in[i]);
    for (i = 0; i < call->n_out; i++)
        w.bytes += bytes_of(call->out[i]);
    w.bytes += written_inputs(call);
    return w;
}

/* ---- predictions ---- */

const char *pl_bound_name(enum pl_bound b)
{
    static const char *const name[PL_BOUNDS] = {"launch", "memory", "compute",
                                                "link"};

    return name[b];
}

/* What the work itself takes, without its start. */
static struct pl_predicted roofline(const struct pl_card *g,
                                    const struct pl_work *w)
{
    /* flops / (Gflop/s) is in ns, as bytes / (GB/s) is. */
    const double us[PL_BOUNDS] = {0, 1e-3 * w->bytes / g->memory_gb_s,
                                  1e-3 * w->flops / g->gflops,
                                  1e-3 * w->link_bytes / g->link_gb_s};
    struct pl_predicted p = {0, PL_BOUND_LAUNCH};
    int k;

    for (k = PL_BOUND_MEMORY; k < PL_BOUNDS; k++)
        if (us[k] > p.us)
            p = (struct pl_predicted){us[k], (enum pl_bound)k};
    return p;
}

struct pl_predicted pl_predict_op(const struct pl_card *gpu,
                                  const struct pl_work *work, bool recorded)
{
    struct pl_predicted p = roofline(gpu, work);
    bool node = recorded && work->link_bytes == 0;
    double start = work->launches * (node ? pl_graph_node_us : pl_launch_us);

    if (start >= p.us)
        p.by = PL_BOUND_LAUNCH;
    /* A node begins when the one before it is done; the host, meanwhile,
     * starts the next kernel while the device works. */
    p.us = node ? start + p.us : fmax(start, p.us);
    return p;
}

struct pl_predicted pl_predict_step(const struct pl_card *gpu,
                                    const struct pl_step_work *step,
                                    bool recorded)
{
    double by[PL_BOUNDS] = {0}, start = recorded ? pl_graph_us : 0;
    struct pl_predicted sum = {start, PL_BOUND_LAUNCH};
    size_t i;
    int k;

    by[PL_BOUND_LAUNCH] = start;
    for (i = 0; i < step->n; i++) {
        struct pl_predicted p = pl_predict_op(gpu, &step->op[i].work, recorded);

        sum.us += p.us;
        by[p.by] += p.us;
    }
    for (k = 0; k < PL_BOUNDS; k++)
        if (by[k] > by[sum.by])
            sum.by = (enum pl_bound)k;
    return sum;
}
