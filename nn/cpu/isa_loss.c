/* Losses and their gradients in float32. */
#include "nn/cpu/isa_parts.h"

#include "nn/cpu/cpu_vmath.h"
#include "nn/cpu/isa_softmax.h"

/* lanes16 over c of log_sum + (max - x[c]) */
AI float row_nll_sum(const float *x, V max, V log_sum, int64_t n)
{
    struct lanes s;

    lanes_zero(&s);
    for (int64_t i = 0; i < n; i += VL) {
        V v = v_sub(max, v_load_upto(x + i, n - i));

        v = v_add(log_sum, v);
        lanes_add(&s, i, n - i < VL ? v_first(v, n - i) : v);
    }
    return lanes_total(&s);
}

static void cross_entropy(void *l, const void *x, const int32_t *target,
                          int64_t rows, int64_t cols,
                          const struct cpu_loss *loss)
{
    const float *row = x;
    float *to = l;
    float keep = (float)loss->keep, share = (float)loss->share;

    for (int64_t r = 0; r < rows; r++, row += cols) {
        float max = row_max(row, cols);
        V log_sum = v_log(v_set1(row_exp(NULL, row, v_set1(max), cols)));
        float nll = v_lane0(log_sum) + (max - row[target[r]]);

        if (loss->smooth)
            nll = keep * nll +
                  share * row_nll_sum(row, v_set1(max), log_sum, cols);
        to[r] = nll;
    }
}

static void cross_entropy_grad(void *dx, const void *g, const void *x,
                               const int32_t *target, int64_t rows,
                               int64_t cols, const struct cpu_loss *loss)
{
    const float *row = x;
    float *to = dx;
    float others = loss->smooth ? (float)loss->share : 0.0f;
    float hit = loss->smooth ? others + (float)loss->keep : 1.0f;
    float factor = *(const float *)g * (float)loss->scale;

    for (int64_t r = 0; r < rows; r++, row += cols, to += cols) {
        float sum = row_exp(to, row, v_set1(row_max(row, cols)), cols);
        float e = to[target[r]];

        for (int64_t i = 0; i < cols; i += VL) {
            V v = v_div(v_load_upto(to + i, cols - i), v_set1(sum));

            v = v_mul(v_sub(v, v_set1(others)), v_set1(factor));
            v_store_upto(to + i, v, cols - i);
        }
        to[target[r]] = (e / sum - hit) * factor;
    }
}

/* log1p(exp(-|z|)) */
AI V softplus_of_minus_abs(V z)
{
    return v_log1p(v_exp(v_neg(v_abs(z))));
}

AI V bce1(V z, V y, V pos_weight)
{
    V l = v_sub(v_max(z, v_zero()), v_mul(z, y));

    (void)pos_weight;
    return v_add(l, softplus_of_minus_abs(z));
}

/* 1 + (w - 1) * y */
AI V bce_weight(V y, V w_minus_1)
{
    return v_add(v_set1(1.0f), v_mul(w_minus_1, y));
}

AI V bce1_weighted(V z, V y, V w_minus_1)
{
    V l = v_mul(v_sub(v_set1(1.0f), y), z);
    V s = v_add(softplus_of_minus_abs(z), v_max(v_neg(z), v_zero()));

    return v_add(l, v_mul(bce_weight(y, w_minus_1), s));
}

AI void bce_map(float *l, const float *z, const float *y, int64_t n,
                float w_minus_1, V f(V, V, V))
{
    V w = v_set1(w_minus_1);

    for (int64_t i = 0; i < n; i += VL) {
        V v = f(v_load_upto(z + i, n - i), v_load_upto(y + i, n - i), w);

        v_store_upto(l + i, v, n - i);
    }
}

static void bce(void *l, const void *z, const void *y, int64_t n,
                const struct cpu_loss *loss)
{
    float w_minus_1 = (float)(loss->pos_weight - 1.0);

    if (loss->pos_weight == 1.0)
        bce_map(l, z, y, n, w_minus_1, bce1);
    else
        bce_map(l, z, y, n, w_minus_1, bce1_weighted);
}

static void bce_grad(void *dz, const void *g, const void *z, const void *y,
                     int64_t n, const struct cpu_loss *loss)
{
    const float *from = z, *label = y;
    float *to = dz;
    V one = v_set1(1.0f);
    V factor = v_set1(*(const float *)g * (float)loss->scale);
    V w_minus_1 = v_set1((float)(loss->pos_weight - 1.0));

    for (int64_t i = 0; i < n; i += VL) {
        V a = v_load_upto(from + i, n - i), b = v_load_upto(label + i, n - i);
        V d;

        if (loss->pos_weight == 1.0)
            d = v_sub(v_sigmoid(a), b);
        else
            d = v_sub(v_sub(one, b),
                      v_mul(bce_weight(b, w_minus_1), v_sigmoid(v_neg(a))));
        v_store_upto(to + i, v_mul(d, factor), n - i);
    }
}

static void mse_grad(void *dx, const void *g, const void *x, const void *y,
                     int64_t n, const struct cpu_loss *loss)
{
    const float *a = x, *b = y;
    float *to = dx;
    V factor = v_set1(*(const float *)g * (float)loss->scale);

    for (int64_t i = 0; i < n; i += VL) {
        V d = v_sub(v_load_upto(a + i, n - i), v_load_upto(b + i, n - i));

        d = v_mul(v_mul(d, v_set1(2.0f)), factor);
        v_store_upto(to + i, d, n - i);
    }
}

const struct cpu_loss_kernels ISA(cpu_loss) = {
    .cross_entropy = cross_entropy,
    .cross_entropy_grad = cross_entropy_grad,
    .bce = bce,
    .bce_grad = bce_grad,
    .mse_grad = mse_grad,
};
