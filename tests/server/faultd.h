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
};

/* A server context with a fresh self-signed certificate for 127.0.0.1, which
 * is written to cert_path as PEM. NULL: it cannot be made. */
SSL_CTX *faultd_tls(const char *cert_path);

/* Accepts TLS on a connected socket; NULL: the client would not. */
SSL *faultd_tls_accept(SSL_CTX *ctx, int fd);

/* Sends what the first part of the path stands for. */
void faultd_answer(struct request *r);

#endif
