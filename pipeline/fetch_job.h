/* Inside of fetch.c, fetch_source.c, fetch_try.c and fetch_unpack.c: one file
 * on its way. */
#ifndef PIPELINE_FETCH_JOB_H
#define PIPELINE_FETCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/fetch.h"

/* A mirror. */
struct pl_fetch_source {
    const char *place; /* a folder or an address; borrowed */
    char *shown;       /* the same without user and password */
    size_t failed;     /* the number of the last file that it failed for */
    char *reason;      /* why it did not give the file at hand; or NULL */
};

struct pl_fetch_run {
    const struct pl_dataset *ds;
    struct pl_fetch_opts opts; /* defaults filled in */
    char *cache;
    struct pl_fetch_source *source; /* in the order in which they are tried */
    size_t n_sources;
};

struct pl_fetch_job {
    struct pl_fetch_run *f;
    const struct pl_data_file *file;
    struct pl_fetched_file *out;
    size_t number; /* of the file, from 1 */
    char *label;   /* "mnist/train-images-idx3-ubyte.gz" */
    char key[65];  /* of its lock and its partial download */
    char *part;    /* where a mirror's bytes go */
    bool waiting;  /* for another process, and said so */
};

void pl_fetch_note(const struct pl_fetch_run *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Lists opts.mirror, then those of the data set. End with close either way. */
int pl_fetch_sources_open(struct pl_fetch_run *f, struct err *err);
void pl_fetch_sources_close(struct pl_fetch_run *f);
/* The reasons, before the next file. */
void pl_fetch_sources_forget(struct pl_fetch_run *f);
/* ERR_FETCH with every mirror and its reason, one a line; shortened, where the
 * message would be too long, to the host and the beginning of the reason. */
int pl_fetch_sources_error(const struct pl_fetch_job *j, struct err *err);

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
