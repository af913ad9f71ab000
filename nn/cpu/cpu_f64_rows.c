/* Rows, sums and the product in float64, for checks. */
#include "nn/cpu/cpu_f64.h"

#include <math.h>

static double row_max(const double *x, int64_t n)
{
    double max = x[0];

    for (int64_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

static double exp_sum(const double *x, double max, int64_t n)
{
    double s = 0.0;

    for (int64_t i = 0; i < n; i++)
        s += exp(x[i] - max);
    return s;
}

static void softmax(void *y, const void *a, const void *b, int64_t rows,
                    int64_t cols)
{
    const double *x = a;
    double *to = y;

    (void)b;
    for (int64_t r = 0; r < rows; r++, x += cols, to += cols) {
        double max = row_max(x, cols), s = exp_sum(x, max, cols);

        for (int64_t i = 0; i < cols; i++)
            to[i] = exp(x[i] - max) / s;
    }
}

static void log_softmax(void *y, const void *a, const void *b, int64_t rows,
                        int64_t cols)
{
    const double *x = a;
    double *to = y;

    (void)b;
    for (int64_t r = 0; r < rows; r++, x += cols, to += cols) {
        double max = row_max(x, cols), s = exp_sum(x, max, cols);

        for (int64_t i = 0; i < cols; i++)
            to[i] = (x[i] - max) - log(s);
    }
}

static void softmax_grad(void *dx, const void *a, const void *b, int64_t rows,
                         int64_t cols)
{
    const double *dy = a, *y = b;
    double *to = dx;

    for (int64_t r = 0; r < rows; r++, dy += cols, y += cols, to += cols) {
        double d = 0.0;

        for (int64_t i = 0; i < cols; i++)
            d += dy[i] * y[i];
        for (int64_t i = 0; i < cols; i++)
            to[i] = y[i] * (dy[i] - d);
    }
}

static void log_softmax_grad(void *dx, const void *a, const void *b,
                             int64_t rows, int64_t cols)
{
    const double *dy = a, *y = b;
    double *to = dx;

    for (int64_t r = 0; r < rows; r++, dy += cols, y += cols, to += cols) {
        double t = 0.0;

        for (int64_t i = 0; i < cols; i++)
            t += dy[i];
        for (int64_t i = 0; i < cols; i++)
            to[i] = dy[i] - exp(y[i]) * t;
    }
}

static void argmax(int32_t *y, const void *x, int64_t rows, int64_t cols)
{
    const double *from = x;

    for (int64_t r = 0; r < rows; r++, from += cols) {
        int64_t best = 0;

        for (int64_t i = 1; i < cols && !isnan(from[best]); i++)
            if (from[i] > from[best] || isnan(from[i]))
                best = i;
        y[r] = (int32_t)best;
    }
}

static const struct cpu_row_kernels row_f64 = {
    .rowwise =
        {
            [CPU_SOFTMAX] = softmax,
            [CPU_LOG_SOFTMAX] = log_softmax,
            [CPU_SOFTMAX_GRAD] = softmax_grad,
            [CPU_LOG_SOFTMAX_GRAD] = log_softmax_grad,
        },
    .argmax = argmax,
};

void cpu_f64_cross_entropy(void *l, const void *x, const int32_t *target,
                           int64_t rows, int64_t cols,
                           const struct cpu_loss *loss)
{
    const double *row = x;

    for (int64_t r = 0; r < rows; r++, row += cols) {
        double max = row_max(row, cols);
        double log_sum = log(exp_sum(row, max, cols)), all = 0.0;

        for (int64_t i = 0; i < cols; i++)
            all += log_sum + (max - row[i]);
        ((double *)l)[r] =
            loss->keep * (log_sum + (max - row[target[r]])) + loss->share * all;
    }
}

void cpu_f64_cross_entropy_grad(void *dx, const void *g, const void *x,
                                const int32_t *target, int64_t rows,
                                int64_t cols, const struct cpu_loss *loss)
{
    const double *row = x;
    double *to = dx;
    double factor = *(const double *)g * loss->scale;

    for (int64_t r = 0; r < rows; r++, row += cols, to += cols) {
        double max = row_max(row, cols), s = exp_sum(row, max, cols);

        for (int64_t i = 0; i < cols; i++) {
            double q = loss->share + (i == target[r] ? loss->keep : 0.0);

            to[i] = (exp(row[i] - max) / s - q) * factor;
        }
    }
}

static void sum_rows(void *y, const void *x, int64_t rows, int64_t cols)
{
    const double *from = x;

    for (int64_t r = 0; r < rows; r++, from += cols) {
        double s = 0.0;

        for (int64_t i = 0; i < cols; i++)
            s += from[i];
        ((double *)y)[r] = s;
    }
}

static void sum_cols(void *y, const void *x, int64_t rows, int64_t stride,
                     int64_t cols)
{
    const double *from = x;

    for (int64_t j = 0; j < cols; j++) {
        double s = 0.0;

        for (int64_t r = 0; r < rows; r++)
            s += from[r * stride + j];
        ((double *)y)[j] = s;
    }
}

static void chain(void *sum, const void *x, int64_t n, double scale)
{
    const double *from = x;

    for (int64_t i = 0; i < n; i++)
        *(double *)sum += from[i] * scale;
}

static const struct cpu_reduce_kernels reduce_f64 = {
    .sum_rows = sum_rows,
    .sum_cols = sum_cols,
    .chain = chain,
};

static double act(double x, enum nn_act a)
{
    switch (a) {
    case NN_ACT_RELU:
        return x <= 0.0 ? 0.0 : x;
    case NN_ACT_TANH:
        return tanh(x);
    case NN_ACT_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case NN_ACT_NONE:
        break;
    }
    return x;
}

static void gemm(const struct cpu_gemm *g, int64_t i0, int64_t i1, int64_t p0,
                 int64_t p1)
{
    const double *a = g->a, *b = g->b, *bias = g->bias;
    int64_t j0 = p0 * CPU_PANEL;
    int64_t j1 = g->n < p1 * CPU_PANEL ? g->n : p1 * CPU_PANEL;

    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++) {
            double *c = (double *)g->c + i * g->c_row + j;
            double s = g->onto ? *c : bias ? bias[j] : 0.0;

            for (int64_t k = 0; k < g->k; k++)
                s += a[i * g->a_row + k * g->a_col] *
                     b[k * g->b_row + j * g->b_col];
            *c = act(s, g->act);
        }
}

static const struct cpu_gemm_kernels gemm_f64 = {.gemm = gemm};

const struct cpu_kernels cpu_kernels_f64 = {
    .name = "float64",
    .elem = &cpu_elem_f64,
    .row = &row_f64,
    .loss = &cpu_loss_f64,
    .reduce = &reduce_f64,
    .gemm = &gemm_f64,
    .pool = &cpu_pool_f64,
};
