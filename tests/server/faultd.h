/* Inside of the misbehaving server. */
#ifndef TESTS_SERVER_FAULTD_H
#define TESTS_SERVER_FAULTD_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct conn {
    int fd;
    SSL *ssl; /* NULL: plain */
};

enum { FAULTD_PATHS = 256 };

struct server {
    char *payload;
    size_t len;
    FILE *log;
    SSL_CTX *tls;
    int port, tls_port, listener, tls_listener;
    pthread_mutex_t mutex;
    char seen[FAULTD_PATHS][128];
    int count[FAULTD_PATHS];
    size_t n_seen;
};

struct request {
    struct server *s;
    struct conn c;
    bool over_tls;
    char path[128];
    const char *arg; /* what follows the '-' of the first part, or "" */
    int nth;         /* of this path, from 1 */
    bool ranged;
    size_t from; /* Range: bytes=from- */
    char if_range[64];
    char authorization[128]; /* for a proxy */
};

/* A server context with a fresh self-signed certificate for 127.0.0.1, which
 * is written to cert_path as PEM. NULL: it cannot be made. */
SSL_CTX *faultd_tls(const char *cert_path);

/* Accepts TLS on a connected socket; NULL: the client would not. */
SSL *faultd_tls_accept(SSL_CTX *ctx, int fd);

/* Reads a request's head; false: there is none. */
enum { FAULTD_HEAD = 8192 };
bool faultd_read_head(struct conn *c, char head[FAULTD_HEAD]);
/* The value of a header; name is "\r\nName: ". False and "": it has none. */
bool faultd_header(const char *head, const char *name, char *out, size_t size);

/* Sends what the first part of the path stands for. */
void faultd_answer(struct request *r);
/* Sends a status line, header lines that each end in CR LF, and a body. */
void faultd_say(struct request *r, const char *status, const char *headers,
                const char *body);

/* Whether a proxy that is asked for host lets the client through; the answer is
 * sent if not: "forbidden..." gets 403, "locked..." 407 unless user and secret
 * come with it. */
bool faultd_admits(struct request *r, const char *host);

#endif
