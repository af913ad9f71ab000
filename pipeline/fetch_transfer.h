/* Inside of fetch_http.c and fetch_transfer.c: one answer coming in. */
#ifndef PIPELINE_FETCH_TRANSFER_H
#define PIPELINE_FETCH_TRANSFER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "pipeline/fetch_http.h"

/* What a try came to. */
enum pl_outcome { PL_DONE, PL_RETRY, PL_RESTART, PL_FAIL };

struct pl_transfer {
    const struct pl_http_get *get;
    CURL *curl;
    int fd;
    uint64_t at;    /* bytes in the part that count */
    uint64_t asked; /* Range begins here; 0: none asked for */
    uint64_t total; /* expected in the part at the end; 0: unknown */
    char etag[128]; /* a strong one, of what the part holds; or "" */
    bool resumed;
    /* of the response that is coming in */
    char new_etag[128];
    bool ranged, body; /* a Content-Range was seen; a first byte was */
    bool inside;       /* an address was refused since it is not public */
    uint64_t range_at;
    double moving;  /* when the window for the stall check began; 0: not yet */
    uint64_t moved; /* bytes in the part then */
    enum pl_outcome outcome; /* decided in a callback, which then stops curl */
    struct err why;
    char curl_says[CURL_ERROR_SIZE];
};

/* Lets t->curl send what comes to t->part, and stop at a stall. */
CURLcode pl_transfer_attach(struct pl_transfer *t);

/* Decides, before the first byte, whether it goes behind what we have. first:
 * n bytes of the answer. 0: it does not; t->outcome and t->why say more. */
size_t pl_transfer_body(struct pl_transfer *t, const char *first, size_t n);

/* Tells how far it is; false: the user wants it to stop. */
bool pl_transfer_wanted(const struct pl_transfer *t);

#endif
