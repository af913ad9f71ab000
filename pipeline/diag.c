#include "pipeline/diag.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/utf8.h"

enum {
    WORD_MAX = 64,     /* longer words get no suggestion */
    LIST_MAX = 12,     /* longer lists are not shown */
    MESSAGE_MAX = 600, /* bytes of a message that are shown */
    EXCERPT = 120      /* columns of a line that are shown */
};

static bool same_place(const struct pl_loc *a, const struct pl_loc *b)
{
    return a->file == b->file && a->line == b->line && a->col == b->col;
}

static const char *formatted(struct pl_diag *d, const char *fmt, va_list ap)
{
    struct str s = {0};
    char *text = NULL;

    str_addv(&s, fmt, ap);
    if (!s.failed)
        text = arena_strdup(d->arena, s.text);
    str_free(&s);
    if (!text)
        d->nomem = true;
    return text;
}

/* Whether what stands at loc may be shown; what the command line says may. */
static bool may_quote(const struct pl_diag *d, const struct pl_loc *loc)
{
    return !d->quotable || !loc->file || loc->file == d->quotable ||
           !loc->file->dir;
}

void pl_diag_error(struct pl_diag *d, struct pl_loc loc, const char *fmt, ...)
{
    const char *msg;
    va_list ap;
    size_t i;

    d->kept = false;
    if (d->n == PL_DIAG_MAX) {
        d->errors++;
        return;
    }
    va_start(ap, fmt);
    msg = formatted(d, fmt, ap);
    va_end(ap);
    if (msg && !may_quote(d, &loc))
        msg = "a mistake, or what an untrusted file may not ask for; it is "
              "not quoted, since such a file reads this one";
    for (i = 0; msg && i < d->n; i++)
        if (same_place(&d->item[i].loc, &loc) &&
            strcmp(d->item[i].msg, msg) == 0)
            return;
    d->errors++;
    if (!msg)
        return;
    d->item[d->n++] = (struct pl_diag_item){loc, msg, NULL};
    d->kept = may_quote(d, &loc);
}

void pl_diag_help(struct pl_diag *d, const char *fmt, ...)
{
    struct pl_diag_item *item;
    const char *text;
    va_list ap;

    if (!d->kept)
        return;
    item = &d->item[d->n - 1];
    va_start(ap, fmt);
    text = formatted(d, fmt, ap);
    va_end(ap);
    if (text && item->help)
        text = arena_printf(d->arena, "%s\n%s", item->help, text);
    if (text)
        item->help = text;
    else
        d->nomem = true;
}

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;

    return m < c ? m : c;
}

