/* Tensors: a shape, a type and a place in a backend's memory. Always dense;
 * a view differs from its base in shape and offset only. */
#ifndef NN_TENSOR_H
#define NN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"

struct nn_backend;
struct nn_buf;
struct nn_node;

enum { NN_MAX_DIMS = 6 };

enum nn_dtype { NN_F32, NN_F64, NN_F16, NN_BF16, NN_U8, NN_I32, NN_I64 };
size_t nn_dtype_size(enum nn_dtype dtype);
const char *nn_dtype_name(enum nn_dtype dtype); /* "float32", "uint8", ... */

/* ndim 0 is a scalar of one element. */
struct nn_shape {
    int ndim;
    int64_t dim[NN_MAX_DIMS];
};
struct nn_shape nn_shape0(void);
struct nn_shape nn_shape1(int64_t a);
struct nn_shape nn_shape2(int64_t a, int64_t b);
int64_t nn_shape_numel(const struct nn_shape *s);
/* numel with overflow and sign checked: ERR_SHAPE. */
int nn_shape_check(const struct nn_shape *s, struct err *err);
bool nn_shape_eq(const struct nn_shape *a, const struct nn_shape *b);
/* "(128, 784)", written to buf and returned. */
const char *nn_shape_text(const struct nn_shape *s, char *buf, size_t size);

/* How the numbers lie in memory. NN_WEIGHT is a matrix (out, in) of a linear
 * layer, or (out, in, kh, kw) of a convolution taken as (out, rest), in
 * whatever order its backend multiplies best: nn/ only names it and moves it
 * in and out as plain rows (nn_backend_import, _export). */
enum nn_layout { NN_ROWS, NN_WEIGHT };

enum nn_category {
    NN_CAT_PARAMETER,
    NN_CAT_GRADIENT,
    NN_CAT_OPTIMIZER,
    NN_CAT_ACTIVATION,
    NN_CAT_INPUT,
    NN_CAT_TEMPORARY
};

/* Shared memory: the last tensor that lets go of it frees it. version counts
 * in-place writes, so that autograd notices a changed saved value. */
struct nn_storage {
    struct nn_backend *be;
    struct nn_buf *buf;
    size_t size; /* bytes */
    int refs;
    uint32_t version;
    uint32_t rebased; /* version of the last change that has gradients */
    enum nn_category cat;
    int value; /* scratch of nn_step_new: its index there, or -1 */
};
int nn_storage_new(struct nn_storage **out, struct nn_backend *be, size_t size,
                   enum nn_category cat, struct err *err); /* zeroed */
void nn_storage_ref(struct nn_storage *st);
void nn_storage_unref(struct nn_storage *st); /* NULL is fine */

struct nn_tensor {
    struct nn_shape shape;
    enum nn_dtype dtype;
    enum nn_layout layout;
    struct nn_storage *st;
    size_t offset;    /* bytes into st */
    const char *name; /* "0.weight", "" when nameless; owned by the maker */
    /* autograd */
    bool requires_grad;
    struct nn_node *node;   /* what made it; NULL: a leaf */
    struct nn_tensor *grad; /* of a leaf; see nn/tape.h */
    bool grad_ready;        /* grad holds a value (false after clear grad) */
};

/* A tensor on new zeroed memory. End with nn_tensor_free. */
int nn_tensor_new(struct nn_tensor **out, struct nn_backend *be,
                  const struct nn_shape *shape, enum nn_dtype dtype,
                  enum nn_layout layout, enum nn_category cat, struct err *err);
/* A tensor that shares st from byte offset on. */
int nn_tensor_view(struct nn_tensor **out, struct nn_storage *st, size_t offset,
                   const struct nn_shape *shape, enum nn_dtype dtype,
                   enum nn_layout layout, struct err *err);
void nn_tensor_free(struct nn_tensor *t); /* NULL is fine; not its grad */

int64_t nn_tensor_numel(const struct nn_tensor *t);
/* Bytes taken in memory, padding of the layout included. */
size_t nn_tensor_bytes(const struct nn_tensor *t);

/* Plain row-major numbers in and out, n elements of the tensor's own type. */
int nn_tensor_set(struct nn_tensor *t, const void *src, struct err *err);
int nn_tensor_get(const struct nn_tensor *t, void *dst, struct err *err);

#endif
