#include "nn/data.h"

#include <math.h>

#include "nn/base/mem.h"
#include "nn/data_file.h"

/* The format (Y. LeCun, "The MNIST database of handwritten digits"): two zero
 * bytes, a type, the number of dimensions, each dimension in 4 bytes, then
 * the numbers row-major; all of it big-endian. */
enum { IDX_TYPE_U8 = 0x08, IDX_FIXED = 4 };

struct idx {
    const char *path;
    struct io_map map;
    int rank;
    uint64_t dim[NN_MAX_DIMS];
    const unsigned char *numbers;
    size_t header; /* bytes before numbers */
};

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static const char *type_name(unsigned char type)
{
    switch (type) {
    case 0x09:
        return "signed byte";
    case 0x0b:
        return "16-bit integer";
    case 0x0c:
        return "32-bit integer";
    case 0x0d:
        return "float";
    case 0x0e:
        return "double";
    default:
        return "unknown";
    }
}

static int check_magic(const struct idx *f, const char *what, int max_rank,
                       struct err *err)
{
    const unsigned char *p = f->map.data;

    if (f->map.len < IDX_FIXED)
        return err_set(err, ERR_CORRUPT,
                       "%s: the file has %zu bytes, too few for the magic "
                       "number of an IDX file",
                       f->path, f->map.len);
    if (p[0] != 0 || p[1] != 0)
        return err_set(err, ERR_CORRUPT,
                       "%s: offset 0: magic number 0x%08lx is not that of an "
                       "IDX file of bytes, 0x000008 and the number of "
                       "dimensions",
                       f->path, (unsigned long)be32(p));
    if (p[2] != IDX_TYPE_U8)
        return err_set(err, ERR_CORRUPT,
                       "%s: offset 2: type 0x%02x (%s) is not read, only 0x08 "
                       "(unsigned byte)",
                       f->path, p[2], type_name(p[2]));
    if (p[3] < 1 || p[3] > max_rank)
        return err_set(
            err, ERR_CORRUPT, "%s: offset 3: %d dimensions, where %s have %s%d",
            f->path, p[3], what, max_rank > 1 ? "1 to " : "", max_rank);
    return 0;
}

static int read_dims(struct idx *f, struct err *err)
{
    int i;

    f->rank = f->map.data[3];
    f->header = IDX_FIXED + 4 * (size_t)f->rank;
    if (f->map.len < f->header)
        return err_set(err, ERR_CORRUPT,
                       "%s: offset %zu: the file ends inside its header of "
                       "%zu bytes",
                       f->path, f->map.len, f->header);
    for (i = 0; i < f->rank; i++) {
        size_t at = IDX_FIXED + 4 * (size_t)i;

        f->dim[i] = be32(f->map.data + at);
        if (f->dim[i] == 0)
            return err_set(err, ERR_CORRUPT,
                           "%s: offset %zu: dimension %d is 0, at least 1 is "
                           "needed",
                           f->path, at, i + 1);
    }
    f->numbers = f->map.data + f->header;
    return 0;
}

/* The numbers that the header tells of are those that the file holds. */
static int check_size(const struct idx *f, struct err *err)
{
    uint64_t have = f->map.len - f->header, want = 1;
    int i;

    for (i = 0; i < f->rank; i++) {
        if (want > INT64_MAX / f->dim[i])
            return err_set(err, ERR_CORRUPT,
                           "%s: offset %d: the dimensions multiply to more "
                           "than 2^63 bytes",
                           f->path, IDX_FIXED);
        want *= f->dim[i];
    }
    if (have < want)
        return err_set(err, ERR_CORRUPT,
                       "%s: offset %zu: the file is truncated, %llu of %llu "
                       "data bytes are there",
                       f->path, f->map.len, (unsigned long long)have,
                       (unsigned long long)want);
    if (have > want)
        return err_set(err, ERR_CORRUPT,
                       "%s: offset %llu: the data ends here by the header, "
                       "but the file has %zu bytes",
                       f->path, (unsigned long long)(f->header + want),
                       f->map.len);
    return 0;
}