/* Optimal string alignment: edits and swaps of neighbours. */
static int distance(const char *a, size_t na, const char *b, size_t nb)
{
    int row[3][WORD_MAX + 1];
    int *before = row[0], *last = row[1], *now = row[2], *t;
    size_t i, j;

    for (j = 0; j <= nb; j++)
        last[j] = (int)j;
    for (i = 1; i <= na; i++) {
        now[0] = (int)i;
        for (j = 1; j <= nb; j++) {
            int change = a[i - 1] != b[j - 1];

            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        t = before;
        before = last;
        last = now;
        now = t;
    }
    return last[nb];
}

const char *pl_nearest(const char *word, const char *const *names, size_t n)
{
    size_t len = strlen(word), i;
    int limit = len <= 4 ? 1 : len < 9 ? 2 : (int)(len / 3);
    const char *best = NULL;

    if (len > WORD_MAX)
        return NULL;
    for (i = 0; i < n; i++) {
        size_t other = strlen(names[i]);
        int d;

        if (other > WORD_MAX)
            continue;
        d = distance(word, len, names[i], other);
        if (d <= limit && (size_t)d < len) {
            best = names[i];
            limit = d - 1;
        }
    }
    return best;
}

void pl_diag_suggest(struct pl_diag *d, const char *word,
                     const char *const *names, size_t n)
{
    const char *near;
    struct str s = {0};
    size_t i;

    if (!d->kept || n == 0 || (d->quotable && d->others))
        return;
    near = pl_nearest(word, names, n);
    if (near) {
        pl_diag_help(d, "did you mean '%s'?", near);
        return;
    }
    if (n > LIST_MAX)
        return;
    for (i = 0; i < n; i++)
        str_addf(&s, "%s%s", i ? ", " : "", names[i]);
    if (s.failed)
        d->nomem = true;
    else
        pl_diag_help(d, n == 1 ? "there is: %s" : "there are: %s", s.text);
    str_free(&s);
}

/* --- showing them --- */

struct colours {
    const char *bold, *red, *green, *off;
};

/* The character at p as it is shown: a tab as an arrow, what is not printable
 * as U+FFFD. *bytes is its length in the source. Returns its columns. */
static int shown(const char *p, size_t n, size_t *bytes, struct str *out)
{
    uint32_t cp;
    size_t len = utf8_decode(p, n, &cp);
    int width = 1;

    *bytes = len ? len : 1;
    if (len && cp == '\t')
        str_add(out, "\xe2\x86\x92");
    else if (!len || cp < ' ' || (cp >= 0x7f && cp < 0xa0))
        str_add(out, "\xef\xbf\xbd");
    else {
        str_addn(out, p, len);
        width = utf8_width(cp);
    }
    return width;
}

/* text, one line, cut after MESSAGE_MAX bytes. */
static void add_text(struct str *out, const char *text, size_t len)
{
    size_t i, bytes;

    for (i = 0; i < len && i < MESSAGE_MAX; i += bytes)
        (void)shown(text + i, len - i, &bytes, out);
    if (i < len)
        str_add(out, "...");
}

/* Writes the part of a line from character `from` on, and below it what
 * underlines characters col .. col + len - 1 (1-based). */
static void add_excerpt(struct str *line, struct str *mark, const char *p,
                        const char *end, const struct pl_loc *loc)
{
    int col = 1, columns = 0;
    int from = loc->col > EXCERPT * 2 / 3 ? loc->col - EXCERPT / 3 : 1;
    uint32_t cp;
    size_t bytes;

    if (from > 1) {
        str_add(line, "...");
        str_add(mark, "   ");
    }
    for (; p < end && col < from; p += bytes ? bytes : 1, col++)
        bytes = utf8_decode(p, (size_t)(end - p), &cp);
    for (; p < end && columns < EXCERPT; p += bytes, col++) {
        int w = shown(p, (size_t)(end - p), &bytes, line);

        columns += w;
        if (col < loc->col)
            str_addn(mark, "  ", (size_t)w);
        else if (col < loc->col + loc->len || col == loc->col)
            str_addn(mark, col == loc->col ? "^~" : "~~", (size_t)w);
    }
    if (p < end)
        str_add(line, "...");
    if (col <= loc->col) /* behind the end of the line */
        str_add(mark, "^");
}

/* A line ends before a line feed or carriage return, not before a NUL, which
 * a bad file may hold. */
static size_t line_length(const struct pl_file *f, const char *line)
{
    const char *end = f->text + f->len, *p = line;

    while (p < end && *p != '\n' && *p != '\r')
        p++;
    return (size_t)(p - line);
}

static void add_place(const struct pl_loc *loc, struct str *out,
                      const struct colours *c)
{
    const char *begin = pl_file_line(loc->file, loc->line);
    size_t len = line_length(loc->file, begin);
    struct str line = {0}, mark = {0};

    add_excerpt(&line, &mark, begin, begin + len, loc);
    if (line.failed || mark.failed)
        out->failed = true;
    else
        str_addf(out, "%5d | %s\n      | %s%s%s\n", loc->line,
                 line.text ? line.text : "", c->green, mark.text, c->off);
    str_free(&line);
    str_free(&mark);
}

static void add_help(const char *help, struct str *out)
{
    while (help) {
        const char *next = strchr(help, '\n');

        str_add(out, "      = help: ");
        add_text(out, help, next ? (size_t)(next - help) : strlen(help));
        str_addc(out, '\n');
        help = next ? next + 1 : NULL;
    }
}

static void add_item(const struct pl_diag_item *item, bool quote,
                     struct str *out, const struct colours *c)
{
    const struct pl_loc *loc = &item->loc;

    str_add(out, c->bold);
    if (loc->file) {
        add_text(out, loc->file->path, strlen(loc->file->path));
        str_addf(out, ":%d:%d: ", loc->line, loc->col);
    }
    str_addf(out, "%s%serror:%s ", c->off, c->red, c->off);
    add_text(out, item->msg, strlen(item->msg));
    str_addc(out, '\n');
    if (loc->file && quote)
        add_place(loc, out, c);
    add_help(item->help, out);
}

/* An insertion sort: it is stable and the list is short. */
void pl_diag_order(const struct pl_diag *d, size_t order[PL_DIAG_MAX])
{
    size_t rank[PL_DIAG_MAX], i, j;

    for (i = 0; i < d->n; i++) {
        const struct pl_loc *a = &d->item[i].loc;

        for (rank[i] = 0; d->item[rank[i]].loc.file != a->file;)
            rank[i]++;
        for (j = i; j > 0; j--) {
            const struct pl_loc *b = &d->item[order[j - 1]].loc;
            size_t r = rank[order[j - 1]];

            if (r < rank[i] ||
                (r == rank[i] && (b->line < a->line ||
                                  (b->line == a->line && b->col <= a->col))))
                break;
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
}

void pl_diag_print(const struct pl_diag *d, struct str *out, bool colour)
{
    static const struct colours plain = {"", "", "", ""};
    static const struct colours ansi = {"\033[1m", "\033[1;31m", "\033[1;32m",
                                        "\033[0m"};
    size_t order[PL_DIAG_MAX], i;

    pl_diag_order(d, order);
    for (i = 0; i < d->n; i++)
        add_item(&d->item[order[i]], may_quote(d, &d->item[order[i]].loc), out,
                 colour ? &ansi : &plain);
    if (d->errors == 0)
        return;
    str_addf(out, "%zu error%s", d->errors, d->errors == 1 ? "" : "s");
    if (d->errors > d->n)
        str_addf(out, " (the first %zu are shown)", d->n);
    str_add(out, "; nothing was run\n");
}
