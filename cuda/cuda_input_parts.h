/* Between the files of cuda_input*.c. */
#ifndef CUDA_INPUT_PARTS_H
#define CUDA_INPUT_PARTS_H

#include "cuda/cuda_backend.h"
#include "nn/data.h"

/* A BATCH call in plain numbers. */
struct batch {
    const struct nn_batch_source *source;
    const struct nn_data *data;
    struct nn_tensor *x, *y; /* y may be NULL */
    int64_t n, len;          /* samples, numbers of one */
    int64_t width;           /* numbers of a sample's y */
};

static inline int64_t batch_sample(const struct nn_batch_source *s, int64_t i)
{
    return s->order ? s->order[s->first + i] : s->first + i;
}

/* The row of the data's arrays where sample i of the batch lies. */
static inline int64_t batch_row(const struct batch *b, int64_t i)
{
    int64_t k = batch_sample(b->source, i);

    return b->data->rows ? b->data->rows[k] : k;
}

/* ---- cuda_input_device.c ---- */

struct cuda_resident; /* data sets and indices on the device */

int cuda_resident_new(struct cuda_resident **out, struct err *err);
/* NULL is fine, as r and, before anything was begun, as cu. */
void cuda_resident_free(struct cuda_resident *r, struct cuda *cu);
void cuda_resident_forget(struct cuda_resident *r, struct cuda *cu);
/* Uploads the set, if it is not there, and the batch's rows. */
int cuda_resident_begin(struct cuda_resident *r, struct cuda *cu,
                        const struct batch *b, struct err *err);
/* Puts the gathering on the stream. */
int cuda_resident_gather(struct cuda_resident *r, struct cuda *cu,
                         const struct batch *b, struct err *err);

/* ---- cuda_input_host.c ---- */

struct cuda_staging; /* batches in pinned memory, with their place ahead */

int cuda_staging_new(struct cuda_staging **out, struct err *err);
/* NULL is fine, as s and, before anything was copied, as cu. */
void cuda_staging_free(struct cuda_staging *s, struct cuda *cu);
void cuda_staging_forget(struct cuda_staging *s);
int cuda_staging_copy(struct cuda_staging *s, struct cuda *cu,
                      const struct batch *b, struct err *err);
/* The same through pageable memory, of one call. */
int cuda_pageable_copy(struct cuda_staging *s, struct cuda *cu,
                       const struct batch *b, struct err *err);

#endif
