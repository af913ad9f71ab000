#include "nn/ckpt.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "nn/base/io.h"
#include "nn/base/str.h"
#include "nn/ckpt_format.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are written as they lie in memory");

static const struct {
    const char *name;
    enum nn_dtype dtype;
} dtypes[] = {
    {"F64", NN_F64}, {"F32", NN_F32}, {"F16", NN_F16}, {"BF16", NN_BF16},
    {"U8", NN_U8},   {"I32", NN_I32}, {"I64", NN_I64},
};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

const char *nn_ckpt_dtype_text(enum nn_dtype dtype)
{
    size_t i;

    for (i = 0; i < N_DTYPES; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return NULL;
}

bool nn_ckpt_dtype_parse(const char *text, enum nn_dtype *out)
{
    size_t i;

    for (i = 0; i < N_DTYPES; i++)
        if (strcmp(dtypes[i].name, text) == 0) {
            *out = dtypes[i].dtype;
            return true;
        }
    return false;
}

bool nn_ckpt_bytes(enum nn_dtype dtype, const struct nn_shape *shape,
                   uint64_t *out)
{
    int64_t n = (int64_t)nn_dtype_size(dtype);
    int i;

    for (i = 0; i < shape->ndim; i++)
        if (shape->dim[i] < 0 || __builtin_mul_overflow(n, shape->dim[i], &n))
            return false;
    *out = (uint64_t)n;
    return true;
}

void nn_ckpt_crc_text(unsigned long crc, char out[CKPT_CRC_DIGITS + 1])
{
    static const char hex[] = "0123456789abcdef";
    int i;

    for (i = 0; i < CKPT_CRC_DIGITS; i++)
        out[i] = hex[crc >> (28 - 4 * i) & 15];
    out[CKPT_CRC_DIGITS] = '\0';
}

static void store_u64(unsigned char *p, uint64_t v)
{
    int i;

    for (i = 0; i < CKPT_LENGTH_BYTES; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

static void add_json_text(struct str *s, const char *text)
{
    str_addc(s, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20)
            str_addf(s, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            str_addf(s, "\\%c", c);
        else
            str_addc(s, (char)c);
    }
    str_addc(s, '"');
}

static int add_entry(struct str *s, const struct nn_ckpt_entry *e,
                     uint64_t *offset, const char *path, struct err *err)
{
    const char *dtype = nn_ckpt_dtype_text(e->dtype);
    uint64_t size;
    int i;

    if (!dtype || e->shape.ndim < 0 || e->shape.ndim > NN_MAX_DIMS ||
        !nn_ckpt_bytes(e->dtype, &e->shape, &size) ||
        size > INT64_MAX - *offset)
        return err_set(err, ERR_SHAPE,
                       "cannot write '%s': the type or shape of tensor '%s' "
                       "cannot be stored",
                       path, e->name);
    str_addc(s, ',');
    add_json_text(s, e->name);
    str_addf(s, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
    for (i = 0; i < e->shape.ndim; i++)
        str_addf(s, "%s%" PRId64, i ? "," : "", e->shape.dim[i]);
    str_addf(s, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *offset,
             *offset + size);
    *offset += size;
    return 0;
}

int nn_ckpt_json_failed(const char *what, const char *path, int code,
                        const json_error_t *e, struct err *err)
{
    if (json_error_code(e) == json_error_out_of_memory || e->text[0] == '\0')
        return err_set(err, ERR_NOMEM, "out of memory %s '%s'", what, path);
    return err_set(
        err, code, "'%s' at offset %zu: the header is not sound: %s", path,
        CKPT_LENGTH_BYTES + (size_t)(e->position > 0 ? e->position : 0),
        e->text);
}

/* What cannot be read back is not written: a name twice, text not UTF-8. */
static int check_header(const struct str *s, const char *path, struct err *err)
{
    json_error_t e = {0};
    json_t *root = json_loadb(s->text, s->len, JSON_REJECT_DUPLICATES, &e);

    if (!root)
        return nn_ckpt_json_failed("writing", path, ERR_CONFIG, &e, err);
    json_decref(root);
    if (s->len > CKPT_MAX_HEADER)
        return err_set(err, ERR_CONFIG,
                       "cannot write '%s': its header of %zu bytes is longer "
                       "than %d",
                       path, s->len, CKPT_MAX_HEADER);
    return 0;
}

static int make_header(struct str *s, const struct nn_ckpt_entry *entry,
                       size_t n, const struct nn_ckpt_meta *meta, size_t n_meta,
                       const char *path, struct err *err)
{
    uint64_t offset = 0;
    size_t i;
    int rc;

    str_add(s, CKPT_HEAD);
    str_add(s, CKPT_CRC_ZEROS);
    str_addc(s, '"');
    for (i = 0; i < n_meta; i++) {
        str_addc(s, ',');
        add_json_text(s, meta[i].key);
        str_addc(s, ':');
        add_json_text(s, meta[i].value);
    }
    str_addc(s, '}');
    for (i = 0; i < n; i++) {
        rc = add_entry(s, &entry[i], &offset, path, err);
        if (rc != 0)
            return rc;
    }
    str_addc(s, '}');
    while (s->len % CKPT_ALIGN != 0 && !s->failed)
        str_addc(s, ' ');
    if (s->failed)
        return err_set(err, ERR_NOMEM, "out of memory writing '%s'", path);
    return check_header(s, path, err);
}

static uint64_t entry_bytes(const struct nn_ckpt_entry *e)
{
    uint64_t size = 0;

    (void)nn_ckpt_bytes(e->dtype, &e->shape, &size);
    return size;
}

/* header holds zeros where the CRC's digits go. */
static void fill_crc(struct str *header, const struct nn_ckpt_entry *entry,
                     size_t n)
{
    char digits[CKPT_CRC_DIGITS + 1];
    uLong crc = crc32_z(0, (const unsigned char *)header->text, header->len);
    size_t i;

    for (i = 0; i < n; i++)
        if (entry_bytes(&entry[i]) > 0)
            crc = crc32_z(crc, entry[i].data, entry_bytes(&entry[i]));
    nn_ckpt_crc_text(crc, digits);
    memcpy(header->text + CKPT_HEAD_LEN, digits, CKPT_CRC_DIGITS);
}

static int write_all(const char *path, const struct str *header,
                     const struct nn_ckpt_entry *entry, size_t n,
                     struct err *err)
{
    unsigned char length[CKPT_LENGTH_BYTES];
    struct io_out o;
    size_t i;
    int rc;

    rc = io_out_open(&o, path, err);
    if (rc != 0)
        return rc;
    store_u64(length, header->len);
    rc = io_out_write(&o, length, sizeof length, err);
    if (rc == 0)
        rc = io_out_write(&o, header->text, header->len, err);
    for (i = 0; rc == 0 && i < n; i++)
        rc = io_out_write(&o, entry[i].data, entry_bytes(&entry[i]), err);
    if (rc == 0)
        return io_out_commit(&o, err);
    io_out_abort(&o);
    return rc;
}

int nn_ckpt_write(const char *path, const struct nn_ckpt_entry *entry, size_t n,
                  const struct nn_ckpt_meta *meta, size_t n_meta,
                  struct err *err)
{
    struct str header = {0};
    int rc = make_header(&header, entry, n, meta, n_meta, path, err);

    if (rc == 0) {
        fill_crc(&header, entry, n);
        rc = write_all(path, &header, entry, n, err);
    }
    str_free(&header);
    return rc;
}

const struct nn_ckpt_entry *nn_ckpt_find(const struct nn_ckpt *c,
                                         const char *name)
{
    size_t i;

    for (i = 0; i < c->n; i++)
        if (strcmp(c->entry[i].name, name) == 0)
            return &c->entry[i];
    return NULL;
}

const char *nn_ckpt_meta(const struct nn_ckpt *c, const char *key)
{
    size_t i;

    for (i = 0; i < c->n_meta; i++)
        if (strcmp(c->meta[i].key, key) == 0)
            return c->meta[i].value;
    return NULL;
}

int nn_ckpt_need(const struct nn_ckpt *c, const char *path, const char *name,
                 enum nn_dtype dtype, const struct nn_shape *shape,
                 const struct nn_ckpt_entry **out, struct err *err)
{
    const struct nn_ckpt_entry *e = nn_ckpt_find(c, name);
    char has[128], want[128];

    *out = NULL;
    if (!e)
        return err_set(err, ERR_CORRUPT, "'%s' has no tensor '%s'", path, name);
    if (e->dtype != dtype)
        return err_set(err, ERR_CORRUPT,
                       "'%s': tensor '%s' is %s where %s is due", path, name,
                       nn_dtype_name(e->dtype), nn_dtype_name(dtype));
    if (!nn_shape_eq(&e->shape, shape))
        return err_set(err, ERR_CORRUPT,
                       "'%s': tensor '%s' has the shape %s where %s is due",
                       path, name, nn_shape_text(&e->shape, has, sizeof has),
                       nn_shape_text(shape, want, sizeof want));
    *out = e;
    return 0;
}
