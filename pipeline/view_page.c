#include "pipeline/view_page.h"

#include <string.h>

#include "pipeline/pipeline.h"
#include "pipeline/view_path.h"

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--soft:#59636e;\n"
    "--edge:#d1d9e0;--link:#0550ae}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;\n"
    "--soft:#9da7b1;--edge:#3d444d;--link:#79c0ff}}\n"
    "body{margin:0 auto;max-width:1100px;padding:16px;background:var(--bg);\n"
    "color:var(--fg);font:15px/1.5 system-ui,-apple-system,'Segoe UI',\n"
    "Roboto,Helvetica,Arial,'DejaVu Sans',sans-serif}\n"
    "h1{font-size:20px}\n"
    "h2{font-size:16px;margin:28px 0 6px;padding-top:10px;\n"
    "border-top:1px solid var(--edge);overflow-wrap:anywhere}\n"
    "a{color:var(--link)}\n"
    "a:focus-visible,summary:focus-visible{outline:2px solid var(--link);\n"
    "outline-offset:2px;border-radius:3px}\n"
    "ul{margin:6px 0;padding-left:20px}\n"
    "li{overflow-wrap:anywhere}\n"
    ".soft{color:var(--soft)}\n"
    ".pictures{display:grid;gap:12px;margin:8px 0 12px;\n"
    "grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr))}\n"
    "figure{margin:0;border:1px solid var(--edge);border-radius:6px;\n"
    "padding:8px;overflow-x:auto}\n"
    "img{max-width:100%;height:auto;display:block;margin:auto}\n"
    "figcaption{font-size:13px;overflow-wrap:anywhere}\n";

static const char *const heads[VIEW_KINDS] = {
    [VIEW_PICTURE] = "Pictures", [VIEW_PAGE] = "Pages",
    [VIEW_REPORT] = "Reports",   [VIEW_TABLE] = "Tables",
    [VIEW_TRACE] = "Traces",     [VIEW_FILE] = "Other files",
};

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The length of the folder's name in a path, 0 for the folder itself. */
static size_t folder_len(const char *path)
{
    return (size_t)(base(path) - path);
}

static void add_bytes(struct str *out, uint64_t bytes)
{
    static const char *const unit[] = {"KB", "MB", "GB", "TB"};
    double v = (double)bytes / 1e3;
    int u = 0;

    if (bytes < 1000) {
        str_addf(out, " <span class=soft>%d B</span>", (int)bytes);
        return;
    }
    for (; v >= 999.95 && u < 3; u++)
        v /= 1e3;
    str_addf(out, " <span class=soft>%.1f %s</span>", v, unit[u]);
}

static void add_link(struct str *out, const char *path, const char *end)
{
    /* A colon in a name is escaped, so that it ends no scheme. */
    str_add(out, "<a href=\"");
    view_add_url(out, path);
    str_addf(out, "%s\">", end);
}

static void add_picture(struct str *out, const struct view_file *f)
{
    str_add(out, "<figure>");
    add_link(out, f->path, "");
    str_add(out, "<img loading=lazy src=\"");
    view_add_url(out, f->path);
    str_add(out, "\" alt=\"");
    str_add_xml(out, base(f->path));
    str_add(out, "\"></a><figcaption>");
    str_add_xml(out, base(f->path));
    str_add(out, "</figcaption></figure>\n");
}

/* "open in Perfetto", which takes the path below the root. */
static void add_perfetto(struct str *out, const struct view_page *p,
                         const struct view_file *f)
{
    struct str rel = {0};

    str_addf(&rel, "%s%s%s", p->rel, *p->rel ? "/" : "", f->path);
    if (p->port == PL_VIEW_PORT && rel.text) {
        str_add(out, " &mdash; <a href=\"");
        view_add_perfetto(out, p->port, rel.text);
        str_add(out, "\" target=_blank rel=noopener>open in Perfetto</a>");
    }
    out->failed = out->failed || rel.failed;
    str_free(&rel);
}

static void add_file(struct str *out, const struct view_page *p,
                     const struct view_file *f)
{
    str_add(out, "<li>");
    add_link(out, f->path, "");
    str_add_xml(out, base(f->path));
    str_add(out, "</a>");
    add_bytes(out, f->bytes);
    if (view_kind_of(f->path) == VIEW_TRACE)
        add_perfetto(out, p, f);
    str_add(out, "</li>\n");
}

static void open_kind(struct str *out, enum view_kind kind, size_t n)
{
    if (kind == VIEW_PICTURE)
        str_add(out, "<div class=pictures>\n");
    else if (kind == VIEW_FILE)
        str_addf(out, "<details><summary>%s (%zu)</summary><ul>\n", heads[kind],
                 n);
    else
        str_addf(out, "<div>%s</div><ul>\n", heads[kind]);
}

