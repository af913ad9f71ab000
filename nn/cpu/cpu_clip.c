/* CLIP_GRAD_NORM: the norm of all gradients together, and their scaling. The
 * order of additions is that of logical rows, whatever the layout. */
#include "nn/cpu/cpu_ops.h"

#include <math.h>

#include "nn/cpu/cpu_layout.h"

enum { GRAIN = 1024 };

struct clip_job {
    const struct cpu_kernels *k;
    float *sums; /* one a row */
    float *x;
    int64_t cols;
    float factor;
};

static void panel_range(void *arg, int64_t begin, int64_t end)
{
    const struct clip_job *j = arg;

    for (int64_t p = begin; p < end; p++)
        j->k->reduce->panel_squares(j->sums + p * CPU_PANEL,
                                    j->x + p * CPU_PANEL * j->cols, j->cols);
}

static void row_range(void *arg, int64_t begin, int64_t end)
{
    const struct clip_job *j = arg;

    j->k->reduce->row_squares(j->sums + begin, j->x + begin * j->cols,
                              end - begin, j->cols);
}

/* Neighbours added bottom up, an odd one carried: overwrites s. */
static float pairwise(float *s, int64_t n)
{
    while (n > 1) {
        for (int64_t i = 0; i < n / 2; i++)
            s[i] = s[2 * i] + s[2 * i + 1];
        if (n % 2)
            s[n / 2] = s[n - 1];
        n = n / 2 + n % 2;
    }
    return n == 1 ? s[0] : 0.0f;
}

static int sum_of_squares(struct cpu *cpu, const struct nn_tensor *t,
                          float *sum, struct err *err)
{
    struct clip_job j = {.k = cpu->f32, .x = cpu_data(t)};
    int64_t n = nn_tensor_numel(t);
    int64_t rows = t->shape.ndim > 0 ? t->shape.dim[0] : 1;
    void *work;
    int rc;

    *sum = 0.0f;
    if (n == 0)
        return 0;
    j.cols = n / rows;
    rc = cpu_workspace(cpu, ((size_t)rows + CPU_PANEL) * sizeof(float), &work,
                       err);
    if (rc != 0)
        return rc;
    j.sums = work;
    if (cpu_is_panels(&t->shape, t->dtype, t->layout))
        cpu_parallel(cpu, (rows + CPU_PANEL - 1) / CPU_PANEL, 1,
                     j.cols * CPU_PANEL, panel_range, &j);
    else
        cpu_parallel(cpu, rows, GRAIN, 4 * j.cols, row_range, &j);
    *sum = pairwise(j.sums, rows);
    return 0;
}

static void scale_range(void *arg, int64_t begin, int64_t end)
{
    const struct clip_job *j = arg;

    j->k->elem->binary[CPU_MUL](j->x + begin, j->x + begin, 1, &j->factor, 0,
                                end - begin);
}

CPU_OP(clip)
{
    struct nn_tensor *const *grads = call->attrs.clip.grads;
    const int n = call->attrs.clip.n;
    struct clip_job j = {.k = cpu->f32};
    float total = 0.0f, norm, one;

    for (int i = 0; i < n; i++)
        if (grads[i]->dtype != NN_F32)
            return cpu_shape_error(call, err);
    if (nn_tensor_numel(call->out[0]) != 1)
        return cpu_shape_error(call, err);
    for (int i = 0; i < n; i++) {
        int rc = sum_of_squares(cpu, grads[i], &one, err);

        if (rc != 0)
            return rc;
        total += one;
    }
    norm = sqrtf(total);
    *(float *)cpu_data(call->out[0]) = norm;
    j.factor = (float)call->attrs.clip.max_norm / (norm + 1e-6f);
    if (j.factor >= 1.0f) /* NaN goes on, as in PyTorch */
        return 0;
    for (int i = 0; i < n; i++) {
        j.x = cpu_data(grads[i]);
        cpu_parallel(cpu, (int64_t)(nn_tensor_bytes(grads[i]) / sizeof(float)),
                     GRAIN, 1, scale_range, &j);
    }
    return 0;
}
