/* An HTTP server on the loopback address. It answers in a thread of
 * libmicrohttpd's, one request after another; nothing it reads changes. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/pipeline.h"
#include "pipeline/view_files.h"
#include "pipeline/view_page.h"
#include "pipeline/view_path.h"

enum { CONNECTIONS_MAX = 64, IDLE_SECONDS = 30 };

struct pl_view {
    char root[PATH_MAX];
    const char *name; /* as PATH was given */
    const char *only; /* the one file; NULL: the whole folder */
    int fd, socket, port;
    struct MHD_Daemon *daemon;
};

static void add_header(struct MHD_Response *r, const char *key,
                       const char *value)
{
    (void)MHD_add_response_header(r, key, value);
}

/* Takes r, which may be NULL. Files change while runs go on: no copy of them
 * is to be kept. Pages may not reach for anything but pictures beside them, and
 * other sites may not embed them. */
static enum MHD_Result answer(struct MHD_Connection *c, unsigned status,
                              struct MHD_Response *r, const char *type)
{
    enum MHD_Result rc;

    if (!r)
        return MHD_NO; /* closes the connection */
    if (type)
        add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    add_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    add_header(r, "X-Content-Type-Options", "nosniff");
    add_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    add_header(r, "Referrer-Policy", "no-referrer");
    add_header(r, "Content-Security-Policy",
               "default-src 'none'; img-src 'self' data:; style-src "
               "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
               "form-action 'none'; frame-ancestors 'none'");
    rc = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return rc;
}

static struct MHD_Response *text_response(const char *text)
{
    return MHD_create_response_from_buffer(strlen(text), (void *)text,
                                           MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status,
                              const char *why)
{
    struct MHD_Response *r = text_response(why);

    if (r && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        add_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    return answer(c, status, r, "text/plain; charset=utf-8");
}

static enum MHD_Result no_such_file(struct MHD_Connection *c)
{
    return refuse(c, MHD_HTTP_NOT_FOUND, "no such file\n");
}

/* What Perfetto's page is to be let read. */
static void add_cors(struct MHD_Response *r)
{
    add_header(r, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, VIEW_PERFETTO);
    add_header(r, MHD_HTTP_HEADER_VARY, "Origin");
}

/* A browser may ask first whether a public page may reach this computer. */
static enum MHD_Result preflight(struct MHD_Connection *c)
{
    const char *origin =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN);
    struct MHD_Response *r;

    if (!origin || strcmp(origin, VIEW_PERFETTO) != 0)
        return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    r = text_response("");
    if (r) {
        add_cors(r);
        add_header(r, "Access-Control-Allow-Methods", "GET, HEAD");
        add_header(r, "Access-Control-Allow-Private-Network", "true");
    }
    return answer(c, MHD_HTTP_NO_CONTENT, r, NULL);
}

/* Takes fd. The size is that of now: what is appended later is not sent. */
static enum MHD_Result send_file(const struct pl_view *v,
                                 struct MHD_Connection *c, int fd,
                                 const char *rel, uint64_t bytes)
{
    struct MHD_Response *r = MHD_create_response_from_fd64(bytes, fd);

    if (!r)
        (void)close(fd);
    else if (v->only || view_kind_of(rel) == VIEW_TRACE)
        add_cors(r);
    return answer(c, MHD_HTTP_OK, r, view_content_type(rel));
}

/* Links in a page count from its folder, which so has to end with a slash. */
static enum MHD_Result add_slash(struct MHD_Connection *c, const char *rel)
{
    struct str to = {0};
    struct MHD_Response *r = text_response("");

