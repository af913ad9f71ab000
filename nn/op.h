/* The operators: one table row each, and the call that puts one to work.
 *
 * ARITHMETIC. For float32 each row below is defined to the last bit, so that
 * every backend, vector width and thread count agrees (ARCHITECTURE.md, "One
 * arithmetic"). Words used: a *chain* is a sequence of dependent operations in
 * index order; *fma* rounds once; *lanes16* is a sum in 16 lanes, element i
 * added to lane i mod 16 in order from +0, the lanes then halved: lane j +=
 * lane j + w for w = 8, 4, 2, 1. Constants made of attributes (1 - eps,
 * eps / C, w - 1, 1 - b1, ...) are computed in double and rounded to the type
 * once. exp, log, tanh, sigmoid, erf are nn/cpu's own fma sequences
 * (nn/cpu/cpu_vmath.h). float64 is for checks: libm, same formulas, bits not
 * promised. */
#ifndef NN_OP_H
#define NN_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/tensor.h"

struct nn_data;
struct nn_tape;

enum nn_phase {
    NN_PHASE_NONE,
    NN_PHASE_H2D,
    NN_PHASE_FORWARD,
    NN_PHASE_CLEAR_GRAD,
    NN_PHASE_BACKWARD,
    NN_PHASE_OPTIMIZER,
    NN_PHASE_COUNT
};
const char *nn_phase_name(enum nn_phase p); /* "h2d", "clear grad", ... */

enum nn_role {
    NN_ROLE_NONE,
    NN_ROLE_FORWARD,
    NN_ROLE_GRAD_INPUT,
    NN_ROLE_GRAD_WEIGHT,
    NN_ROLE_GRAD_BIAS,
    NN_ROLE_UPDATE
};
const char *nn_role_name(enum nn_role r);

enum nn_act { NN_ACT_NONE, NN_ACT_RELU, NN_ACT_TANH, NN_ACT_SIGMOID };

