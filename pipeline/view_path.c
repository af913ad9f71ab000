#include "pipeline/view_path.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* One character of a URL's part; false where it may not stand there. */
static bool take_char(struct str *out, const char **url)
{
    const char *p = *url;
    int c = (unsigned char)*p;

    if (c == '%') {
        int high = hex(p[1]), low = high < 0 ? -1 : hex(p[2]);

        if (low < 0)
            return false;
        c = high * 16 + low;
        p += 2;
    }
    if (c < ' ' || c == 0x7f || c == '/')
        return false;
    str_addc(out, (char)c);
    *url = p + 1;
    return true;
}

bool view_path_parse(struct str *rel, bool *folder, const char *url)
{
    *folder = true;
    if (*url++ != '/')
        return false;
    while (*url) {
        size_t begin;

        if (rel->len)
            str_addc(rel, '/');
        begin = rel->len;
        while (*url && *url != '/')
            if (!take_char(rel, &url))
                return false;
        if (rel->failed || rel->len == begin || rel->text[begin] == '.')
            return false;
        *folder = *url == '/';
        url += *folder;
    }
    return !rel->failed;
}

bool view_host_is_ours(const char *host, int port)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    char ours[32];
    size_t i;

    for (i = 0; host && i < sizeof names / sizeof *names; i++) {
        (void)snprintf(ours, sizeof ours, "%s:%d", names[i], port);
        if (strcasecmp(host, ours) == 0 ||
            (port == 80 && strcasecmp(host, names[i]) == 0))
            return true;
    }
    return false;
}

static const struct {
    const char *end;
    enum view_kind kind;
    const char *type;
} types[] = {
    {".svg", VIEW_PICTURE, "image/svg+xml"},
    {".png", VIEW_PICTURE, "image/png"},
    {".html", VIEW_PAGE, "text/html; charset=utf-8"},
    {".md", VIEW_REPORT, "text/plain; charset=utf-8"},
    {".csv", VIEW_TABLE, "text/csv; charset=utf-8"},
    {".json", VIEW_FILE, "application/json"},
    {".json.gz", VIEW_FILE, "application/gzip"},
    {".gz", VIEW_FILE, "application/gzip"},
    {".pftrace", VIEW_TRACE, "application/octet-stream"},
    {".txt", VIEW_FILE, "text/plain; charset=utf-8"},
    {".yaml", VIEW_FILE, "text/plain; charset=utf-8"},
};

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && strcasecmp(name + n - m, end) == 0;
}

/* "adam_h=256_bs=32_trace.json", "host.123.pt.trace.json.gz". */
static bool is_json_trace(const char *name)
{
    return (ends_with(name, ".json") || ends_with(name, ".json.gz")) &&
           strcasestr(name, "trace") != NULL;
}

enum view_kind view_kind_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    size_t i;

    name = slash ? slash + 1 : name;
    if (is_json_trace(name))
        return VIEW_TRACE;
    for (i = 0; i < sizeof types / sizeof *types; i++)
        if (ends_with(name, types[i].end))
            return types[i].kind;
    return VIEW_FILE;
}

const char *view_content_type(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof types / sizeof *types; i++)
        if (ends_with(name, types[i].end))
            return types[i].type;
    return "application/octet-stream";
}

/* What is neither unreserved (RFC 3986) nor in keep becomes %XX. */
static void add_escaped(struct str *out, const char *text, const char *keep)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *text; text++) {
        if (strchr(plain, *text) || strchr(keep, *text))
            str_addc(out, *text);
        else
            str_addf(out, "%%%02X", (unsigned char)*text);
    }
}

void view_add_url(struct str *out, const char *rel)
{
    add_escaped(out, rel, "/=,");
}

/* Perfetto decodes the query once and drops a value that holds another "=":
 * the file's URL is escaped a second time. */
void view_add_perfetto(struct str *out, int port, const char *rel)
{
    struct str url = {0};

    view_add_url(&url, rel);
    str_addf(out, VIEW_PERFETTO "/#!/?url=http://127.0.0.1:%d/", port);
    if (url.text)
        add_escaped(out, url.text, "/");
    out->failed = out->failed || url.failed;
    str_free(&url);
}
