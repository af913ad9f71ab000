/* One file by HTTP or HTTPS, with retries and resuming. */
#ifndef PIPELINE_FETCH_HTTP_H
#define PIPELINE_FETCH_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/err.h"

struct pl_http_get {
    const char *url;
    const char *shown;  /* its mirror as messages name it */
    const char *part;   /* the file that grows; made if it is not there */
    bool resume;        /* continue whatever part holds: a checksum will tell */
    uint64_t size;      /* bytes that are to come; 0: unknown */
    uint64_t max;       /* more than this is an error */
    const char *cache;  /* its file system must have room */
    const char *cacert; /* file of certificates, instead of the system's; or
                           NULL */
    const char *user_agent;
    bool public_only; /* connect to no address that is not public */
    double connect_timeout, stall_timeout; /* seconds, > 0 */
    double backoff;  /* seconds before the first further try; doubles */
    double jitter;   /* up to this fraction longer, so that many do not come
                        back at once */
    int64_t retries; /* further tries after 408, 429, 5xx, lost connections */
    /* Returning false stops the download; total 0: unknown. May be NULL. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void (*note)(void *user, const char *line); /* may be NULL */
    void *user;
};

/* On success part holds everything that the server had; *resumed says that
 * bytes from before stand at its start, or that the server had no more to
 * give: a wrong checksum is then no fault of this server yet. ERR_FETCH: the
 * server's fault, the message is the reason ("HTTP 404"); ERR_INTERRUPTED;
 * ERR_IO and ERR_NOMEM: ours. Proxies as libcurl takes them from http_proxy,
 * https_proxy, all_proxy and no_proxy. */
int pl_http_get(const struct pl_http_get *get, bool *resumed, struct err *err);

#endif
