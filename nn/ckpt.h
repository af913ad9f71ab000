/* Checkpoints as safetensors files: 8 bytes of header length (little-endian),
 * a JSON header, the numbers, little-endian and row-major
 * (huggingface/safetensors, README "Format"). Python reads them without us. */
#ifndef NN_CKPT_H
#define NN_CKPT_H

#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/tensor.h"

/* One tensor in a file. name and data are borrowed by the writer, and owned by
 * the nn_ckpt that the reader gives. */
struct nn_ckpt_entry {
    const char *name;
    enum nn_dtype dtype;
    struct nn_shape shape;
    const void *data; /* row-major, numel * size of dtype bytes, aligned to 8 */
};
struct nn_ckpt_meta {
    const char *key, *value; /* __metadata__ holds texts only */
};

/* Writes atomically (io_out). Entries stand in the order given; equal input
 * gives equal bytes. __metadata__.crc32 comes first and is the CRC-32 of the
 * header, with these eight digits as zeros, and the numbers. ERR_SHAPE for a
 * shape that no tensor has, ERR_CONFIG for a name twice, "__metadata__" as a
 * name, "crc32" as a key, and text that is not UTF-8. */
int nn_ckpt_write(const char *path, const struct nn_ckpt_entry *entry, size_t n,
                  const struct nn_ckpt_meta *meta, size_t n_meta,
                  struct err *err);

/* Entries in the order of their numbers; meta in the order of the header,
 * without crc32. */
struct nn_ckpt {
    struct nn_ckpt_entry *entry;
    size_t n;
    struct nn_ckpt_meta *meta;
    size_t n_meta;
    void *own; /* the numbers and all texts */
};
/* Reads and checks everything: header length, JSON, types, shapes against
 * offsets, no gaps or overlaps, file length, CRC where present (files made by
 * others have none). A pickle (.pt, .pth: zip or 0x80 start) is refused by
 * name: it is code. ERR_CORRUPT names path and offset, or the tensor. */
int nn_ckpt_read(struct nn_ckpt **out, const char *path, struct err *err);
void nn_ckpt_free(struct nn_ckpt *c); /* NULL is fine */

const struct nn_ckpt_entry *nn_ckpt_find(const struct nn_ckpt *c,
                                         const char *name); /* or NULL */
const char *nn_ckpt_meta(const struct nn_ckpt *c,
                         const char *key); /* or NULL */
/* The entry, checked for type and shape: ERR_CORRUPT says what differs. */
int nn_ckpt_need(const struct nn_ckpt *c, const char *path, const char *name,
                 enum nn_dtype dtype, const struct nn_shape *shape,
                 const struct nn_ckpt_entry **out, struct err *err);

#endif
