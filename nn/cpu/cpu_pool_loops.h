/* Picking and spreading numbers over windows: included by isa_pool.c for
 * float32, and by cpu_f64_pool.c for float64. Comparisons and adds in a fixed
 * order, so that every instruction set gives the same bits. */
#ifndef NN_CPU_POOL_LOOPS_H
#define NN_CPU_POOL_LOOPS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "nn/cpu/cpu_kernels.h"

#ifdef POOL_FLOAT64
typedef double T;
#else
typedef float T;
#endif

/* Whether a comes before b in the search for the first largest. */
static inline bool larger(T a, T b)
{
    return a > b || (a != a && b == b);
}

/* y (outer, inner) = the largest of x (outer, len, inner), len > 0 */
static void max_axis(void *y, const void *x, int64_t outer, int64_t len,
                     int64_t inner)
{
    const T *from = x;
    T *to = y;

    for (int64_t o = 0; o < outer; o++, to += inner) {
        memcpy(to, from, (size_t)inner * sizeof *to);
        from += inner;
        for (int64_t l = 1; l < len; l++, from += inner)
            for (int64_t i = 0; i < inner; i++)
                to[i] = larger(from[i], to[i]) ? from[i] : to[i];
    }
}

/* The place of the first largest of n numbers, step apart. */
static int64_t first_largest(const T *x, int64_t n, int64_t step)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++)
        if (larger(x[i * step], x[best * step]))
            best = i;
    return best;
}

static void max_axis_grad(void *dx, const void *dy, const void *x,
                          int64_t outer, int64_t len, int64_t inner)
{
    const T *g = dy, *from = x;
    T *to = dx;

    memset(to, 0, (size_t)(outer * len * inner) * sizeof *to);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t at = o * len * inner + i;

            at += first_largest(from + at, len, inner) * inner;
            to[at] = g[o * inner + i];
        }
}

/* The part of a window that lies on the plane: rows [i0, i1), columns [j0, j1)
 */
struct window {
    int64_t i0, i1, j0, j1;
};

static inline int64_t at_least_0(int64_t a)
{
    return a > 0 ? a : 0;
}

static inline struct window window_at(const struct cpu_pool *p, int64_t r,
                                      int64_t c)
{
    int64_t i = r * p->stride - p->padding, j = c * p->stride - p->padding;
    struct window w = {at_least_0(i), i + p->kernel, at_least_0(j),
                       j + p->kernel};

    if (w.i1 > p->h)
        w.i1 = p->h;
    if (w.j1 > p->w)
        w.j1 = p->w;
    return w;
}

/* Where in the plane the first largest of a window is. */
static inline int64_t window_largest(const struct cpu_pool *p, const T *x,
                                     struct window w)
{
    int64_t best = w.i0 * p->w + w.j0;

    for (int64_t i = w.i0; i < w.i1; i++)
        for (int64_t j = w.j0; j < w.j1; j++)
            if (larger(x[i * p->w + j], x[best]))
                best = i * p->w + j;
    return best;
}

/* Takes one number of each window into the largest so far, n windows. */
static inline void take_larger(T *best, const T *x, int64_t step, int64_t n)
{
    for (int64_t c = 0; c < n; c++) {
        T v = x[c * step];
        bool take = (v > best[c]) | ((v != v) & (best[c] == best[c]));

        best[c] = take ? v : best[c];
    }
}

/* A row of windows side by side; starting from -inf finds the same number. */
static void max_pool_row(T *y, const T *x, const struct cpu_pool *p, int64_t r)
{
    int64_t i0 = r * p->stride - p->padding;

    for (int64_t c = 0; c < p->out_w; c++)
        y[c] = (T)-INFINITY;
    for (int64_t i = at_least_0(i0); i < i0 + p->kernel && i < p->h; i++)
        for (int64_t j = 0; j < p->kernel; j++) {
            int64_t at = j - p->padding; /* of the first window */
            int64_t c0 = 0, c1 = p->out_w;

            while (at + c0 * p->stride < 0)
                c0++;
            while (c1 > c0 && at + (c1 - 1) * p->stride >= p->w)
                c1--;
            take_larger(y + c0, x + i * p->w + at + c0 * p->stride, p->stride,
                        c1 - c0);
        }
}

static void max_pool(void *y, const void *x, const struct cpu_pool *p)
{
    for (int64_t r = 0; r < p->out_h; r++)
        max_pool_row((T *)y + r * p->out_w, x, p, r);
}

static void max_pool_grad(void *dx, const void *dy, const void *x,
                          const struct cpu_pool *p)
{
    const T *g = dy, *from = x;
    T *to = dx;

    memset(to, 0, (size_t)(p->h * p->w) * sizeof *to);
    for (int64_t r = 0; r < p->out_h; r++)
        for (int64_t c = 0; c < p->out_w; c++)
            to[window_largest(p, from, window_at(p, r, c))] += *g++;
}

static void avg_pool(void *y, const void *x, const struct cpu_pool *p)
{
    const T *from = x, count = (T)(p->kernel * p->kernel);
    T *to = y;

    for (int64_t r = 0; r < p->out_h; r++)
        for (int64_t c = 0; c < p->out_w; c++) {
            struct window w = window_at(p, r, c);
            T s = 0;

            for (int64_t i = w.i0; i < w.i1; i++)
                for (int64_t j = w.j0; j < w.j1; j++)
                    s += from[i * p->w + j];
            *to++ = s / count;
        }
}

static void avg_pool_grad(void *dx, const void *dy, const struct cpu_pool *p)
{
    const T *g = dy, count = (T)(p->kernel * p->kernel);
    T *to = dx;

    memset(to, 0, (size_t)(p->h * p->w) * sizeof *to);
    for (int64_t r = 0; r < p->out_h; r++)
        for (int64_t c = 0; c < p->out_w; c++) {
            struct window w = window_at(p, r, c);
            T share = *g++ / count;

            for (int64_t i = w.i0; i < w.i1; i++)
                for (int64_t j = w.j0; j < w.j1; j++)
                    to[i * p->w + j] += share;
        }
}

static void take_grid(void *cols, const void *x, const struct cpu_grid *g)
{
    const int64_t step = g->sparse_col, n = g->cols;
    const T *from = x;
    T *to = cols;

    for (int64_t r = 0; r < g->rows; r++) {
        if (step == 1)
            for (int64_t c = 0; c < n; c++)
                to[c] = from[c];
        else
            for (int64_t c = 0; c < n; c++)
                to[c] = from[c * step];
        to += g->dense_row;
        from += g->sparse_row;
    }
}

static void add_grid(void *x, const void *cols, const struct cpu_grid *g)
{
    const int64_t step = g->sparse_col, n = g->cols;
    const T *from = cols;
    T *to = x;

    for (int64_t r = 0; r < g->rows; r++) {
        if (step == 1)
            for (int64_t c = 0; c < n; c++)
                to[c] += from[c];
        else
            for (int64_t c = 0; c < n; c++)
                to[c * step] += from[c];
        to += g->sparse_row;
        from += g->dense_row;
    }
}

#define POOL_KERNELS \
    { \
        .max = max_axis, .max_grad = max_axis_grad, .max_pool = max_pool, \
        .max_pool_grad = max_pool_grad, .avg_pool = avg_pool, \
        .avg_pool_grad = avg_pool_grad, .take_grid = take_grid, \
        .add_grid = add_grid \
    }

#endif
