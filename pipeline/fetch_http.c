#include "pipeline/fetch_http.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/fetch_public.h"
#include "pipeline/fetch_transfer.h"

enum {
    LONGEST_WAIT_S = 60, /* a Retry-After beyond it: next mirror */
    MAX_REDIRECTS = 5
};

static CURLcode set_security(CURL *c, const struct pl_http_get *g)
{
    bool tls = strncasecmp(g->url, "https:", 6) == 0;
    CURLcode rc = curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");

    if (rc == CURLE_OK) /* never from https to http, never to file: */
        rc = curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR,
                              tls ? "https" : "http,https");
    if (rc == CURLE_OK && g->cacert)
        rc = curl_easy_setopt(c, CURLOPT_CAINFO, g->cacert);
    return rc;
}

static bool behind_proxy(void)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY",
                                        "all_proxy", "ALL_PROXY"};
    size_t i;

    for (i = 0; i < sizeof names / sizeof *names; i++) {
        const char *v = getenv(names[i]);

        if (v && v[0])
            return true;
    }
    return false;
}

static curl_socket_t open_public(void *user, curlsocktype purpose,
                                 struct curl_sockaddr *a)
{
    struct pl_transfer *t = user;

    (void)purpose;
    if (pl_is_public(&a->addr))
        return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    t->inside = true;
    return CURL_SOCKET_BAD;
}

/* Checked where the connection is made: a name may resolve to anything, and a
 * redirect lead anywhere. */
static CURLcode keep_outside(struct pl_transfer *t)
{
    CURLcode rc;

    if (behind_proxy())
        return curl_easy_setopt(t->curl, CURLOPT_NOPROXY, "");
    rc = curl_easy_setopt(t->curl, CURLOPT_OPENSOCKETFUNCTION, open_public);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(t->curl, CURLOPT_OPENSOCKETDATA, t);
    return rc;
}

static CURLcode set_limits(struct pl_transfer *t)
{
    CURL *c = t->curl;
    const struct pl_http_get *g = t->get;
    double connect = fmin(g->connect_timeout, 86400);
    CURLcode rc;

    (void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                           (long)ceil(connect * 1000));
    (void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    (void)curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)MAX_REDIRECTS);
    (void)curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    (void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    rc = set_security(c, g);
    return rc == CURLE_OK && g->public_only ? keep_outside(t) : rc;
}

/* A name that cannot be resolved is not: the next mirror's may be. */
static bool worth_retrying(CURLcode rc)
{
    switch (rc) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return true;
    default:
        return false;
    }
}

static enum pl_outcome http_error(struct pl_transfer *t)
{
    const char *who = "";
    long code = 0;

    (void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code == 0) { /* it would not let us through to an https address */
        who = "the proxy answers ";
        (void)curl_easy_getinfo(t->curl, CURLINFO_HTTP_CONNECTCODE, &code);
    }
    if (code == 416 && t->asked) {
        /* Nothing lies behind what we have: is it everything? The checksum
         * tells; without one there is no telling. */
        if (!t->get->resume)
            return PL_RESTART;
        t->resumed = true;
        return PL_DONE;
    }
    err_set(&t->why, ERR_FETCH, "%sHTTP %ld", who, code);
    return code == 408 || code == 429 || code >= 500 ? PL_RETRY : PL_FAIL;
}

static enum pl_outcome after_ok(struct pl_transfer *t)
{
    if (!t->body && pl_transfer_body(t, "", 0) == 0) /* an empty answer */
        return t->outcome;
    if (!t->get->size || t->at == t->get->size)
        return PL_DONE;
    err_set(&t->why, ERR_FETCH, "ends after %llu of %llu bytes",
            (unsigned long long)t->at, (unsigned long long)t->get->size);
    return PL_RETRY;
}

static const char *curl_says(const struct pl_transfer *t, CURLcode rc)
{
    if (!t->curl_says[0])
        return curl_easy_strerror(rc);
    if (strncmp(t->curl_says, "Unsupported proxy", 17) == 0)
        return "the address of the proxy is not valid"; /* it has a password */
    return t->curl_says;
}

static enum pl_outcome judge(struct pl_transfer *t, CURLcode rc)
{
    const char *says = curl_says(t, rc);

    if (t->outcome != PL_DONE) /* a callback stopped it */
        return t->outcome;
    if (rc == CURLE_OK)
        return after_ok(t);
    if (rc == CURLE_HTTP_RETURNED_ERROR)
        return http_error(t);
    if (rc == CURLE_COULDNT_CONNECT && t->inside) {
        err_set(&t->why, ERR_FETCH,
                "leads to this machine or a private network, where an "
                "untrusted file may not go");
        return PL_FAIL;
    }
    if (rc == CURLE_ABORTED_BY_CALLBACK)
        err_set(&t->why, ERR_INTERRUPTED, "the download from '%s' was stopped",
                t->get->shown);
    else if (rc == CURLE_OUT_OF_MEMORY)
        err_set(&t->why, ERR_NOMEM, "out of memory fetching from '%s'",
                t->get->shown);
    else
        err_set(&t->why, ERR_FETCH, "%s", says);
    return worth_retrying(rc) ? PL_RETRY : PL_FAIL;
}

/* If-Range: a server whose file has changed sends it whole. */
static struct curl_slist *if_range(const struct pl_transfer *t)
{
    char line[160];

