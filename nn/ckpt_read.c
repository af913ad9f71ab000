#include "nn/ckpt.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "nn/base/arena.h"
#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/ckpt_format.h"

static uint64_t load_u64(const unsigned char *p)
{
    uint64_t v = 0;
    int i;

    for (i = 0; i < CKPT_LENGTH_BYTES; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* What nn_ckpt.own points to. */
struct own {
    struct arena texts; /* entries and metadata too */
    unsigned char *numbers;
};

/* A tensor as its header describes it. */
struct slot {
    struct nn_ckpt_entry e;
    uint64_t begin, end; /* bytes into the numbers */
};

struct reader {
    const char *path;
    const unsigned char *header, *numbers;
    size_t header_len, numbers_len;
    struct nn_ckpt *c;
    struct own *own;
    struct slot *slot;
};

static int no_memory(const char *path, struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
}

/* A zip or a pickle; the first bytes of a sound file may look the same, so
 * this is asked only of files that are not one. */
static bool is_pickle(const struct io_map *m)
{
    if (m->len < 2)
        return false;
    return memcmp(m->data, "PK", 2) == 0 ||
           (m->data[0] == 0x80 && m->data[1] >= 2 && m->data[1] <= 5);
}

/* Cuts the file into header and numbers. */
static int split(struct reader *r, const struct io_map *m, struct err *err)
{
    uint64_t len;

    if ((m->len <= CKPT_LENGTH_BYTES || m->data[CKPT_LENGTH_BYTES] != '{') &&
        is_pickle(m))
        return err_set(err, ERR_CORRUPT,
                       "'%s' is a pickle or zip as torch.save writes it: "
                       "loading one runs the code in it; save with "
                       "safetensors instead",
                       r->path);
    if (m->len <= CKPT_LENGTH_BYTES)
        return err_set(err, ERR_CORRUPT,
                       "'%s' at offset 0: %zu bytes are too few for a "
                       "safetensors file",
                       r->path, m->len);
    len = load_u64(m->data);
    if (len > CKPT_MAX_HEADER)
        return err_set(err, ERR_CORRUPT,
                       "'%s' is no safetensors file: its first 8 bytes would "
                       "be a header length of %" PRIu64 ", more than %d",
                       r->path, len, CKPT_MAX_HEADER);
    if (len > m->len - CKPT_LENGTH_BYTES)
        return err_set(err, ERR_CORRUPT,
                       "'%s' at offset 0: the header length %" PRIu64
                       " does not fit a file of %zu bytes",
                       r->path, len, m->len);
    if (len == 0 || m->data[CKPT_LENGTH_BYTES] != '{')
        return err_set(err, ERR_CORRUPT,
                       "'%s' at offset %d: the header does not begin with '{'",
                       r->path, CKPT_LENGTH_BYTES);
    r->header = m->data + CKPT_LENGTH_BYTES;
    r->header_len = (size_t)len;
    r->numbers = r->header + len;
    r->numbers_len = m->len - CKPT_LENGTH_BYTES - (size_t)len;
    return 0;
}

/* Bad fields of one tensor share one sentence. */
static int bad_tensor(const struct reader *r, const char *name,
                      const char *what, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "'%s': tensor '%s' %s", r->path, name,
                   what);
}

static int read_shape(const struct reader *r, const char *name,
                      const json_t *array, struct nn_shape *out,
                      struct err *err)
{
    size_t i, n = json_array_size(array); /* 0 for what is no array */

    if (!json_is_array(array))
        return bad_tensor(r, name, "has no array 'shape'", err);
    if (n > NN_MAX_DIMS)
        return err_set(err, ERR_CORRUPT,
                       "'%s': tensor '%s' has %zu dimensions, more than %d",
                       r->path, name, n, NN_MAX_DIMS);
    *out = nn_shape0();
    out->ndim = (int)n;
    for (i = 0; i < n; i++) {
        const json_t *dim = json_array_get(array, i);

        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return bad_tensor(r, name,
                              "has a dimension that is not a whole number "
                              "from 0 on",
                              err);
        out->dim[i] = json_integer_value(dim);
    }
    return 0;
}

static int read_offsets(const struct reader *r, const json_t *array,
                        struct slot *s, struct err *err)
{
    const json_t *begin = json_array_get(array, 0);
    const json_t *end = json_array_get(array, 1);
    uint64_t size;

    if (json_array_size(array) != 2 || !json_is_integer(begin) ||
        !json_is_integer(end) || json_integer_value(begin) < 0 ||
        json_integer_value(end) < json_integer_value(begin))
        return bad_tensor(r, s->e.name,
                          "has no 'data_offsets' of the form [begin, end]",
                          err);
    s->begin = (uint64_t)json_integer_value(begin);
    s->end = (uint64_t)json_integer_value(end);
    if (!nn_ckpt_bytes(s->e.dtype, &s->e.shape, &size))
        return bad_tensor(r, s->e.name, "has more bytes than can be counted",
                          err);
    if (size != s->end - s->begin)
        return err_set(err, ERR_CORRUPT,
                       "'%s': tensor '%s' needs %" PRIu64
                       " bytes by its shape, but its offsets %" PRIu64
                       " to %" PRIu64 " hold %" PRIu64,
                       r->path, s->e.name, size, s->begin, s->end,
                       s->end - s->begin);
    return 0;
}

static int read_tensor(struct reader *r, const char *name, const json_t *info,
                       struct slot *s, struct err *err)
{
    const char *dtype = json_string_value(json_object_get(info, "dtype"));
    int rc;

    s->e.name = arena_strdup(&r->own->texts, name);
    if (!s->e.name)
        return no_memory(r->path, err);
    if (json_object_size(info) != 3 || !dtype)
        return bad_tensor(r, name,
                          "is not described by 'dtype', 'shape' and "
                          "'data_offsets'",
                          err);
    if (!nn_ckpt_dtype_parse(dtype, &s->e.dtype))
        return err_set(err, ERR_CORRUPT,
                       "'%s': tensor '%s' has dtype '%s', which is none of "
                       "F64, F32, F16, BF16, U8, I32, I64",
                       r->path, name, dtype);
    rc = read_shape(r, name, json_object_get(info, "shape"), &s->e.shape, err);
    if (rc != 0)
        return rc;
    return read_offsets(r, json_object_get(info, "data_offsets"), s, err);
}

static int check_crc(const struct reader *r, const char *digits,
                     struct err *err)
{
    const unsigned char *h = r->header;
    size_t after = CKPT_HEAD_LEN + CKPT_CRC_DIGITS;
    char want[CKPT_CRC_DIGITS + 1];
    uLong crc;

    if (r->header_len > after && memcmp(h, CKPT_HEAD, CKPT_HEAD_LEN) == 0) {
        crc = crc32_z(0, h, CKPT_HEAD_LEN);
        crc = crc32_z(crc, (const unsigned char *)CKPT_CRC_ZEROS,
                      CKPT_CRC_DIGITS);
        crc = crc32_z(crc, h + after, r->header_len - after);
        crc = crc32_z(crc, r->numbers, r->numbers_len);
        nn_ckpt_crc_text(crc, want);
        if (strcmp(digits, want) == 0)
            return 0;
    }
    return err_set(err, ERR_CORRUPT,
                   "'%s' at offset %d: the file does not match its crc32 "
                   "'%s': it is damaged, or was changed by a program that "
                   "kept __metadata__.crc32",
                   r->path, CKPT_LENGTH_BYTES, digits);
}

static int read_metadata(struct reader *r, json_t *map, struct err *err)
{
    struct nn_ckpt *c = r->c;
    const char *key;
    json_t *value;

    if (!json_is_object(map))
        return err_set(err, ERR_CORRUPT, "'%s': __metadata__ is not an object",
                       r->path);
    c->meta =
        arena_array(&r->own->texts, json_object_size(map) + 1, sizeof *c->meta);
    if (!c->meta)
        return no_memory(r->path, err);
    json_object_foreach(map, key, value)
    {
        struct nn_ckpt_meta *m = &c->meta[c->n_meta];

        if (!json_is_string(value))
            return err_set(err, ERR_CORRUPT,
                           "'%s': __metadata__ '%s' is not a text", r->path,
                           key);
        if (strcmp(key, "crc32") == 0)
            continue;
        m->key = arena_strdup(&r->own->texts, key);
        m->value = arena_strdup(&r->own->texts, json_string_value(value));
        if (!m->key || !m->value)
            return no_memory(r->path, err);
        c->n_meta++;
    }
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The tensors must cover the numbers one after the other. */
static int check_cover(const struct reader *r, struct err *err)
{
    uint64_t at = 0;
    size_t i;

    for (i = 0; i < r->c->n; i++) {
        const struct slot *s = &r->slot[i];

        if (s->begin != at)
            return err_set(err, ERR_CORRUPT,
                           "'%s': tensor '%s' begins at offset %" PRIu64
                           " of the numbers, but the one before it ends at "
                           "%" PRIu64,
                           r->path, s->e.name, s->begin, at);
        at = s->end;
    }
    if (at != r->numbers_len)
        return err_set(err, ERR_CORRUPT,
                       "'%s' has %zu bytes of numbers, but its header "
                       "describes %" PRIu64,
                       r->path, r->numbers_len, at);
    return 0;
}

/* Copies the numbers, each tensor to a place aligned to 8. Their size is that
 * of the file at most, and 7 bytes a tensor. */
static int copy_numbers(struct reader *r, struct err *err)
{
    struct nn_ckpt *c = r->c;
    size_t i, at = 0;

    c->entry = arena_array(&r->own->texts, c->n + 1, sizeof *c->entry);
    r->own->numbers = mem_alloc_aligned(r->numbers_len + c->n * CKPT_ALIGN);
    if (!c->entry || !r->own->numbers)
        return no_memory(r->path, err);
    for (i = 0; i < c->n; i++) {
        const struct slot *s = &r->slot[i];
        size_t size = (size_t)(s->end - s->begin);

        c->entry[i] = s->e;
        c->entry[i].data = r->own->numbers + at;
        memcpy(r->own->numbers + at, r->numbers + s->begin, size);
        at += (size + CKPT_ALIGN - 1) / CKPT_ALIGN * CKPT_ALIGN;
    }
    return 0;
}

static int read_header(struct reader *r, json_t *root, struct err *err)
{
    json_t *map = json_object_get(root, "__metadata__"), *info;
    const json_t *crc = json_object_get(map, "crc32");
    const char *name;
    int rc = 0;

    r->slot = mem_array(json_object_size(root) + 1, sizeof *r->slot);
    if (!r->slot)
        return no_memory(r->path, err);
    if (json_is_string(crc))
        rc = check_crc(r, json_string_value(crc), err);
    if (rc == 0 && map)
        rc = read_metadata(r, map, err);
    json_object_foreach(root, name, info)
    {
        if (rc != 0)
            return rc;
        if (info != map)
            rc = read_tensor(r, name, info, &r->slot[r->c->n++], err);
    }
    if (rc != 0)
        return rc;
    qsort(r->slot, r->c->n, sizeof *r->slot, by_offset);
    rc = check_cover(r, err);
    return rc != 0 ? rc : copy_numbers(r, err);
}

static int read_mapped(struct reader *r, const struct io_map *m,
                       struct err *err)
{
    json_error_t e = {0};
    json_t *root;
    int rc;

    rc = split(r, m, err);
    if (rc != 0)
        return rc;
    root = json_loadb((const char *)r->header, r->header_len,
                      JSON_REJECT_DUPLICATES, &e);
    if (!root)
        return nn_ckpt_json_failed("reading", r->path, ERR_CORRUPT, &e, err);
    rc = read_header(r, root, err);
    json_decref(root);
    return rc;
}

int nn_ckpt_read(struct nn_ckpt **out, const char *path, struct err *err)
{
    struct reader r = {.path = path};
    struct io_map m;
    int rc;

    *out = NULL;
    rc = io_map_open(&m, path, err);
    if (rc != 0)
        return rc;
    r.c = mem_zalloc(sizeof *r.c);
    r.own = mem_zalloc(sizeof *r.own);
    if (r.c && r.own) {
        r.c->own = r.own;
        rc = read_mapped(&r, &m, err);
    } else {
        mem_free(r.own);
        rc = no_memory(path, err);
    }
    mem_free(r.slot);
    io_map_close(&m);
    if (rc == 0)
        *out = r.c;
    else
        nn_ckpt_free(r.c);
    return rc;
}

void nn_ckpt_free(struct nn_ckpt *c)
{
    struct own *own = c ? c->own : NULL;

    if (own) {
        arena_free(&own->texts);
        mem_free_aligned(own->numbers);
        mem_free(own);
    }
    mem_free(c);
}
