#include "pipeline/fetch_transfer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/fetch_cache.h"
#include "pipeline/gunzip.h"

enum { STALL_BYTES_PER_S = 100 }; /* slower than this is a stall */

/* Stops the transfer: 0 bytes taken makes curl give up. */
static size_t stop(struct pl_transfer *t, enum pl_outcome outcome)
{
    t->outcome = outcome;
    return 0;
}

/* The value of a header line that begins with name, or NULL; *len is without
 * the blanks around it. */
static const char *header_value(const char *line, size_t n, const char *name,
                                size_t *len)
{
    size_t k = strlen(name);
    const char *end = line + n;

    if (n < k || strncasecmp(line, name, k) != 0)
        return NULL;
    line += k;
    while (line < end && isspace((unsigned char)*line))
        line++;
    while (end > line && isspace((unsigned char)end[-1]))
        end--;
    *len = (size_t)(end - line);
    return line;
}

/* "bytes 100-199/200" */
static void take_range(struct pl_transfer *t, const char *v, size_t n)
{
    char text[64] = "";

    if (n >= sizeof text)
        return;
    memcpy(text, v, n);
    if (strncasecmp(text, "bytes ", 6) == 0 &&
        isdigit((unsigned char)text[6])) {
        t->ranged = true;
        t->range_at = strtoull(text + 6, NULL, 10);
    }
}

static size_t on_header(char *line, size_t size, size_t n, void *user)
{
    struct pl_transfer *t = user;
    const char *v;
    size_t len;

    n *= size;
    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) { /* a redirect's end */
        t->new_etag[0] = '\0';
        t->ranged = false;
    } else if ((v = header_value(line, n, "ETag:", &len)) != NULL) {
        if (v[0] == '"' && len < sizeof t->new_etag) {
            memcpy(t->new_etag, v, len);
            t->new_etag[len] = '\0';
        }
    } else if ((v = header_value(line, n, "Content-Range:", &len)) != NULL)
        take_range(t, v, len);
    return n;
}

/* first: the first n bytes of the answer. */
static size_t check_length(struct pl_transfer *t, const char *first, size_t n)
{
    const struct pl_http_get *g = t->get;
    curl_off_t rest = -1;

    (void)curl_easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &rest);
    t->total = rest >= 0 ? t->at + (uint64_t)rest : g->size;
    if (g->size && t->total != g->size) {
        if (pl_is_html(first, n))
            err_set(&t->why, ERR_FETCH,
                    "looks like an HTML page, not the file");
        else
            err_set(&t->why, ERR_FETCH, "has %llu bytes, not %llu",
                    (unsigned long long)t->total, (unsigned long long)g->size);
        return stop(t, PL_FAIL);
    }
    if (t->total > t->at &&
        pl_cache_room(g->cache, t->total - t->at, &t->why) != 0)
        return stop(t, PL_FAIL);
    return 1;
}

size_t pl_transfer_body(struct pl_transfer *t, const char *first, size_t n)
{
    long code = 0;

    t->body = true;
    (void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code == 206 && t->asked) {
        if (!t->ranged || t->range_at != t->asked ||
            (t->etag[0] && t->new_etag[0] && strcmp(t->etag, t->new_etag) != 0))
            return stop(t, PL_RESTART);
        t->resumed = true;
    } else if (code == 200) {
        if (ftruncate(t->fd, 0) != 0) {
            err_sys(&t->why, "cannot shorten '%s'", t->get->part);
            return stop(t, PL_FAIL);
        }
        t->at = 0;
        t->resumed = false;
    } else {
        err_set(&t->why, ERR_FETCH, "HTTP %ld", code);
        return stop(t, PL_FAIL);
    }
    memcpy(t->etag, t->new_etag, sizeof t->etag);
    return check_length(t, first, n);
}

static size_t on_body(char *data, size_t size, size_t n, void *user)
{
    struct pl_transfer *t = user;
    size_t done = 0;

    n *= size;
    if (!t->body && pl_transfer_body(t, data, n) == 0)
        return 0;
    if (n > t->get->max - t->at) {
        err_set(&t->why, ERR_FETCH, "sends more than %llu bytes",
                (unsigned long long)t->get->max);
        (void)ftruncate(t->fd, 0);
        return stop(t, PL_FAIL);
    }
    while (done < n) {
        ssize_t k = pwrite(t->fd, data + done, n - done, (off_t)t->at);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            err_sys(&t->why, "cannot write '%s' at offset %llu", t->get->part,
                    (unsigned long long)t->at);
            return stop(t, PL_FAIL);
        }
        done += (size_t)k;
        t->at += (uint64_t)k;
    }
    return n;
}

bool pl_transfer_wanted(const struct pl_transfer *t)
{
    const struct pl_http_get *g = t->get;

    return !g->progress || g->progress(g->user, t->at, t->total);
}

/* Seconds from some point on. */
static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Fewer than STALL_BYTES_PER_S over a window of stall_timeout. (libcurl's own
 * low-speed check takes the mean of five seconds or more.) */
static bool stalled(struct pl_transfer *t)
{
    double window = t->get->stall_timeout, time = now();
    curl_off_t connected = 0;

    (void)curl_easy_getinfo(t->curl, CURLINFO_PRETRANSFER_TIME_T, &connected);
    if (t->moving > 0 && time - t->moving < window)
        return false;
    if (t->moving > 0 && connected > 0 &&
        (double)t->at - (double)t->moved < STALL_BYTES_PER_S * window)
        return true;
    t->moving = time;
    t->moved = t->at;
    return false;
}

static int on_progress(void *user, curl_off_t down_total, curl_off_t down,
                       curl_off_t up_total, curl_off_t up)
{
    struct pl_transfer *t = user;

    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    if (stalled(t)) {
        err_set(&t->why, ERR_FETCH,
                "sends less than %d bytes a second for %.3g s",
                STALL_BYTES_PER_S, t->get->stall_timeout);
        t->outcome = PL_RETRY;
        return 1;
    }
    return pl_transfer_wanted(t) ? 0 : 1;
}

CURLcode pl_transfer_attach(struct pl_transfer *t)
{
    CURL *c = t->curl;

    (void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->curl_says);
    (void)curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    (void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    (void)curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    (void)curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(c, CURLOPT_USERAGENT, t->get->user_agent);
    return curl_easy_setopt(c, CURLOPT_URL, t->get->url);
}