/* Operands are in[..] -> out[..]; (..) are shapes; B samples. Rows ending in
 * _GRAD take the gradient of their forward row's output first.
 *
 * LINEAR        x (B,in), w (out,in) NN_WEIGHT, [b (out)] -> y (B,out)
 *               y = act(chain of fma over k from b, or from +0, then + 0.0f)
 * LINEAR_GRAD_INPUT  dy (B,out), w -> dx (B,in): chain of fma over out
 * LINEAR_GRAD_WEIGHT dy, x -> dw NN_WEIGHT: chain of fma over samples
 * LINEAR_GRAD_BIAS   dy -> db (out): chain of adds over samples
 *               each of the three from +0, ending in + 0.0f
 * MATMUL        a (m,k), b (k,n) -> (m,n), attrs.matmul.ta/tb: a is (k,m),
 *               b is (n,k) in memory. Chain of fma over k from +0, + 0.0f
 * RELU          x > 0 ? x : 0, NaN stays NaN
 * RELU_GRAD     dy, y -> y <= 0 ? 0 : dy
 * TANH_GRAD     dy, y -> dy * fma(-y, y, 1)
 * SIGMOID_GRAD  dy, y -> dy * (y * (1 - y))
 * GELU          x -> (x * 0.5) * (1 + erf(x * sqrt(1/2)))
 * GELU_GRAD     dy, x -> dy * fma(x, pdf, cdf), cdf = 0.5 * (1 + erf(x *
 *               sqrt(1/2))), pdf = exp(-0.5 * x * x) * (1 / sqrt(2 pi))
 * DROPOUT       x -> keep ? x * (1 / (1 - p)) : 0; also its own gradient on
 *               dy. Element e of sample s is kept when the uniform of Philox
 *               4x32-10 at key (seed), counter (layer, step, s, e / 4), word
 *               e mod 4 is >= p (rng_philox in nn/base/rng.h). p and 1/(1-p)
 *               are rounded to float32 first; step comes from nn_scalars
 * SOFTMAX       rows over the last dimension: e = exp(x - max), s = lanes16
 *               of e, y = e / s
 * SOFTMAX_GRAD  dy, y -> y * (dy - d), d = lanes16 of dy * y (rounded product)
 * LOG_SOFTMAX   (x - max) - log(s)
 * LOG_SOFTMAX_GRAD dy, y -> dy - exp(y) * t, t = lanes16 of dy
 * CROSS_ENTROPY logits (B,C), target (B) i32 -> loss () or, per_sample, (B)
 *               l = log(s) + (max - x[t]); with label smoothing eps:
 *               (1 - eps) * l + (eps / C) * (lanes16 over c of log(s) +
 *               (max - x[c])). per_sample gives l; else the chain over
 *               samples of l * scale (product rounded), from +0.
 *               A target outside [0, C) is ERR_CORRUPT naming row and value
 * CROSS_ENTROPY_GRAD g (), logits, target -> (B,C): (e / s - q) * (g * scale),
 *               q = 1 at the target, or smoothed: eps / C + (1 - eps) there
 * BCE_WITH_LOGITS z, y (same shape) -> loss: l = max(z,0) - z * y +
 *               log1p(exp(-|z|)), evaluated left to right; with pos_weight w:
 *               l = (1 - y) * z + (1 + (w - 1) * y) * (log1p(exp(-|z|)) +
 *               max(-z, 0)). per_sample or chain of l * scale as above
 * BCE_WITH_LOGITS_GRAD g, z, y -> (sigmoid(z) - y) * (g * scale); with w:
 *               ((1 - y) - (1 + (w - 1) * y) * sigmoid(-z)) * (g * scale)
 * MSE           x, y (same shape) -> d = x - y, chain of (d * d) * scale;
 *               per_sample: (B), lanes16 of d * d over the row, times 1 / row
 * MSE_GRAD      g, x, y -> ((x - y) * 2) * (g * scale)
 * ADD SUB MUL DIV  numpy broadcasting, at most NN_MAX_DIMS dimensions
 * MAXIMUM       b < a ? a : b, NaN if either is; broadcasting as above
 * MAXIMUM_SHARE a, b -> a's part of the gradient: 1 where a > b or either is
 *               NaN, 0.5 where they are equal (as PyTorch), 0 where a < b
 * NEG EXP LOG SQRT ABS  elementwise
 * LOG1P         log(1 + x): -inf at -1, NaN below
 * LOG1P_GRAD    dy, x -> dy / (1 + x)
 * SQRT_GRAD     dy, y -> dy / (2 * y)
 * ABS_GRAD      dy, x -> x > 0 ? dy : x < 0 ? -dy : dy * x
 * POW           x ** attrs.scalar; 2 is x * x, 1 is x, 0 is 1, 3 is x * x * x,
 *               0.5 is sqrt; other exponents exp(p * log(x))
 * SCALE         x * attrs.scalar rounded to the type first
 * SUM MEAN      over attrs.reduce.axis (the dimension disappears), or over all
 *               when axis is NN_AXIS_ALL. Last dimension and all: lanes16;
 *               others: chain in index order from +0. MEAN divides the sum
 * MAX           over attrs.reduce.axis, or over all: the first largest; NaN
 *               counts as largest
 * MAX_GRAD      dy, x -> dy at the first largest, 0 elsewhere. (PyTorch: the
 *               same over an axis; over all it shares among equals)
 * SUM_TO        sum to the broadcast source shape out has: chains in row-major
 *               order of the summed index
 * EXPAND        broadcast to out's shape
 * CONV2D        x (B,C,H,W), w (O,C,kh,kw) NN_WEIGHT, [b (O)] -> y (B,O,H',W'),
 *               H' = (H + 2 padding - kh) / stride + 1, W' likewise: chain of
 *               fma over (c, kh, kw) from b, or from +0, then + 0.0f; padding
 *               counts as zeros
 * CONV2D_GRAD_INPUT dy, w -> dx: for each (kh, kw) in order that y was reached
 *               by, the chain of fma over out from +0, + 0.0f; these added in
 *               a chain from +0
 * CONV2D_GRAD_WEIGHT dy, x -> dw NN_WEIGHT: chain of fma over samples, then
 *               positions (H', W') in order, from +0, + 0.0f
 * CONV2D_GRAD_BIAS dy -> db (O): lanes16 over the positions of a sample, then
 *               chain of adds over samples
 * MAX_POOL2D    x (B,C,H,W) -> (B,C,H',W'), sizes as above with a square
 *               kernel: the first largest of each window, NaN counts as
 *               largest; padding is never chosen
 * MAX_POOL2D_GRAD dy, x -> dx: chain of adds over the windows in order
 * AVG_POOL2D    chain of adds over the window from +0, divided by kernel^2;
 *               padding counts as zeros
 * AVG_POOL2D_GRAD dy -> dx: chain of adds of dy / kernel^2 over the windows
 * BATCH_STATS   x (B,C) or (B,C,...) -> mean (C), var (C), made by hand. A sum
 *               over a channel: lanes16 over the positions of a sample, then
 *               chain over samples; both divided by the count n, var of (x -
 *               mean)^2. n < 2 is ERR_SHAPE, as in PyTorch
 * BATCH_NORM    x, w (C), b (C), mean (C), var (C) -> xhat * w + b, each
 *               product rounded; xhat = (x - mean) * (1 / sqrt(var + eps))
 * BATCH_NORM_GRAD_INPUT dy, x, w, mean, var -> (w * r) * dy, r = 1 / sqrt(var +
 *               eps); where mean and var were x's own (train): (w * r) * ((dy -
 *               s / n) - xhat * (t / n)), s and t the sums of dy and dy * xhat
 * BATCH_NORM_GRAD_WEIGHT dy, x, mean, var -> sum of dy * xhat
 * BATCH_NORM_GRAD_BIAS dy -> sum of dy
 * BATCH_NORM_UPDATE mean, var -> running mean, running var, count of batches
 *               (i64): (1 - momentum) * old + momentum * new, the products
 *               rounded, new var times n / (n - 1); count + 1
 * LAYER_NORM    x (..., D), w (D), b (D), D one or more dimensions: mean and
 *               var of a row by lanes16, xhat * w + b as above
 * LAYER_NORM_GRAD_INPUT dy, x, w -> r * ((g - s / D) - xhat * (t / D)), g = dy
 *               * w, s and t the lanes16 of g and g * xhat
 * LAYER_NORM_GRAD_WEIGHT dy, x -> chain over rows of dy * xhat
 * FILL          -> out = attrs.scalar
 * COPY          x -> out, same numel; where the layouts differ, same shape
 * RESHAPE       a view (nn_tape_reshape), never run
 * TRANSPOSE     axes attrs.transpose.a and b change places
 * SLICE         [start, stop) of attrs.slice.axis; any type
 * SLICE_GRAD    dy -> dx: 0 outside of the slice
 * CAT           2 to 4 tensors one after the other along attrs.cat.axis
 * CAST          to attrs.cast.dtype: float32 or float64 from floats and
 *               integers, rounded once
 * EMBEDDING     table (V,D), index (...) i32 -> (..., D). An index outside
 *               [0, V) is ERR_CORRUPT naming place and value
 * EMBEDDING_GRAD dy, index -> (V,D): chain of adds over the samples in order,
 *               from +0
 * ADD_INTO      x -> out += x: one rounded add for each element
 * CLEAR_GRAD    -> out (a gradient block): zeroed unless attrs.set_to_none
 * BATCH         -> x (B, sample...) f32 or f64 and y (B) gathered from
 *               attrs.batch; u8 is divided by data->divide, rounded once
 * CLIP_GRAD_NORM -> out[0] norm (1), attrs.clip: n gradients scaled in place.
 *               A gradient's sum of squares: for each row (first dimension;
 *               a vector's rows are its elements) a chain of fma(g, g, s) from
 *               +0, the rows added in a pairwise tree (neighbours, bottom up,
 *               odd one carried); gradients chained in order; norm = sqrt;
 *               g *= min(1, max_norm / (norm + 1e-6f)), left alone when 1
 * SGD           p, g, [m] -> flag (1) i32: number of non-finite p after it.
 *               d = wd != 0 ? fma(wd, p, g) : g; with momentum m = snap(
 *               fma(mu, m, d)), d = nesterov ? fma(mu, m, d) : m;
 *               p = fma(-lr, d, p)
 * ADAM          p, g, m, v -> flag: wd: decoupled ? p = p * decay : g = fma(wd,
 *               p, g); m = snap(fma(b1, m, (1 - b1) * g)); v = snap(fma(b2, v,
 *               (1 - b2) * (g * g))); p = fma(-adam_step, m / fma(sqrt(v),
 *               adam_rsqrt_bias2, eps), p)
 *               snap(x) = |x| < 2^-100 ? 0 : x, for v 2^-120
 * ARGMAX        x (B,C) -> (B) i32, the first largest; NaN counts as largest
 * CUSTOM        a node of the tape (nn/custom.h), made of other rows; never run
 */
