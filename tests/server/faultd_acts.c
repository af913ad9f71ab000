#include "tests/server/faultd.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { HANG_MS = 60000 };

/* What is sent. Zero values: nothing special. */
struct answer {
    const char *status; /* NULL: by from: "200 OK" or "206 Partial Content" */
    const char *headers;
    const char *etag;
    size_t from, to; /* of the payload */
    size_t declare;  /* Content-Length */
    bool no_length, chunked, hang;
    int pause_ms; /* between pieces of `piece` bytes */
    size_t piece;
};

/* ---- connections ---- */

static bool send_all(struct conn *c, const char *p, size_t n)
{
    while (n) {
        ssize_t k = c->ssl ? SSL_write(c->ssl, p, (int)n)
                           : send(c->fd, p, n, MSG_NOSIGNAL);

        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static void nap(int ms)
{
    const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

    (void)nanosleep(&t, NULL);
}

/* Says nothing until the client has had enough. */
static void hang(struct conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    (void)poll(&p, 1, HANG_MS);
}

static bool send_piece(struct conn *c, const struct answer *a, const char *p,
                       size_t n)
{
    char size[32];

    if (!a->chunked)
        return send_all(c, p, n);
    (void)snprintf(size, sizeof size, "%zx\r\n", n);
    return send_all(c, size, strlen(size)) && send_all(c, p, n) &&
           send_all(c, "\r\n", 2);
}

static void send_answer(struct request *r, const struct answer *a)
{
    const char *status = a->status ? a->status
                         : a->from ? "206 Partial Content"
                                   : "200 OK";
    char head[1024];
    int n =
        snprintf(head, sizeof head, "HTTP/1.1 %s\r\nConnection: close\r\n%s",
                 status, a->headers ? a->headers : "");
    size_t at, piece = a->piece ? a->piece : 16384;

    if (a->etag)
        n += snprintf(head + n, sizeof head - (size_t)n, "ETag: \"%s\"\r\n",
                      a->etag);
    if (a->chunked)
        n += snprintf(head + n, sizeof head - (size_t)n,
                      "Transfer-Encoding: chunked\r\n");
    else if (!a->no_length)
        n += snprintf(head + n, sizeof head - (size_t)n,
                      "Content-Length: %zu\r\n", a->declare);
    if (!a->status && a->from)
        n += snprintf(head + n, sizeof head - (size_t)n,
                      "Content-Range: bytes %zu-%zu/%zu\r\n", a->from,
                      r->s->len - 1, r->s->len);
    n += snprintf(head + n, sizeof head - (size_t)n, "\r\n");
    if (!send_all(&r->c, head, (size_t)n))
        return;
    for (at = a->from; at < a->to; at += piece) {
        size_t k = a->to - at < piece ? a->to - at : piece;

        if (!send_piece(&r->c, a, r->s->payload + at, k))
            return;
        nap(a->pause_ms);
    }
    if (a->hang)
        hang(&r->c);
}

/* ---- behaviours ---- */

/* All that is asked for, as it should be. */
static struct answer right_answer(const struct request *r)
{
    struct answer a = {.etag = "v1", .to = r->s->len};

    if (r->ranged && r->from < r->s->len &&
        (!r->if_range[0] || strcmp(r->if_range, "\"v1\"") == 0))
        a.from = r->from;
    a.declare = a.to - a.from;
    return a;
}

static void good(struct request *r)
{
    struct answer a = right_answer(r);

    send_answer(r, &a);
}

/* The number behind the '-', as in busy-3. */
static int number(const struct request *r)
{
    return (int)strtol(r->arg, NULL, 10);
}

void faultd_say(struct request *r, const char *status, const char *headers,
                const char *body)
{
    struct answer a = {
        .status = status, .headers = headers, .declare = strlen(body)};

    send_answer(r, &a);
    (void)send_all(&r->c, body, strlen(body));
}

static void html(struct request *r)
{
    faultd_say(r, "200 OK", "Content-Type: text/html\r\n",
               "\n<!DOCTYPE html>\n<html><body>This domain is for sale"
               "</body></html>\n");
}

static void status(struct request *r)
{
    char line[32];

    (void)snprintf(line, sizeof line, "%d Whatever", number(r));
    faultd_say(r, line, "", "<html>no</html>");
}

/* busy-N: 429, come back in N seconds; then good. */
static void busy(struct request *r)
{
    char header[64];

    (void)snprintf(header, sizeof header, "Retry-After: %d\r\n", number(r));
    if (r->nth == 1)
        faultd_say(r, "429 Too Many Requests", header, "wait");
    else
        good(r);
}

/* flaky-N: 503 N times, then good. */
static void flaky(struct request *r)
{
    if (r->nth <= number(r))
        faultd_say(r, "503 Service Unavailable", "", "later");
    else
        good(r);
}

static void silent(struct request *r)
{
    hang(&r->c);
}

static void nothing(struct request *r)
{
    (void)r;
}

static void empty(struct request *r)
{
    faultd_say(r, "200 OK", "", "");
}

static void not_http(struct request *r)
{
    (void)send_all(&r->c, "220 ready\r\n", 11);
}

/* Half of what is left, then nothing more comes. */
static void stall(struct request *r)
{
    struct answer a = right_answer(r);

    a.to = a.from + (a.to - a.from) / 2;
    a.hang = true;
    send_answer(r, &a);
}

static struct answer half(const struct request *r)
{
    struct answer a = right_answer(r);

    a.to = r->s->len / 2;
    return a;
}

/* The first time the connection is lost half-way. */
static void cut(struct request *r)
{
    struct answer a = r->nth == 1 ? half(r) : right_answer(r);

    send_answer(r, &a);
}

static void cut_always(struct request *r)
{
    struct answer a = right_answer(r);

    a.to = a.from + (a.to - a.from) / 2;
    send_answer(r, &a);
}

static void cut_no_length(struct request *r)
{
    struct answer a = half(r);

    a.no_length = true;
    send_answer(r, &a);
}

/* The last chunk never comes. */
static void cut_chunked(struct request *r)
{
    struct answer a = half(r);

    a.chunked = true;
    send_answer(r, &a);
}

static void chunked(struct request *r)
{
    struct answer a = right_answer(r);

    a.chunked = true;
    a.from = 0;
    send_answer(r, &a);
    (void)send_all(&r->c, "0\r\n\r\n", 5);
}

/* Content-Length says half, and half comes. */
static void too_short(struct request *r)
{
    struct answer a = half(r);

    a.from = 0;
    a.declare = a.to;
    send_answer(r, &a);
}

static void too_long(struct request *r)
{
    struct answer a = right_answer(r);

    a.from = 0;
    a.declare = r->s->len + 10;
    send_answer(r, &a);
    (void)send_all(&r->c, "0123456789", 10);
}

/* Lost half-way; then Range is ignored. */
static void no_range(struct request *r)
{
    struct answer a = r->nth == 1 ? half(r) : right_answer(r);

    a.from = 0;
    a.declare = r->s->len;
    send_answer(r, &a);
}

/* Lost half-way; then 206 from byte 0, whatever was asked for. */
static void wrong_range(struct request *r)
{
    struct answer a = r->nth == 1 ? half(r) : right_answer(r);
    char header[96];

    if (r->nth > 1 && r->ranged) {
        (void)snprintf(header, sizeof header,
                       "Content-Range: bytes 0-%zu/%zu\r\n", r->s->len - 1,
                       r->s->len);
        a.status = "206 Partial Content";
        a.headers = header;
        a.from = 0;
        a.declare = r->s->len;
    }
    send_answer(r, &a);
}

/* Lost half-way; then 416 for any range. */
static void no_such_range(struct request *r)
{
    if (r->nth > 1 && r->ranged)
        faultd_say(r, "416 Range Not Satisfiable", "", "");
    else
        cut(r);
}

/* An older file until it is lost half-way, then the right one; new_tag_206
 * does not even look at If-Range. */
static void old_half(struct request *r)
{
    struct answer a = {.etag = "v0", .declare = r->s->len};
    char *junk = calloc(1, r->s->len / 2);

    send_answer(r, &a);
    if (junk)
        (void)send_all(&r->c, junk, r->s->len / 2);
    free(junk);
}

static void new_tag(struct request *r)
{
    if (r->nth == 1)
        old_half(r);
    else
        good(r);
}

static void new_tag_206(struct request *r)
{
    r->if_range[0] = '\0';
    new_tag(r);
}

static void redirect(struct request *r, const char *to)
{
    char header[256];

    (void)snprintf(header, sizeof header, "Location: %s\r\n", to);
    faultd_say(r, "302 Found", header, "elsewhere");
}

static void loop(struct request *r)
{
    redirect(r, r->path);
}

static void to_file(struct request *r)
{
    redirect(r, "file:///etc/passwd");
}

static void to_good(struct request *r)
{
    redirect(r, "/good/moved");
}

static void to_http(struct request *r)
{
    char to[64];

    (void)snprintf(to, sizeof to, "http://127.0.0.1:%d/good/x", r->s->port);
    redirect(r, to);
}

/* 10 bytes a second. */
static void drip(struct request *r)
{
    struct answer a = right_answer(r);

    a.pause_ms = 100;
    a.piece = 1;
    send_answer(r, &a);
}

/* In half a second. */
static void slow(struct request *r)
{
    struct answer a = right_answer(r);

    a.pause_ms = 8;
    a.piece = r->s->len / 50 + 1;
    send_answer(r, &a);
}

static void endless(struct request *r)
{
    struct answer a = {.no_length = true};
    static const char zeros[65536];

    send_answer(r, &a);
    while (send_all(&r->c, zeros, sizeof zeros))
        ;
}

bool faultd_admits(struct request *r, const char *host)
{
    static const char wanted[] = "Basic dXNlcjpzM2NyZXQ="; /* user:s3cret */

    if (strncmp(host, "forbidden", 9) == 0)
        faultd_say(r, "403 Forbidden", "", "not there");
    else if (strncmp(host, "locked", 6) == 0 &&
             strcmp(r->authorization, wanted) != 0)
        faultd_say(r, "407 Proxy Authentication Required",
                   "Proxy-Authenticate: Basic realm=\"x\"\r\n", "who?");
    else
        return true;
    return false;
}

static const struct {
    const char *name;
    void (*fn)(struct request *r);
} behaviours[] = {
    {"good", good},
    {"html", html},
    {"status", status},
    {"busy", busy},
    {"flaky", flaky},
    {"silent", silent},
    {"nothing", nothing},
    {"empty", empty},
    {"not_http", not_http},
    {"stall", stall},
    {"cut", cut},
    {"cut_always", cut_always},
    {"cut_no_length", cut_no_length},
    {"cut_chunked", cut_chunked},
    {"chunked", chunked},
    {"too_short", too_short},
    {"too_long", too_long},
    {"no_range", no_range},
    {"wrong_range", wrong_range},
    {"no_such_range", no_such_range},
    {"new_tag", new_tag},
    {"new_tag_206", new_tag_206},
    {"loop", loop},
    {"to_file", to_file},
    {"to_good", to_good},
    {"to_http", to_http},
    {"drip", drip},
    {"slow", slow},
    {"endless", endless},
};

void faultd_answer(struct request *r)
{
    size_t n = strcspn(r->path + 1, "/-"), i;

    r->arg = r->path[1 + n] == '-' ? r->path + 2 + n : "";
    for (i = 0; i < sizeof behaviours / sizeof *behaviours; i++)
        if (strlen(behaviours[i].name) == n &&
            memcmp(behaviours[i].name, r->path + 1, n) == 0) {
            behaviours[i].fn(r);
            return;
        }
    faultd_say(r, "404 Not Found", "", "no such behaviour");
}
