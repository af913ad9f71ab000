/* Sums in float32, each in the order that nn/op.h fixes. */
#include "nn/cpu/isa_parts.h"

static void sum_rows(void *y, const void *x, int64_t rows, int64_t cols)
{
    const float *from = x;
    float *to = y;

    for (int64_t r = 0; r < rows; r++, from += cols) {
        struct lanes s;
        int64_t i = 0;

        lanes_zero(&s);
        for (; i + 16 <= cols; i += 16)
            for (int j = 0; j < 16 / VL; j++)
                s.v[j] = v_add(s.v[j], v_load(from + i + j * VL));
        for (; i < cols; i += VL)
            lanes_add(&s, i, v_load_upto(from + i, cols - i));
        to[r] = lanes_total(&s);
    }
}

/* Columns of one vector, all rows. */
AI V sum_col(const float *x, int64_t rows, int64_t stride, int64_t n)
{
    V s = v_zero();

    for (int64_t r = 0; r < rows; r++, x += stride)
        s = v_add(s, v_load_upto(x, n));
    return s;
}

enum { COLS = 4 }; /* vectors side by side: independent chains */

static void sum_cols(void *y, const void *x, int64_t rows, int64_t stride,
                     int64_t cols)
{
    const float *from = x;
    float *to = y;
    int64_t j = 0;

    for (; j + COLS * VL <= cols; j += COLS * VL) {
        const float *p = from + j;
        V s[COLS];

        UNROLL
        for (int v = 0; v < COLS; v++)
            s[v] = v_zero();
        for (int64_t r = 0; r < rows; r++, p += stride) {
            UNROLL
            for (int v = 0; v < COLS; v++)
                s[v] = v_add(s[v], v_load(p + v * VL));
        }
        UNROLL
        for (int v = 0; v < COLS; v++)
            v_store(to + j + v * VL, s[v]);
    }
    for (; j < cols; j += VL) {
        V s = sum_col(from + j, rows, stride, cols - j);

        v_store_upto(to + j, s, cols - j);
    }
}

static void chain(void *sum, const void *x, int64_t n, double scale)
{
    const float *from = x;
    float s = *(float *)sum, c = (float)scale;

    for (int64_t i = 0; i < n; i++)
        s += from[i] * c;
    *(float *)sum = s;
}

static void panel_squares(float *y, const float *panel, int64_t n)
{
    V s[CPU_PANEL / VL];

    for (int j = 0; j < CPU_PANEL / VL; j++)
        s[j] = v_zero();
    for (int64_t i = 0; i < n; i++, panel += CPU_PANEL)
        for (int j = 0; j < CPU_PANEL / VL; j++) {
            V g = v_load(panel + j * VL);

            s[j] = v_fma(g, g, s[j]);
        }
    for (int j = 0; j < CPU_PANEL / VL; j++)
        v_store(y + j * VL, s[j]);
}

static void row_squares(float *y, const float *x, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; r++, x += cols) {
        float s = 0.0f;

        for (int64_t i = 0; i < cols; i++)
            s = __builtin_fmaf(x[i], x[i], s);
        y[r] = s;
    }
}

const struct cpu_reduce_kernels ISA(cpu_reduce) = {
    .sum_rows = sum_rows,
    .sum_cols = sum_cols,
    .chain = chain,
    .panel_squares = panel_squares,
    .row_squares = row_squares,
};
