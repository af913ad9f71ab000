/* A server that misbehaves on purpose, for the tests of downloads.
 *
 *     faultd PAYLOAD LOG CERT
 *
 * listens on 127.0.0.1, prints "PORT TLS_PORT", serves until its standard
 * input ends. The first part of a request's path says what goes wrong
 * ("/stall/x.gz", "/status-403/x.gz"; see the table in faultd_acts.c); whatever
 * follows is free, and counts: "the first time" is per path. Every request is
 * a line of LOG: "PATH RANGE AGENT". CERT receives the certificate of the TLS
 * port.
 *
 * It is a proxy too, as which it is every host: "GET http://HOST/PATH" is
 * answered, and logged, as PATH is; behind "CONNECT HOST:PORT" it talks TLS.
 */
#include "tests/server/faultd.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool faultd_read_head(struct conn *c, char head[FAULTD_HEAD])
{
    size_t n = 0;

    while (n < FAULTD_HEAD - 1) {
        ssize_t k = c->ssl ? SSL_read(c->ssl, head + n, 1)
                           : recv(c->fd, head + n, 1, 0);

        if (k <= 0)
            return false;
        n += (size_t)k;
        head[n] = '\0';
        if (n >= 4 && strcmp(head + n - 4, "\r\n\r\n") == 0)
            return true;
    }
    return false;
}

bool faultd_header(const char *head, const char *name, char *out, size_t size)
{
    const char *p = strcasestr(head, name);
    size_t n;

    out[0] = '\0';
    if (!p)
        return false;
    p += strlen(name);
    n = strcspn(p, "\r");
    if (n >= size)
        return false;
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

/* Counts and logs the request. */
static void register_request(struct request *r, const char *range,
                             const char *agent)
{
    struct server *s = r->s;
    size_t i;

    (void)pthread_mutex_lock(&s->mutex);
    for (i = 0; i < s->n_seen && strcmp(s->seen[i], r->path) != 0; i++)
        ;
    if (i == s->n_seen && i < FAULTD_PATHS - 1)
        memcpy(s->seen[s->n_seen++], r->path, sizeof r->path);
    r->nth = ++s->count[i];
    (void)fprintf(s->log, "%s %s %s\n", r->path, range[0] ? range : "-",
                  agent[0] ? agent : "-");
    (void)fflush(s->log);
    (void)pthread_mutex_unlock(&s->mutex);
}

/* The request is for another host: is it to be answered all the same? Leaves
 * the path alone in r->path. */
static bool take_for_other(struct request *r, const char *head)
{
    char host[128], *path = strchr(r->path + 7, '/');
    size_t n = path ? (size_t)(path - r->path - 7) : 0;

    if (n == 0)
        return false;
    memcpy(host, r->path + 7, n);
    host[n] = '\0';
    (void)faultd_header(head, "\r\nProxy-Authorization: ", r->authorization,
                        sizeof r->authorization);
    (void)fprintf(r->s->log, "proxy:%s - -\n", host);
    memmove(r->path, path, strlen(path) + 1);
    return faultd_admits(r, host);
}

static void answer(struct request *r, const char *head)
{
    char range[64], agent[64];

    if (sscanf(head, "GET %127s HTTP/", r->path) != 1)
        return;
    if (strncmp(r->path, "http://", 7) == 0 && !take_for_other(r, head))
        return;
    r->ranged = faultd_header(head, "\r\nRange: bytes=", range, sizeof range);
    r->from = (size_t)strtoull(range, NULL, 10);
    (void)faultd_header(head, "\r\nIf-Range: ", r->if_range,
                        sizeof r->if_range);
    (void)faultd_header(head, "\r\nUser-Agent: ", agent, sizeof agent);
    register_request(r, range, agent);
    faultd_answer(r);
}

/* A tunnel to another host: its other end is here. */
static bool tunnel(struct request *r, char head[FAULTD_HEAD])
{
    static const char ok[] = "HTTP/1.1 200 OK\r\n\r\n";
    char host[128];

    if (sscanf(head, "CONNECT %127s HTTP/", host) != 1)
        return false;
    (void)faultd_header(head, "\r\nProxy-Authorization: ", r->authorization,
                        sizeof r->authorization);
    (void)fprintf(r->s->log, "proxy:%s - -\n", host);
    (void)fflush(r->s->log);
    if (!faultd_admits(r, host))
        return false;
    (void)send(r->c.fd, ok, sizeof ok - 1, MSG_NOSIGNAL);
    r->c.ssl = faultd_tls_accept(r->s->tls, r->c.fd);
    return r->c.ssl && faultd_read_head(&r->c, head);
}

static void *serve(void *arg)
{
    struct request *r = arg;
    char head[FAULTD_HEAD];

    if (r->over_tls)
        r->c.ssl = faultd_tls_accept(r->s->tls, r->c.fd);
    if ((!r->over_tls || r->c.ssl) && faultd_read_head(&r->c, head) &&
        (strncmp(head, "CONNECT ", 8) != 0 || tunnel(r, head)))
        answer(r, head);
    if (r->c.ssl)
        (void)SSL_shutdown(r->c.ssl);
    SSL_free(r->c.ssl);
    (void)shutdown(r->c.fd, SHUT_WR);
    (void)close(r->c.fd);
    free(r);
    return NULL;
}

static int listen_somewhere(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0 ||
        listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0)
        return -1;
    *port = ntohs(a.sin_port);
    return fd;
}

static void accept_one(struct server *s, int listener)
{
    struct request *r = calloc(1, sizeof *r);
    pthread_t thread;
    int fd = accept(listener, NULL, NULL);

    if (!r || fd < 0) {
        free(r);
        return;
    }
    r->s = s;
    r->c.fd = fd;
    r->over_tls = listener == s->tls_listener;
    if (pthread_create(&thread, NULL, serve, r) == 0)
        (void)pthread_detach(thread);
}

static bool load(struct server *s, const char *path)
{
    FILE *f = fopen(path, "rb");
    long n;

    if (!f || fseek(f, 0, SEEK_END) != 0 || (n = ftell(f)) < 0)
        return false;
    rewind(f);
    s->len = (size_t)n;
    s->payload = malloc(s->len + 1);
    return s->payload && fread(s->payload, 1, s->len, f) == s->len &&
           fclose(f) == 0;
}

int main(int argc, char **argv)
{
    static struct server s = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct pollfd p[3] = {{.fd = 0, .events = POLLIN}};
    int i;

    (void)signal(SIGPIPE, SIG_IGN);
    if (argc != 4 || !load(&s, argv[1]) || !(s.log = fopen(argv[2], "a")) ||
        !(s.tls = faultd_tls(argv[3])))
        return 1;
    s.listener = listen_somewhere(&s.port);
    s.tls_listener = listen_somewhere(&s.tls_port);
    if (s.listener < 0 || s.tls_listener < 0)
        return 1;
    p[1] = (struct pollfd){.fd = s.listener, .events = POLLIN};
    p[2] = (struct pollfd){.fd = s.tls_listener, .events = POLLIN};
    (void)printf("%d %d\n", s.port, s.tls_port);
    (void)fflush(stdout);
    while (poll(p, 3, -1) >= 0 && p[0].revents == 0)
        for (i = 1; i < 3; i++)
            if (p[i].revents)
                accept_one(&s, p[i].fd);
    return 0;
}
