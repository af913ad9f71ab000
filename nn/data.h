/* Data sets in host memory: samples of one shape, and their labels. */
#ifndef NN_DATA_H
#define NN_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/io.h"
#include "nn/tensor.h"

/* n samples. Pixels stay bytes (a mapping of the file when there is one) and
 * are divided when a batch is gathered. Exactly one of label and target is
 * set. A subset (split) borrows its base and picks rows by index. */
struct nn_data {
    int64_t n;
    struct nn_shape sample; /* of one sample: (28, 28); never a scalar */
    enum nn_dtype dtype;    /* NN_U8 or NN_F32 */
    const void *x;          /* rows of the base, row-major */
    float divide;           /* u8 / divide, rounded once; 1: as it is */
    const int32_t *label;   /* classes 0 .. classes - 1, or NULL */
    const float *target;    /* n * target_width numbers, or NULL */
    int64_t target_width;
    int64_t classes;     /* 0 where there are targets */
    const int64_t *rows; /* a subset's rows in x, label, target; or NULL */
    /* owned memory, freed by nn_data_free */
    void *own_x, *own_y;
    int64_t *own_rows;
    struct io_map map;
};

void nn_data_free(struct nn_data *d); /* NULL is fine */
/* The row of x, label and target where sample i lies. */
int64_t nn_data_row(const struct nn_data *d, int64_t i);

/* IDX images or tensors of rank 1 to NN_MAX_DIMS (u8) with u8 labels (rank 1),
 * both unpacked files, checked in full: magic, type, sizes against the file,
 * counts against each other, labels below classes. A sample of a rank-1 file
 * has shape (1). The images stay mapped: the file must not shrink meanwhile.
 * ERR_CORRUPT names path, offset and field. classes 0: one more than the
 * largest label. divide is finite and > 0, else ERR_CONFIG. */
int nn_data_open_idx(struct nn_data **out, const char *images,
                     const char *labels, int64_t classes, float divide,
                     struct err *err);

struct nn_csv_opts {
    const char *target; /* column of the label or target, by header name */
    const char *const *features; /* NULL: all other columns, in file order */
    int n_features;
    int64_t classes; /* > 0: the target is a class index; 0: a number */
};
/* Comma-separated numbers with a header line, RFC 4180 quoting, LF or CRLF,
 * UTF-8 with or without a byte order mark; blanks around a field do not count.
 * Samples have shape (features) and type f32: a number is read as a double and
 * rounded once. Other columns may hold any text. Empty lines may end the file.
 * ERR_CORRUPT names path:line: and column; ERR_CONFIG if a named column is not
 * there, named twice, or feature and target at once. */
int nn_data_open_csv(struct nn_data **out, const char *path,
                     const struct nn_csv_opts *opts, struct err *err);

enum nn_synthetic { NN_SYN_BLOBS, NN_SYN_MOONS };
struct nn_synthetic_opts {
    enum nn_synthetic kind;
    int64_t n;
    int64_t classes;  /* blobs: >= 2, moons: 2; n is at least this */
    int64_t features; /* blobs: >= 2, moons: 2 */
    double noise;     /* standard deviation, 0 to 1e6 */
    uint64_t seed;
};
/* Sample i has label i mod classes; its features are its place plus noise
 * times a normal of rng_mt_normal, one for each feature in row-major order.
 * blobs: class k of K sits at (4 cos a, 4 sin a), a = 2 pi k / K, and at 0 in
 * further features. moons: label 0 walks the upper half circle (cos t, sin t),
 * label 1 the lower one (1 - cos t, 0.5 - sin t), t in equal steps from 0 to
 * pi over the samples of a label (as scikit-learn's make_moons). The same bits
 * on every machine. ERR_CONFIG if an option is out of range. */
int nn_data_new_synthetic(struct nn_data **out,
                          const struct nn_synthetic_opts *opts,
                          struct err *err);

/* torch.utils.data.random_split(base, [n - validation, validation],
 * generator=torch.Generator().manual_seed(seed)): the first n - validation of
 * one permutation train, the rest validate. Both borrow base, which must
 * outlive them. 0 < n_validation < n, else ERR_CONFIG. */
int nn_data_split(struct nn_data **train, struct nn_data **validation,
                  const struct nn_data *base, int64_t n_validation,
                  uint64_t seed, struct err *err);

#endif
