/* Downloads from faultd (tests/server), which lies beside the test and does
 * what the first part of an address says. Every case has an empty cache and
 * addresses of its own, under which the server counts. */
#ifndef TESTS_UNIT_FETCH_CASE_H
#define TESTS_UNIT_FETCH_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/fetch.h"

struct attempt {
    /* what is asked for */
    const char *mirror[3];        /* behaviours; "https:X"; "refused:" */
    bool no_sha, no_size, pinned; /* pinned: sha256_unpacked too */
    int64_t retries;
    size_t stop_at; /* progress says stop from this many bytes on; 0: never */
    bool stop_waiting;          /* for another process */
    const char *first, *cacert; /* see pl_fetch_opts */
    bool public_only;
    /* what became of it */
    char cache[128], address[3][160], path[3][128];
    struct pl_fetched got;
    struct err err;
    struct str notes;
    double seconds;
    long live; /* blocks before it began */
};

#define AT(...) ((struct attempt){.mirror = {__VA_ARGS__}, .retries = 2})

/* The size and hash of what the server has. */
extern char fetch_packed_sha[65];
extern size_t fetch_packed_len;

int fetch_set_up(void **state); /* makes the folder, starts the server */
int fetch_tear_down(void **state);
void in_dir(char out[128], const char *name); /* "log", "cert.pem" */

/* The ports of the server. */
extern int fetch_port, fetch_tls_port;

/* A new cache and new addresses for a. */
void prepare(struct attempt *a);
int fetch(struct attempt *a);
/* Fetches in a child, which ends with 0 or the error code's negative. */
pid_t fetch_apart(struct attempt *a);
void check_contents(const struct attempt *a);
void end(struct attempt *a); /* frees; nothing may have leaked */

/* The ranges asked for under an address, as "-" and "1234-", blanks between;
 * returns how many requests there were. */
int requests(const char *path, char ranges[256]);
/* The entries of cache/sub. */
int count_files(const char *cache, const char *sub);

/* The file arrives, after n requests with these ranges. */
void expect_good(struct attempt a, int n, const char *ranges);
/* It does not, for this reason, after n requests; with a good mirror behind
 * the bad one it does. */
void expect_bad(struct attempt a, int n, const char *reason);

#endif
