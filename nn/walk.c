#include "nn/walk.h"

#include <string.h>

static int64_t dim_from_end(const struct nn_shape *s, int i)
{
    return i < s->ndim ? s->dim[s->ndim - 1 - i] : 1;
}

/* Dimension i from the end, put before the walk's first or merged with it. */
static void walk_push(struct nn_walk *w, int64_t dim, const int64_t step[2])
{
    int last = w->ndim - 1; /* kept in reverse until the walk is whole */

    if (dim == 1)
        return;
    if (last >= 0 && step[0] == w->step[0][last] * w->dim[last] &&
        step[1] == w->step[1][last] * w->dim[last]) {
        w->dim[last] *= dim;
        return;
    }
    w->dim[w->ndim] = dim;
    w->step[0][w->ndim] = step[0];
    w->step[1][w->ndim] = step[1];
    w->ndim++;
}

static void walk_reverse(struct nn_walk *w)
{
    for (int i = 0, j = w->ndim - 1; i < j; i++, j--) {
        struct nn_walk t = *w;

        w->dim[i] = t.dim[j];
        w->dim[j] = t.dim[i];
        for (int k = 0; k < 2; k++) {
            w->step[k][i] = t.step[k][j];
            w->step[k][j] = t.step[k][i];
        }
    }
}

bool nn_walk_init(struct nn_walk *w, const struct nn_shape *full,
                  const struct nn_shape *a, const struct nn_shape *b)
{
    const struct nn_shape *of[2] = {a, b};
    int64_t size[2] = {1, 1};

    memset(w, 0, sizeof *w);
    if (a->ndim > full->ndim || b->ndim > full->ndim)
        return false;
    for (int i = 0; i < full->ndim; i++) {
        int64_t dim = dim_from_end(full, i), step[2];

        for (int k = 0; k < 2; k++) {
            int64_t d = dim_from_end(of[k], i);

            if (d != dim && d != 1)
                return false;
            step[k] = d == 1 ? 0 : size[k];
            size[k] *= d;
        }
        walk_push(w, dim, step);
    }
    if (w->ndim == 0)
        w->dim[w->ndim++] = 1;
    walk_reverse(w);
    w->run = w->dim[w->ndim - 1];
    w->runs = 1;
    for (int i = 0; i < w->ndim - 1; i++)
        w->runs *= w->dim[i];
    return true;
}

void nn_walk_offsets(const struct nn_walk *w, int64_t r, int64_t offset[2])
{
    offset[0] = offset[1] = 0;
    for (int i = w->ndim - 2; i >= 0; i--) {
        int64_t at = r % w->dim[i];

        r /= w->dim[i];
        offset[0] += at * w->step[0][i];
        offset[1] += at * w->step[1][i];
    }
}