    if (!t->asked || !t->etag[0])
        return NULL;
    (void)snprintf(line, sizeof line, "If-Range: %s", t->etag);
    return curl_slist_append(NULL, line);
}

static enum pl_outcome try_once(struct pl_transfer *t)
{
    struct curl_slist *headers;
    char range[32];
    CURLcode rc;

    curl_easy_reset(t->curl);
    err_clear(&t->why);
    t->outcome = PL_DONE;
    t->moving = 0;
    t->body = t->ranged = t->inside = false;
    t->curl_says[0] = t->new_etag[0] = '\0';
    t->asked = t->get->resume || t->etag[0] ? t->at : 0;
    headers = if_range(t);
    rc = set_limits(t);
    if (rc == CURLE_OK)
        rc = pl_transfer_attach(t);
    if (rc == CURLE_OK && headers)
        rc = curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, headers);
    if (rc == CURLE_OK && t->asked) {
        (void)snprintf(range, sizeof range, "%llu-",
                       (unsigned long long)t->asked);
        rc = curl_easy_setopt(t->curl, CURLOPT_RANGE, range);
    }
    if (rc == CURLE_OK)
        rc = curl_easy_perform(t->curl);
    curl_slist_free_all(headers);
    return judge(t, rc);
}

static int wait_for(struct pl_transfer *t, double seconds)
{
    const struct timespec nap = {0, 20000000};
    long naps;

    for (naps = (long)ceil(seconds / 0.02); naps > 0; naps--) {
        if (!pl_transfer_wanted(t))
            return err_set(&t->why, ERR_INTERRUPTED,
                           "the download from '%s' was stopped", t->get->shown);
        (void)nanosleep(&nap, NULL);
    }
    return 0;
}

/* From 0 to 1, another one in every process; nothing recorded hangs on it. */
static double random_fraction(void)
{
    uint16_t r = 0;

    (void)getrandom(&r, sizeof r, GRND_NONBLOCK);
    return r / 65535.0;
}

/* Waits before try number `again`, or says why there is none. */
static int before_retry(struct pl_transfer *t, int64_t again)
{
    const struct pl_http_get *g = t->get;
    double pause = g->backoff * ldexp(1, again > 6 ? 5 : (int)again - 1);
    curl_off_t asked = 0;
    char line[512];

    (void)curl_easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &asked);
    if (asked > LONGEST_WAIT_S) {
        char reason[sizeof t->why.msg];

        memcpy(reason, t->why.msg, sizeof reason);
        err_clear(&t->why);
        return err_set(&t->why, ERR_FETCH, "%.600s (asks to wait %lld s)",
                       reason, (long long)asked);
    }
    if (again > g->retries)
        return t->why.code;
    if ((double)asked > pause)
        pause = (double)asked;
    (void)snprintf(line, sizeof line, "%.200s: %.200s; again in %.3g s",
                   g->shown, t->why.msg, pause);
    if (g->note)
        g->note(g->user, line);
    err_clear(&t->why);
    return wait_for(t, pause * (1 + g->jitter * random_fraction()));
}

static int restart(struct pl_transfer *t)
{
    t->at = 0;
    t->etag[0] = '\0';
    t->resumed = false;
    if (ftruncate(t->fd, 0) != 0)
        return err_sys(&t->why, "cannot shorten '%s'", t->get->part);
    return 0;
}

static int all_tries(struct pl_transfer *t)
{
    int64_t again = 0;
    bool restarted = false;
    int rc = 0;

    while (rc == 0) {
        switch (try_once(t)) {
        case PL_DONE:
            return 0;
        case PL_FAIL:
            return t->why.code;
        case PL_RESTART:
            rc = restarted ? err_set(&t->why, ERR_FETCH,
                                     "answers with other bytes than asked for")
                           : restart(t);
            restarted = true;
            break;
        case PL_RETRY:
            rc = before_retry(t, ++again);
            if (rc == 0 && !t->get->resume && !t->etag[0])
                rc = restart(t);
            break;
        }
    }
    return rc;
}

/* What the part holds already, if that is of use. */
static int open_part(struct pl_transfer *t)
{
    const struct pl_http_get *g = t->get;
    struct stat st;

    t->fd = open(g->part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (t->fd < 0 || fstat(t->fd, &st) != 0)
        return err_sys(&t->why, "cannot write '%s'", g->part);
    t->at = (uint64_t)st.st_size;
    t->total = g->size;
    if (!g->resume || t->at > g->max || (g->size && t->at > g->size))
        return restart(t);
    t->resumed = t->at > 0;
    return 0;
}

int pl_http_get(const struct pl_http_get *get, bool *resumed, struct err *err)
{
    struct pl_transfer *t = mem_zalloc(sizeof *t);
    int rc;

    *resumed = false;
    if (!t)
        return err_set(err, ERR_NOMEM, "out of memory fetching from '%s'",
                       get->shown);
    t->get = get;
    t->fd = -1;
    t->curl = curl_easy_init();
    rc = t->curl ? open_part(t)
                 : err_set(&t->why, ERR_NOMEM, "libcurl cannot start");
    if (rc == 0 && !(get->size && t->at == get->size))
        rc = all_tries(t);
    *resumed = t->resumed;
    if (rc != 0)
        rc = err_set(err, rc, "%s", t->why.msg);
    if (t->curl)
        curl_easy_cleanup(t->curl);
    if (t->fd >= 0)
        (void)close(t->fd);
    mem_free(t);
    return rc;
}
