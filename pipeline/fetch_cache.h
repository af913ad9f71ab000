/* The content-addressed cache of downloads:
 *
 *     CACHE/sha256/ab/abcdef...         a blob, named by its SHA-256
 *     CACHE/partial/KEY.part            a download that can be resumed
 *     CACHE/partial/KEY.lock            held while KEY is being fetched
 *     CACHE/partial/KEY.tmp-XXXXXX      a blob being written
 *
 * A blob appears by rename, whole or not at all. */
#ifndef PIPELINE_FETCH_CACHE_H
#define PIPELINE_FETCH_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/io.h"
#include "pipeline/hash.h"

/* The folder: dir, else $PIPELINE_CACHE, else $XDG_CACHE_HOME/pipeline, else
 * $HOME/.cache/pipeline. *out is the caller's (mem_free); nothing is made. */
int pl_cache_dir(char **out, const char *dir, struct err *err);

/* Texts of their own (mem_free); NULL: out of memory. */
char *pl_cache_blob(const char *cache, const char *hex);
char *pl_cache_partial(const char *cache, const char *key, const char *suffix);

/* 1: the blob is there and its contents have that hash (*bytes is its size);
 * 0: absent, or damaged: then *damaged is true; < 0: an error code. */
int pl_cache_check(const char *cache, const char *hex, uint64_t *bytes,
                   bool *damaged, struct err *err);

/* ERR_IO unless the file system of cache keeps 64 MiB free when `need` more
 * bytes are written. */
int pl_cache_room(const char *cache, uint64_t need, struct err *err);

/* One process at a time works on a key. wait(user) is asked about every 50 ms
 * whether to go on waiting (false: ERR_INTERRUPTED); NULL: always. Makes the
 * cache's folders; removes what a killed process left of KEY.tmp-*. */
struct pl_cache_lock {
    int fd;
    char *path;
};
int pl_cache_lock(struct pl_cache_lock *l, const char *cache, const char *key,
                  bool (*wait)(void *user), void *user, struct err *err);
void pl_cache_unlock(struct pl_cache_lock *l);

/* A blob being written; its name is known at the end. Begin with open; end
 * with commit (after a successful pl_blob_hash) or abort. */
struct pl_blob {
    const char *cache;
    struct io_out out;
    struct pl_hash *hash;
    uint64_t bytes;
    char hex[65];
};
int pl_blob_open(struct pl_blob *b, const char *cache, const char *key,
                 struct err *err);
int pl_blob_write(struct pl_blob *b, const void *data, size_t len,
                  struct err *err);
void pl_blob_hash(struct pl_blob *b); /* fills hex; no more writes */
int pl_blob_commit(struct pl_blob *b, struct err *err);
void pl_blob_abort(struct pl_blob *b);

/* Makes the finished file path, whose hash is hex, a blob. */
int pl_cache_adopt(const char *cache, const char *path, const char *hex,
                   struct err *err);

#endif