#define NN_OPS(X) \
    X(LINEAR, linear) \
    X(LINEAR_GRAD_INPUT, linear_grad_input) \
    X(LINEAR_GRAD_WEIGHT, linear_grad_weight) \
    X(LINEAR_GRAD_BIAS, linear_grad_bias) \
    X(MATMUL, matmul) \
    X(RELU, relu) \
    X(RELU_GRAD, relu_grad) \
    X(TANH, tanh) \
    X(TANH_GRAD, tanh_grad) \
    X(SIGMOID, sigmoid) \
    X(SIGMOID_GRAD, sigmoid_grad) \
    X(GELU, gelu) \
    X(GELU_GRAD, gelu_grad) \
    X(DROPOUT, dropout) \
    X(SOFTMAX, softmax) \
    X(SOFTMAX_GRAD, softmax_grad) \
    X(LOG_SOFTMAX, log_softmax) \
    X(LOG_SOFTMAX_GRAD, log_softmax_grad) \
    X(CROSS_ENTROPY, cross_entropy) \
    X(CROSS_ENTROPY_GRAD, cross_entropy_grad) \
    X(BCE_WITH_LOGITS, bce_with_logits) \
    X(BCE_WITH_LOGITS_GRAD, bce_with_logits_grad) \
    X(MSE, mse) \
    X(MSE_GRAD, mse_grad) \
    X(ADD, add) \
    X(SUB, sub) \
    X(MUL, mul) \
    X(DIV, div) \
    X(MAXIMUM, maximum) \
    X(MAXIMUM_SHARE, maximum_share) \
    X(NEG, neg) \
    X(EXP, exp) \
    X(LOG, log) \
    X(LOG1P, log1p) \
    X(LOG1P_GRAD, log1p_grad) \
    X(SQRT, sqrt) \
    X(SQRT_GRAD, sqrt_grad) \
    X(ABS, abs) \
    X(ABS_GRAD, abs_grad) \
    X(POW, pow) \
    X(SCALE, scale) \
    X(SUM, sum) \
    X(MEAN, mean) \
    X(MAX, max) \
    X(MAX_GRAD, max_grad) \
    X(SUM_TO, sum_to) \
    X(EXPAND, expand) \
    X(CONV2D, conv2d) \
    X(CONV2D_GRAD_INPUT, conv2d_grad_input) \
    X(CONV2D_GRAD_WEIGHT, conv2d_grad_weight) \
    X(CONV2D_GRAD_BIAS, conv2d_grad_bias) \
    X(MAX_POOL2D, max_pool2d) \
    X(MAX_POOL2D_GRAD, max_pool2d_grad) \
    X(AVG_POOL2D, avg_pool2d) \
    X(AVG_POOL2D_GRAD, avg_pool2d_grad) \
    X(BATCH_STATS, batch_stats) \
    X(BATCH_NORM, batch_norm) \
    X(BATCH_NORM_GRAD_INPUT, batch_norm_grad_input) \
    X(BATCH_NORM_GRAD_WEIGHT, batch_norm_grad_weight) \
    X(BATCH_NORM_GRAD_BIAS, batch_norm_grad_bias) \
    X(BATCH_NORM_UPDATE, batch_norm_update) \
    X(LAYER_NORM, layer_norm) \
    X(LAYER_NORM_GRAD_INPUT, layer_norm_grad_input) \
    X(LAYER_NORM_GRAD_WEIGHT, layer_norm_grad_weight) \
    X(FILL, fill) \
    X(COPY, copy) \
    X(RESHAPE, reshape) \
    X(TRANSPOSE, transpose) \
    X(SLICE, slice) \
    X(SLICE_GRAD, slice_grad) \
    X(CAT, cat) \
    X(CAST, cast) \
    X(EMBEDDING, embedding) \
    X(EMBEDDING_GRAD, embedding_grad) \
    X(ADD_INTO, add_into) \
    X(CLEAR_GRAD, clear_grad) \
    X(BATCH, batch) \
    X(CLIP_GRAD_NORM, clip_grad_norm) \
    X(SGD, sgd) \
    X(ADAM, adam) \
    X(ARGMAX, argmax) \
    X(CUSTOM, custom)

