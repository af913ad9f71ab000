/* Files: read whole, map, and replace atomically. Every message names the
 * path, and the offset where there is one. */
#ifndef NN_BASE_IO_H
#define NN_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"

/* The whole file with a NUL behind it; *out is the caller's (mem_free).
 * ERR_IO if it is larger than max bytes. */
int io_read_file(char **out, size_t *len, const char *path, size_t max,
                 struct err *err);

/* Write a file so that readers see the old or the new content, never a part:
 * a temporary name in the same folder, fsync, rename, fsync of the folder. */
int io_write_file(const char *path, const void *data, size_t len,
                  struct err *err);

/* The same in pieces. After a failed call only io_out_abort is of use. */
struct io_out {
    int fd;
    char *path, *temp;
    unsigned char *buf;
    size_t fill;
    uint64_t written;
};
int io_out_open(struct io_out *o, const char *path, struct err *err);
int io_out_write(struct io_out *o, const void *data, size_t len,
                 struct err *err);
int io_out_commit(struct io_out *o, struct err *err); /* also closes */
void io_out_abort(struct io_out *o); /* removes the temporary */

/* Every temporary is NAME followed by this and six letters: what a killed run
 * left is known by its name. */
#define IO_TEMP_MARK ".tmp-"
bool io_is_temp(const char *name);

/* A read-only mapping of a whole file. An empty file gives data NULL. */
struct io_map {
    const unsigned char *data;
    size_t len;
};
int io_map_open(struct io_map *m, const char *path, struct err *err);
void io_map_close(struct io_map *m);

int io_mkdirs(const char *path, struct err *err); /* like mkdir -p */
bool io_exists(const char *path);
/* Texts of their own (mem_free); NULL: out of memory. */
char *io_join(const char *dir, const char *name); /* absolute name: name */
char *io_dirname(const char *path);               /* "." if there is none */
const char *io_basename(const char *path);        /* a pointer into path */

#endif
