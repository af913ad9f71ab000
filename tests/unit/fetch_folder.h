/* Downloads from mirrors that are folders. */
#ifndef TESTS_UNIT_FETCH_FOLDER_H
#define TESTS_UNIT_FETCH_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/fetch.h"

/* What the good mirror has: a small text, plain or as one gzip member. */
extern const char fetch_text[];
extern char fetch_text_sha[65], fetch_packed_sha[65];

/* One file `path` of a data set "d" with mirrors DIR/m0 and DIR/m1; every case
 * begins with an empty DIR. */
struct job {
    struct pl_data_file file;
    struct pl_dataset ds;
    struct pl_fetch_opts opts;
    char mirror[2][64], cache[64];
    const char *mirrors[2];
    struct pl_fetched got;
    struct err err;
    struct str notes;
    long live;
    bool stop;
};

int fetch_set_up(void **state); /* makes DIR */
int fetch_tear_down(void **state);

void begin(struct job *j, const char *path);
int fetch(struct job *j);
void end(struct job *j); /* frees; nothing may have leaked */
/* Code, and a part of the message. */
void expect_bad(struct job *j, int code, const char *part);
void expect_good(struct job *j); /* the text arrives */

/* DIR/sub/name; valid until the fourth call from now. */
const char *at(const char *sub, const char *name);
void put(const char *sub, const char *name, const void *data, size_t n);
size_t put_packed(const char *sub, const char *name); /* the text; its size */
int count(const char *sub);                           /* entries of DIR/sub */
/* text as one gzip member; returns its size. */
size_t pack(unsigned char *out, size_t size, const char *text, size_t n);

#endif