enum nn_op_id {
#define NN_OP_ENUM(id, name) NN_OP_##id,
    NN_OPS(NN_OP_ENUM)
#undef NN_OP_ENUM
        NN_OP_COUNT
};

enum { NN_AXIS_ALL = -1 };

/* Where a training batch comes from: rows order[first .. first + B) of data.
 * The owner moves first between steps; the call only points here. */
struct nn_batch_source {
    const struct nn_data *data;
    const int64_t *order; /* NULL: 0, 1, 2, ... */
    int64_t first;
};

union nn_attrs {
    struct {
        enum nn_act act;
    } linear;
    struct {
        bool ta, tb;
    } matmul;
    struct {
        double p;
        uint64_t seed;
        uint32_t layer;
        int64_t first; /* position of row 0 within the step's batch */
    } dropout;
    struct {
        bool per_sample;
        double scale;           /* 1 / samples of the step; rounded to type */
        double label_smoothing; /* cross_entropy */
        double pos_weight;      /* bce_with_logits; 1: none */
    } loss;
    struct {
        int axis;
    } reduce;
    struct {
        int64_t stride, padding;
    } conv;
    struct {
        int64_t kernel, stride, padding;
    } pool;
    struct {
        double eps;
        bool train; /* batch_norm: mean and var are those of x */
    } norm;
    struct {
        double momentum;
        int64_t n; /* numbers a channel */
    } running;
    struct {
        int a, b;
    } transpose;
    struct {
        int axis;
        int64_t start, stop;
    } slice;
    struct {
        int axis;
    } cat;
    struct {
        enum nn_dtype dtype;
    } cast;
    struct {
        double max_norm;
        struct nn_tensor *const *grads;
        int n;
    } clip;
    struct {
        double momentum, weight_decay;
        bool nesterov;
    } sgd;
    struct {
        double beta1, beta2, eps, weight_decay;
        bool decoupled; /* AdamW */
    } adam;
    const struct nn_batch_source *batch;
    double scalar;
    bool set_to_none;
};