static void close_kind(struct str *out, enum view_kind kind)
{
    str_add(out, kind == VIEW_PICTURE ? "</div>\n"
                 : kind == VIEW_FILE  ? "</ul></details>\n"
                                      : "</ul>\n");
}

static bool is_shown(const struct view_page *p, const struct view_file *f)
{
    return !p->only || strcmp(p->only, f->path) == 0;
}

static size_t count_kind(const struct view_page *p, const struct view_file *f,
                         size_t n, enum view_kind kind)
{
    size_t i, found = 0;

    for (i = 0; i < n; i++)
        found += is_shown(p, &f[i]) && view_kind_of(f[i].path) == kind;
    return found;
}

/* The n files of one folder, by kind. */
static void add_section(struct str *out, const struct view_page *p,
                        const struct view_file *f, size_t n)
{
    static const enum view_kind order[] = {VIEW_PICTURE, VIEW_PAGE,  VIEW_TRACE,
                                           VIEW_REPORT,  VIEW_TABLE, VIEW_FILE};
    size_t len = folder_len(f->path), k, i, found;

    if (len) {
        str_add(out, "<section><h2>");
        for (i = 0; i + 1 < len; i++) {
            char one[2] = {f->path[i], '\0'};

            str_add_xml(out, one);
        }
        str_add(out, "</h2>\n");
    } else {
        str_add(out, "<section>\n");
    }
    for (k = 0; k < VIEW_KINDS; k++) {
        found = count_kind(p, f, n, order[k]);
        if (!found)
            continue;
        open_kind(out, order[k], found);
        for (i = 0; i < n; i++) {
            if (!is_shown(p, &f[i]) || view_kind_of(f[i].path) != order[k])
                continue;
            if (order[k] == VIEW_PICTURE)
                add_picture(out, &f[i]);
            else
                add_file(out, p, &f[i]);
        }
        close_kind(out, order[k]);
    }
    str_add(out, "</section>\n");
}

static bool same_folder(const char *a, const char *b)
{
    size_t n = folder_len(a);

    return n == folder_len(b) && memcmp(a, b, n) == 0;
}

static void add_sections(struct str *out, const struct view_page *p,
                         const struct view_list *l)
{
    size_t i, n;

    for (i = 0; i < l->n; i += n) {
        for (n = 1; i + n < l->n; n++)
            if (!same_folder(l->file[i].path, l->file[i + n].path))
                break;
        if (!p->only || count_kind(p, &l->file[i], n, view_kind_of(p->only)))
            add_section(out, p, &l->file[i], n);
    }
}

static void add_runs(struct str *out, const struct view_list *l)
{
    size_t i;

    if (!l->n_runs)
        return;
    str_add(out, "<nav aria-label=Experiments><ul>\n");
    for (i = 0; i < l->n_runs; i++) {
        str_add(out, "<li>");
        add_link(out, l->run[i].path, "/");
        str_add_xml(out, l->run[i].path);
        str_add(out, "</a></li>\n");
    }
    str_add(out, "</ul></nav>\n");
}

/* The name of PATH, and where below it this is. */
static void add_head(struct str *out, const struct view_page *p)
{
    str_add(out, "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
                 "<meta name=viewport content=\"width=device-width\">\n"
                 "<link rel=icon href=\"data:,\">\n<title>");
    str_add_xml(out, *p->rel ? p->rel : p->name);
    str_addf(out, "</title>\n<style>\n%s</style></head><body>\n<h1>", style);
    if (*p->rel)
        str_add(out, "<a href=\"/\">");
    str_add_xml(out, p->name);
    if (*p->rel) {
        str_add(out, "</a> / ");
        str_add_xml(out, p->rel);
    }
    str_add(out, "</h1>\n<main>\n");
}

int view_page_html(struct str *out, const struct view_page *p, struct err *err)
{
    struct view_list list;
    int rc = view_list_make(&list, p->fd, err);

    add_head(out, p);
    if (!p->only)
        add_runs(out, &list);
    if (rc == 0 && !list.n && !list.n_runs)
        str_add(out, "<p>There are no results here yet.</p>\n");
    add_sections(out, p, &list);
    if (list.more)
        str_add(out, "<p>There are more files than this page lists.</p>\n");
    if (p->port != PL_VIEW_PORT)
        str_addf(out,
                 "<p class=soft>Perfetto's page fetches from port %d only: "
                 "download a trace and use \"Open trace file\" at <a href="
                 "\"" VIEW_PERFETTO "\">" VIEW_PERFETTO "</a>.</p>\n",
                 PL_VIEW_PORT);
    str_add(out, "</main></body></html>\n");
    view_list_free(&list);
    if (rc == 0 && out->failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for a page");
    return rc;
}