    str_addc(&to, '/');
    view_add_url(&to, rel);
    str_addc(&to, '/');
    if (r && !to.failed)
        add_header(r, MHD_HTTP_HEADER_LOCATION, to.text);
    str_free(&to);
    return answer(c, MHD_HTTP_MOVED_PERMANENTLY, r, NULL);
}

static enum MHD_Result send_page(const struct pl_view *v,
                                 struct MHD_Connection *c, int fd,
                                 const char *rel)
{
    struct view_page page = {.fd = fd,
                             .name = v->name,
                             .rel = rel,
                             .port = v->port,
                             .only = v->only};
    struct str html = {0};
    struct err err = {0};
    struct MHD_Response *r = NULL;

    if (view_page_html(&html, &page, &err) == 0)
        r = text_response(html.text);
    str_free(&html);
    return answer(c, MHD_HTTP_OK, r, "text/html; charset=utf-8");
}

static enum MHD_Result send_path(const struct pl_view *v,
                                 struct MHD_Connection *c, const char *rel,
                                 bool slash)
{
    uint64_t bytes;
    bool folder;
    enum MHD_Result rc;
    int fd;

    if (v->only && *rel && strcmp(rel, v->only) != 0)
        return no_such_file(c);
    fd = view_open(v->fd, rel, &folder, &bytes);
    if (fd < 0)
        return no_such_file(c);
    if (!folder && !slash)
        return send_file(v, c, fd, rel, bytes);
    rc = !folder ? no_such_file(c)
         : slash ? send_page(v, c, fd, rel)
                 : add_slash(c, rel);
    (void)close(fd);
    return rc;
}

/* A request, as MHD_AccessHandlerCallback has it. The answer ends the
 * connection: none is held by a browser that may want more. */
/* NOLINTNEXTLINE(readability-function-size): libmicrohttpd's parameters */
static enum MHD_Result take(void *user, struct MHD_Connection *c,
                            const char *url, const char *method,
                            const char *version, const char *body,
                            size_t *body_len, void **state)
{
    const struct pl_view *v = user;
    struct str rel = {0};
    enum MHD_Result rc;
    bool slash;

    (void)version;
    (void)body;
    (void)state;
    *body_len = 0; /* none is wanted */
    if (!view_host_is_ours(MHD_lookup_connection_value(c, MHD_HEADER_KIND,
                                                       MHD_HTTP_HEADER_HOST),
                           v->port))
        return refuse(c, MHD_HTTP_FORBIDDEN,
                      "this server answers to 127.0.0.1 and localhost only\n");
    if (strcmp(method, "OPTIONS") == 0)
        return preflight(c);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    rc = view_path_parse(&rel, &slash, url)
             ? send_path(v, c, rel.text ? rel.text : "", slash)
             : no_such_file(c);
    str_free(&rel);
    return rc;
}

/* Paths stay escaped until view_path_parse: a %00 is to be seen. */
static size_t keep_escapes(void *user, struct MHD_Connection *c, char *text)
{
    (void)user;
    (void)c;
    return strlen(text);
}

static int no_port(const struct pl_view *v, struct err *err)
{
    if (errno == EADDRINUSE && v->port == PL_VIEW_PORT)
        return err_set(err, ERR_LOCKED,
                       "port %d of 127.0.0.1 is taken, perhaps by another "
                       "`pipeline view`: end that one, or choose another with "
                       "--port (which Perfetto's page cannot fetch from)",
                       v->port);
    if (errno == EADDRINUSE)
        return err_set(err, ERR_LOCKED,
                       "port %d of 127.0.0.1 is taken: choose another with "
                       "--port",
                       v->port);
    return err_sys(err, "cannot listen on 127.0.0.1:%d", v->port);
}

static int listen_on(struct pl_view *v, struct err *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)v->port)};
    socklen_t len = sizeof at;
    const int yes = 1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (v->socket < 0)
        return err_sys(err, "cannot open a socket");
    /* The port of a server that just ended can be had again at once. */
    (void)setsockopt(v->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(v->socket, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(v->socket, SOMAXCONN) != 0 ||
        getsockname(v->socket, (struct sockaddr *)&at, &len) != 0)
        return no_port(v, err);
    v->port = ntohs(at.sin_port);
    return 0;
}

static int start(struct pl_view *v, struct err *err)
{
    v->daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, take, v,
        MHD_OPTION_LISTEN_SOCKET, v->socket, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
        NULL, MHD_OPTION_END);
    if (!v->daemon)
        return err_set(err, ERR_IO, "libmicrohttpd cannot start a server");
    v->socket = -1; /* the daemon's now */
    return 0;
}

/* The folder to serve, and the one file of it if PATH is a file. */
static int open_root(struct pl_view *v, const char *path, struct err *err)
{
    struct stat st;
    char *slash;

    if (!realpath(path, v->root) || stat(v->root, &st) != 0)
        return err_sys(err, "cannot open '%s'", path);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "'%s' is neither a file nor a folder",
                       path);
    if (S_ISREG(st.st_mode)) {
        slash = strrchr(v->root, '/');
        *slash = '\0';
        v->only = slash + 1;
        if (*v->only == '.')
            return err_set(err, ERR_IO,
                           "'%s' begins with a dot: such files are not served",
                           path);
    }
    v->fd = open(*v->root ? v->root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return v->fd < 0 ? err_sys(err, "cannot open '%s'", path) : 0;
}

int pl_view_open(struct pl_view **out, const char *path, int port,
                 struct err *err)
{
    struct pl_view *v = mem_zalloc(sizeof *v);
    int rc;

    *out = NULL;
    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory");
    v->name = path;
    v->fd = v->socket = -1;
    v->port = port;
    rc = open_root(v, path, err);
    if (rc == 0)
        rc = listen_on(v, err);
    if (rc == 0)
        rc = start(v, err);
    if (rc != 0) {
        pl_view_close(v);
        return rc;
    }
    *out = v;
    return 0;
}

int pl_view_port(const struct pl_view *v)
{
    return v->port;
}

void pl_view_link(const struct pl_view *v, struct str *out)
{
    str_addf(out, "http://127.0.0.1:%d/", v->port);
    if (v->only)
        view_add_url(out, v->only);
}

bool pl_view_perfetto(const struct pl_view *v, struct str *out)
{
    if (!v->only || v->port != PL_VIEW_PORT)
        return false;
    view_add_perfetto(out, v->port, v->only);
    return true;
}

void pl_view_close(struct pl_view *v)
{
    if (!v)
        return;
    if (v->daemon)
        MHD_stop_daemon(v->daemon);
    if (v->socket >= 0)
        (void)close(v->socket);
    if (v->fd >= 0)
        (void)close(v->fd);
    mem_free(v);
}
