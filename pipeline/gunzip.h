/* Unpacking gzip files, strictly: gzread calls a truncated file complete,
 * drops what follows the last member and passes an HTML page through. */
#ifndef PIPELINE_GUNZIP_H
#define PIPELINE_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"

struct pl_gunzip {
    const char *path; /* a file of one or more gzip members (RFC 1952) */
    const char *name; /* what messages call it; NULL: path */
    uint64_t max;     /* contents larger than this are an error (a bomb) */
    /* Takes the contents piece by piece; what it returns other than 0 ends
     * the work and is passed on. */
    int (*write)(void *user, const void *data, size_t len, struct err *err);
    void *user;
};

/* ERR_CORRUPT names path and offset: not gzip (an HTML page and an empty file
 * are called that), a member cut short, a wrong CRC or length, bytes behind
 * the last member, contents over max. *bytes is the size of the contents. */
int pl_gunzip(const struct pl_gunzip *g, uint64_t *bytes, struct err *err);

/* The first bytes of a file tell what it is. */
bool pl_is_gzip(const void *data, size_t len);
bool pl_is_html(const void *data, size_t len);

#endif
