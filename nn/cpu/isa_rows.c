/* Softmax and its kin, and argmax: rows over the last dimension. */
#include "nn/cpu/isa_parts.h"

#include "nn/cpu/cpu_vmath.h"
#include "nn/cpu/isa_softmax.h"

static void softmax(void *y, const void *a, const void *b, int64_t rows,
                    int64_t cols)
{
    const float *x = a;
    float *to = y;

    (void)b;
    for (int64_t r = 0; r < rows; r++, x += cols, to += cols) {
        V max = v_set1(row_max(x, cols));
        V sum = v_set1(row_exp(to, x, max, cols));

        for (int64_t i = 0; i < cols; i += VL) {
            V e = v_load_upto(to + i, cols - i);

            v_store_upto(to + i, v_div(e, sum), cols - i);
        }
    }
}

static void log_softmax(void *y, const void *a, const void *b, int64_t rows,
                        int64_t cols)
{
    const float *x = a;
    float *to = y;

    (void)b;
    for (int64_t r = 0; r < rows; r++, x += cols, to += cols) {
        V max = v_set1(row_max(x, cols));
        V log_sum = v_log(v_set1(row_exp(NULL, x, max, cols)));

        for (int64_t i = 0; i < cols; i += VL) {
            V v = v_sub(v_load_upto(x + i, cols - i), max);

            v_store_upto(to + i, v_sub(v, log_sum), cols - i);
        }
    }
}

static void softmax_grad(void *dx, const void *a, const void *b, int64_t rows,
                         int64_t cols)
{
    const float *dy = a, *y = b;
    float *to = dx;

    for (int64_t r = 0; r < rows; r++, dy += cols, y += cols, to += cols) {
        struct lanes s;
        V d;

        lanes_zero(&s);
        for (int64_t i = 0; i < cols; i += VL)
            lanes_add(&s, i,
                      v_mul(v_load_upto(dy + i, cols - i),
                            v_load_upto(y + i, cols - i)));
        d = v_set1(lanes_total(&s));
        for (int64_t i = 0; i < cols; i += VL) {
            V v = v_sub(v_load_upto(dy + i, cols - i), d);

            v = v_mul(v_load_upto(y + i, cols - i), v);
            v_store_upto(to + i, v, cols - i);
        }
    }
}

static void log_softmax_grad(void *dx, const void *a, const void *b,
                             int64_t rows, int64_t cols)
{
    const float *dy = a, *y = b;
    float *to = dx;

    for (int64_t r = 0; r < rows; r++, dy += cols, y += cols, to += cols) {
        struct lanes s;
        V t;

        lanes_zero(&s);
        for (int64_t i = 0; i < cols; i += VL)
            lanes_add(&s, i, v_load_upto(dy + i, cols - i));
        t = v_set1(lanes_total(&s));
        for (int64_t i = 0; i < cols; i += VL) {
            V e = v_exp(v_load_upto(y + i, cols - i));
            V v = v_sub(v_load_upto(dy + i, cols - i), v_mul(e, t));

            v_store_upto(to + i, v, cols - i);
        }
    }
}

static void argmax(int32_t *y, const void *x, int64_t rows, int64_t cols)
{
    const float *from = x;

    for (int64_t r = 0; r < rows; r++, from += cols) {
        int64_t best = 0;

        for (int64_t i = 1; i < cols && from[best] == from[best]; i++)
            if (from[i] > from[best] || from[i] != from[i])
                best = i;
        y[r] = (int32_t)best;
    }
}

const struct cpu_row_kernels ISA(cpu_row) = {
    .rowwise =
        {
            [CPU_SOFTMAX] = softmax,
            [CPU_LOG_SOFTMAX] = log_softmax,
            [CPU_SOFTMAX_GRAD] = softmax_grad,
            [CPU_LOG_SOFTMAX_GRAD] = log_softmax_grad,
        },
    .argmax = argmax,
};
