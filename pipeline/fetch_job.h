/* Inside of fetch.c, fetch_try.c and fetch_unpack.c: one file on its way. */
#ifndef PIPELINE_FETCH_JOB_H
#define PIPELINE_FETCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/fetch.h"

struct pl_fetch_run {
    const struct pl_dataset *ds;
    struct pl_fetch_opts opts; /* defaults filled in */
    char *cache;
    size_t *failed; /* a mirror: the number of the last file it failed for */
};

struct pl_fetch_job {
    struct pl_fetch_run *f;
    const struct pl_data_file *file;
    struct pl_fetched_file *out;
    size_t number;      /* of the file, from 1 */
    char *label;        /* "mnist/train-images-idx3-ubyte.gz" */
    char key[65];       /* of its lock and its partial download */
    char *part;         /* where a mirror's bytes go */
    struct str reasons; /* "\n  MIRROR: REASON" each */
    bool waiting;       /* for another process, and said so */
};

void pl_fetch_note(const struct pl_fetch_run *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Tries the mirrors until one gives the file. ERR_FETCH: none did; ERR_CORRUPT:
 * the file is the one that the config's hash asks for, its contents are not. */
int pl_fetch_mirrors(struct pl_fetch_job *j, struct err *err);

/* From the file `path`, whose hash is hex, to the contents in the cache and in
 * j->out. A plain file is its own contents, and the caller makes it a blob.
 * ERR_CORRUPT: it cannot be unpacked, or other contents were asked for. */
int pl_fetch_unpack(struct pl_fetch_job *j, const char *path, const char *hex,
                    uint64_t bytes, struct err *err);

/* Writes into j->out that the contents are the blob of hex. */
int pl_fetch_keep(struct pl_fetch_job *j, const char *hex, uint64_t bytes,
                  struct err *err);

/* The first *n bytes of a file; fewer than size only if it has no more. */
int pl_fetch_peek(unsigned char *buf, size_t size, size_t *n, const char *path,
                  struct err *err);

#endif
