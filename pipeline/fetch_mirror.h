/* One file from one mirror: a folder or an http(s) address. */
#ifndef PIPELINE_FETCH_MIRROR_H
#define PIPELINE_FETCH_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "pipeline/fetch.h"

/* mirror/path, percent-encoded below an address; the caller's (mem_free);
 * NULL: out of memory. */
char *pl_mirror_place(const char *mirror, const char *path);

struct pl_mirror_get {
    const char *place; /* from pl_mirror_place */
    const char *shown; /* the mirror as messages name it */
    const char *name;  /* for progress: "mnist/train-images-idx3-ubyte.gz" */
    const char *part;  /* filled; see pl_http_get */
    const char *cache;
    bool resume, public_only;
    uint64_t size;                    /* 0: unknown */
    const struct pl_fetch_opts *opts; /* zero values replaced by defaults */
};

/* As pl_http_get: ERR_FETCH with the mirror's fault as the message. */
int pl_mirror_fetch(const struct pl_mirror_get *get, bool *resumed,
                    struct err *err);

#endif