/* what: "images" or "labels". On failure nothing stays open. */
static int idx_open(struct idx *f, const char *path, const char *what,
                    int max_rank, struct err *err)
{
    int rc;

    *f = (struct idx){.path = path};
    rc = nn_data_file_open(&f->map, path, err);
    if (rc == 0)
        rc = check_magic(f, what, max_rank, err);
    if (rc == 0)
        rc = read_dims(f, err);
    if (rc == 0)
        rc = check_size(f, err);
    if (rc != 0)
        io_map_close(&f->map);
    return rc;
}

/* own_y and classes of d from f. */
static int take_labels(struct nn_data *d, const struct idx *f, int64_t classes,
                       struct err *err)
{
    int32_t *label;
    int64_t i, largest = 0;

    d->own_y = mem_array((size_t)d->n, sizeof *label);
    if (!d->own_y)
        return err_set(err, ERR_NOMEM, "%s: out of memory for %lld labels",
                       f->path, (long long)d->n);
    d->label = label = d->own_y;
    for (i = 0; i < d->n; i++) {
        label[i] = f->numbers[i];
        if (classes > 0 && label[i] >= classes)
            return err_set(err, ERR_CORRUPT,
                           "%s: offset %zu: label %d is not a class index "
                           "0..%lld",
                           f->path, f->header + (size_t)i, (int)label[i],
                           (long long)(classes - 1));
        if (label[i] > largest)
            largest = label[i];
    }
    d->classes = classes > 0 ? classes : largest + 1;
    return 0;
}

/* d takes over the mapping of images. */
static void take_images(struct nn_data *d, struct idx *images, float divide)
{
    int i;

    d->n = (int64_t)images->dim[0];
    d->sample.ndim = images->rank > 1 ? images->rank - 1 : 1;
    d->sample.dim[0] = 1;
    for (i = 1; i < images->rank; i++)
        d->sample.dim[i - 1] = (int64_t)images->dim[i];
    d->dtype = NN_U8;
    d->x = images->numbers;
    d->divide = divide;
    d->map = images->map;
    images->map = (struct io_map){0};
}

static int combine(struct nn_data **out, struct idx *images,
                   const struct idx *labels, int64_t classes, float divide,
                   struct err *err)
{
    struct nn_data *d;
    int rc;

    if (images->dim[0] != labels->dim[0])
        return err_set(err, ERR_CORRUPT,
                       "%s: offset %d: %llu labels, where '%s' has %llu images",
                       labels->path, IDX_FIXED,
                       (unsigned long long)labels->dim[0], images->path,
                       (unsigned long long)images->dim[0]);
    d = mem_zalloc(sizeof *d);
    if (!d)
        return err_set(err, ERR_NOMEM, "%s: out of memory", images->path);
    take_images(d, images, divide);
    rc = take_labels(d, labels, classes, err);
    if (rc != 0) {
        nn_data_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

int nn_data_open_idx(struct nn_data **out, const char *images,
                     const char *labels, int64_t classes, float divide,
                     struct err *err)
{
    struct idx x, y;
    int rc;

    *out = NULL;
    if (!(divide > 0 && isfinite(divide)))
        return err_set(err, ERR_CONFIG,
                       "pixels are divided by a finite number above 0, not %g",
                       (double)divide);
    if (classes < 0 || classes > INT32_MAX)
        return err_set(err, ERR_CONFIG,
                       "the number of classes must be from 0 (as many as the "
                       "labels need) to %ld, not %lld",
                       (long)INT32_MAX, (long long)classes);
    rc = idx_open(&x, images, "images", NN_MAX_DIMS, err);
    if (rc != 0)
        return rc;
    rc = idx_open(&y, labels, "labels", 1, err);
    if (rc == 0) {
        rc = combine(out, &x, &y, classes, divide, err);
        io_map_close(&y.map);
    }
    io_map_close(&x.map);
    return rc;
}
