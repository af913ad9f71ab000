#include "nn/tensor.h"

#include <stdio.h>
#include <string.h>

#include "nn/backend.h"
#include "nn/base/mem.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [NN_F32] = {"float32", 4}, [NN_F64] = {"float64", 8},
    [NN_F16] = {"float16", 2}, [NN_BF16] = {"bfloat16", 2},
    [NN_U8] = {"uint8", 1},    [NN_I32] = {"int32", 4},
    [NN_I64] = {"int64", 8},
};

size_t nn_dtype_size(enum nn_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *nn_dtype_name(enum nn_dtype dtype)
{
    return dtypes[dtype].name;
}

struct nn_shape nn_shape0(void)
{
    struct nn_shape s = {0};

    return s;
}

struct nn_shape nn_shape1(int64_t a)
{
    struct nn_shape s = {.ndim = 1, .dim = {a}};

    return s;
}

struct nn_shape nn_shape2(int64_t a, int64_t b)
{
    struct nn_shape s = {.ndim = 2, .dim = {a, b}};

    return s;
}

int64_t nn_shape_numel(const struct nn_shape *s)
{
    int64_t n = 1;
    int i;

    for (i = 0; i < s->ndim; i++)
        n *= s->dim[i];
    return n;
}

int nn_shape_check(const struct nn_shape *s, struct err *err)
{
    int64_t n = 1;
    int i;

    if (s->ndim < 0 || s->ndim > NN_MAX_DIMS)
        return err_set(err, ERR_SHAPE,
                       "a tensor has 0 to %d dimensions, not %d", NN_MAX_DIMS,
                       s->ndim);
    for (i = 0; i < s->ndim; i++) {
        if (s->dim[i] < 0)
            return err_set(err, ERR_SHAPE, "dimension %d is %lld, below 0", i,
                           (long long)s->dim[i]);
        /* 16: the widest element and room for a layout's padding. */
        if (s->dim[i] != 0 && n > INT64_MAX / 16 / s->dim[i])
            return err_set(err, ERR_SHAPE, "a tensor that large overflows");
        n *= s->dim[i] ? s->dim[i] : 1;
    }
    return 0;
}

bool nn_shape_eq(const struct nn_shape *a, const struct nn_shape *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof a->dim[0]) == 0;
}

const char *nn_shape_text(const struct nn_shape *s, char *buf, size_t size)
{
    size_t at = 0;
    int i;

    (void)snprintf(buf, size, "(");
    for (i = 0; i < s->ndim; i++) {
        at = strlen(buf);
        (void)snprintf(buf + at, size - at, "%s%lld", i ? ", " : "",
                       (long long)s->dim[i]);
    }
    at = strlen(buf);
    (void)snprintf(buf + at, size - at, s->ndim == 1 ? ",)" : ")");
    return buf;
}

int nn_storage_new(struct nn_storage **out, struct nn_backend *be, size_t size,
                   enum nn_category cat, struct err *err)
{
    struct nn_storage *st = mem_zalloc(sizeof *st);
    int rc;

    *out = NULL;
    if (!st)
        return err_set(err, ERR_NOMEM, "out of memory for a tensor");
    rc = be->ops->alloc(be, &st->buf, size, cat, err);
    if (rc != 0) {
        mem_free(st);
        return rc;
    }
    st->be = be;
    st->size = size;
    st->refs = 1;
    st->cat = cat;
    be->live_bytes += size;
    if (be->live_bytes > be->peak_bytes)
        be->peak_bytes = be->live_bytes;
    *out = st;
    return 0;
}

void nn_storage_ref(struct nn_storage *st)
{
    st->refs++;
}

void nn_storage_unref(struct nn_storage *st)
{
    if (!st || --st->refs > 0)
        return;
    st->be->live_bytes -= st->size;
    st->be->ops->free(st->be, st->buf);
    mem_free(st);
}

int nn_tensor_new(struct nn_tensor **out, struct nn_backend *be,
                  const struct nn_shape *shape, enum nn_dtype dtype,
                  enum nn_layout layout, enum nn_category cat, struct err *err)
{
    struct nn_storage *st;
    size_t size;
    int rc;

    *out = NULL;
    rc = nn_shape_check(shape, err);
    if (rc != 0)
        return rc;
    size = be->ops->layout_bytes(be, shape, dtype, layout);
    rc = nn_storage_new(&st, be, size, cat, err);
    if (rc != 0)
        return rc;
    rc = nn_tensor_view(out, st, 0, shape, dtype, layout, err);
    nn_storage_unref(st); /* the view holds it, or nobody */
    return rc;
}

int nn_tensor_view(struct nn_tensor **out, struct nn_storage *st, size_t offset,
                   const struct nn_shape *shape, enum nn_dtype dtype,
                   enum nn_layout layout, struct err *err)
{
    struct nn_tensor *t;
    int rc;

    *out = NULL;
    rc = nn_shape_check(shape, err);
    if (rc != 0)
        return rc;
    t = mem_zalloc(sizeof *t);
    if (!t)
        return err_set(err, ERR_NOMEM, "out of memory for a tensor");
    t->shape = *shape;
    t->dtype = dtype;
    t->layout = layout;
    t->st = st;
    t->offset = offset;
    t->name = "";
    if (offset > st->size || nn_tensor_bytes(t) > st->size - offset) {
        mem_free(t);
        return err_set(err, ERR_SHAPE, "a view reaches past its storage");
    }
    nn_storage_ref(st);
    *out = t;
    return 0;
}

void nn_tensor_free(struct nn_tensor *t)
{
    if (!t)
        return;
    nn_storage_unref(t->st);
    mem_free(t);
}

int64_t nn_tensor_numel(const struct nn_tensor *t)
{
    return nn_shape_numel(&t->shape);
}

size_t nn_tensor_bytes(const struct nn_tensor *t)
{
    struct nn_backend *be = t->st->be;

    return be->ops->layout_bytes(be, &t->shape, t->dtype, t->layout);
}

int nn_tensor_set(struct nn_tensor *t, const void *src, struct err *err)
{
    t->st->version++;
    return t->st->be->ops->import(t->st->be, t, src, err);
}

int nn_tensor_get(const struct nn_tensor *t, void *dst, struct err *err)
{
    return t->st->be->ops->export(t->st->be, t, dst, err);
}