enum { NN_MAX_IN = 5, NN_MAX_OUT = 3 };

/* One operator with its operands. Tensors are borrowed. */
struct nn_call {
    enum nn_op_id op;
    int n_in, n_out;
    struct nn_tensor *in[NN_MAX_IN];
    struct nn_tensor *out[NN_MAX_OUT];
    union nn_attrs attrs;
    const char *layer; /* "0", "fc1"; "" outside a layer */
    enum nn_role role;
    enum nn_phase phase;
};

/* Numbers that change from step to step while the calls stay the same. */
struct nn_scalars {
    float lr;
    float decay;            /* AdamW: 1 - lr * weight_decay */
    float adam_step;        /* lr / (1 - beta1^t) */
    float adam_rsqrt_bias2; /* 1 / sqrt(1 - beta2^t) */
    uint64_t step;          /* global step, from 0: key of dropout */
    int32_t result;         /* place for nn_step_keep; negative: none */
};

/* Bits of nn_op.saves: input i is 1 << i. */
enum { NN_SAVES_OUT = 1 << 8 };

struct nn_op {
    enum nn_op_id id;
    int min_in, max_in;
    unsigned saves; /* what backward reads: must not change in between */
    /* Checks the operands of call (in, attrs) and gives the shape and type of
     * out[0]; ERR_SHAPE with both shapes in words. NULL: made by hand. */
    int (*shape)(const struct nn_call *call, struct nn_shape *shape,
                 enum nn_dtype *dtype, struct err *err);
    /* Emits the calls that turn the output's gradient into the inputs'. NULL:
     * not differentiable. See nn/tape.h. */
    int (*backward)(struct nn_tape *tape, const struct nn_node *node,
                    struct nn_tensor *grad_out, struct err *err);
    /* Forward and backward in words, for derivations: "y = a * b; da = g * b;
     * db = g * a". Operands in order of their first place in y, g the gradient
     * of y; read by pipeline/prog_rule.h. NULL: not differentiable. */
    const char *rule;
};

const struct nn_op *nn_op_get(enum nn_op_id id);
/* Whether backward reads input i of the call: what its row saves, but a factor
 * of a product only if the other one wants its gradient. */
bool nn_op_reads_input(const struct nn_call *call, int i);
const char *nn_op_name(enum nn_op_id id);             /* "linear" */
bool nn_op_find(const char *name, enum nn_op_id *id); /* false: no such one */

#endif
