/* Downloads: mirrors in turn, SHA-256, gunzip, a content-addressed cache. */
#ifndef PIPELINE_FETCH_H
#define PIPELINE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "pipeline/dataset.h"

/* Where a fetched, unpacked file lies. */
struct pl_fetched_file {
    char role[64];
    char *name;      /* below the mirror; owned */
    char packed[65]; /* SHA-256 as fetched: the config's, or found out when it
                        gives neither hash; "": it gives that of the contents */
    char sha256[65]; /* of the unpacked contents */
    uint64_t bytes;  /* of the unpacked contents */
    char *path;      /* in the cache; owned */
};
struct pl_fetched {
    struct pl_fetched_file *file;
    size_t n;
};
void pl_fetched_free(struct pl_fetched *f);
/* The cached path of a role, or NULL. */
const char *pl_fetched_path(const struct pl_fetched *f, const char *role);

struct pl_fetch_opts {
    const char *cache;  /* NULL: $PIPELINE_CACHE, else $XDG_CACHE_HOME/pipeline,
                           else $HOME/.cache/pipeline */
    const char *mirror; /* a folder or an address, tried before those of the
                           data set; NULL: $PIPELINE_MIRROR, if that is set */
    const char *cacert; /* file of the certificates that are trusted; NULL:
                           $CURL_CA_BUNDLE, else $SSL_CERT_FILE, else the
                           system's */
    const char *user_agent; /* NULL: "pipeline" */
    bool offline;           /* folders and the cache only */
    bool public_only; /* no mirror of the data set may lead, by its name or by a
                         redirect, to this machine or a private network; with a
                         proxy, which then decides, there are no exceptions */
    double connect_timeout, stall_timeout; /* seconds; 0: 10 and 30 */
    int64_t retries;                       /* a mirror's further tries; -1: 3 */
    double backoff;     /* seconds before the first of them; doubles; 0: 1 */
    uint64_t max_bytes; /* of a file, packed or unpacked; 0: 4 GiB */
    /* Called now and then; total is 0 when unknown. Returning false stops the
     * download (ERR_INTERRUPTED). May be NULL. */
    bool (*progress)(void *user, const char *name, uint64_t done,
                     uint64_t total);
    /* One line of what was done: "mnist/train-images... from FOLDER". Lines
     * that begin with "warning: " are of interest even to who wants none. */
    void (*note)(void *user, const char *line);
    void *user;
};

/* What can be told of `mirror` and `cacert` (NULL: not given) beforehand:
 * ERR_CONFIG if the one is neither a folder nor http(s), the other no file that
 * can be read. */
int pl_fetch_check(const char *mirror, const char *cacert, struct err *err);

/* True for a name that may stand below a mirror and in a cache: relative,
 * without "..", empty parts, parts that begin with '-' or '.', backslashes
 * or control characters. */
bool pl_fetch_name_ok(const char *path);

/* Brings every file of ds into the cache, verified and unpacked: mirrors in
 * turn, those that failed for an earlier file last. A file is gzip by its
 * first bytes, not by its name; any other is taken as it is. ERR_FETCH lists
 * every mirror with its reason, one a line; ERR_IO when the cache cannot be
 * written; ERR_INTERRUPTED when progress said so: a download then goes on
 * where it stood next time. On success the caller owns *out.
 * No message shows the user and password of an address. */
int pl_fetch_dataset(struct pl_fetched *out, const struct pl_dataset *ds,
                     const struct pl_fetch_opts *opts, struct err *err);

/* The record of a fetch as files.json (a fetch stage's artifact), and back;
 * paths are found again in the cache. ERR_FETCH if a blob is gone or has
 * another size, ERR_CORRUPT if the record is not one. */
int pl_fetched_write(const struct pl_fetched *f, const char *path,
                     struct err *err);
int pl_fetched_read(struct pl_fetched *out, const char *path, const char *cache,
                    struct err *err);

#endif
