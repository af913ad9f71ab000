/* Where the lines of a program stand in the user's file, and the way back
 * from an expression to its text. */
#include <string.h>

#include "nn/base/str.h"
#include "pipeline/prog.h"

static size_t line_len(const char *p)
{
    return strcspn(p, "\r\n");
}

/* Whether the program's lines are those of the file from `line` on, each
 * behind `col` blanks. */
static bool stands_at(const struct prog_source *s, int line, int col)
{
    const char *p = s->text, *f = pl_file_line(s->loc.file, line);

    while (*p) {
        size_t n = line_len(p), have = line_len(f);

        if (n > 0 && (have < n + (size_t)col || have != n + (size_t)col ||
                      memcmp(f + col, p, n) != 0))
            return false;
        p += n;
        p += *p != '\0';
        f += have;
        f += f[0] == '\r' && f[1] == '\n' ? 2 : f[0] != '\0';
    }
    return true;
}

/* A block scalar: its lines begin below its `|`. */
static void find_block(struct prog_source *s)
{
    const char *p = s->text, *f;
    int line = s->loc.line + 1, first = line;

    while (*p == '\n') {
        p++;
        first++;
    }
    f = pl_file_line(s->loc.file, first);
    s->col = (int)strspn(f, " ") - (int)strspn(p, " ");
    if (s->col >= 0 && stands_at(s, line, s->col))
        s->line = line;
}

/* A scalar on one line, in quotes or not. */
static void find_line(struct prog_source *s, bool quoted)
{
    const char *f = pl_file_line(s->loc.file, s->loc.line);
    int col = s->loc.col - 1 + quoted;

    if (strchr(s->text, '\n') || line_len(f) < (size_t)col + s->len ||
        memcmp(f + col, s->text, s->len) != 0)
        return;
    s->line = s->loc.line;
    s->col = col;
}

void prog_source(struct prog_source *out, const struct pl_node *scalar)
{
    const char *f;

    memset(out, 0, sizeof *out);
    out->text = scalar->text;
    out->len = scalar->len;
    out->loc = scalar->loc;
    if (!scalar->loc.file)
        return;
    f = pl_file_line(scalar->loc.file, scalar->loc.line);
    if (line_len(f) >= (size_t)scalar->loc.col && f[scalar->loc.col - 1] == '|')
        find_block(out);
    else
        find_line(out, scalar->quoted);
}

void prog_source_text(struct prog_source *out, const char *text)
{
    memset(out, 0, sizeof *out);
    out->text = text;
    out->len = strlen(text);
}

struct pl_loc prog_loc(const struct prog_source *s, struct prog_pos pos)
{
    struct pl_loc loc = s->loc;

    if (s->line == 0)
        return loc;
    loc.line = s->line + pos.line;
    loc.col = s->col + pos.col + 1;
    loc.len = pos.len;
    return loc;
}

/* How strongly an expression holds together: more binds tighter. */
static int binding(const struct prog_expr *e)
{
    switch (e->kind) {
    case PROG_BINARY:
        if (strcmp(e->text, "**") == 0)
            return 4;
        return *e->text == '+' || *e->text == '-' ? 1 : 2;
    case PROG_NEG:
        return 3;
    default:
        return 5;
    }
}

static void add_inner(struct str *out, const struct prog_expr *e, int least)
{
    if (binding(e) >= least) {
        prog_expr_add(out, e);
        return;
    }
    str_addc(out, '(');
    prog_expr_add(out, e);
    str_addc(out, ')');
}

static void add_binary(struct str *out, const struct prog_expr *e)
{
    int b = binding(e);
    bool power = b == 4;

    add_inner(out, e->arg[0], power ? 5 : b);
    str_addf(out, power ? "%s" : " %s ", e->text);
    add_inner(out, e->arg[1], power ? 3 : b + 1);
}

static void add_call(struct str *out, const struct prog_expr *e)
{
    size_t i;

    str_addf(out, "%s(", e->text);
    for (i = 0; i < e->n; i++) {
        str_add(out, i ? ", " : "");
        if (e->key[i])
            str_addf(out, "%s=", e->key[i]);
        prog_expr_add(out, e->arg[i]);
    }
    str_addc(out, ')');
}

static void add_index(struct str *out, const struct prog_expr *e)
{
    add_inner(out, e->arg[0], 5);
    str_addc(out, '[');
    if (e->arg[1])
        prog_expr_add(out, e->arg[1]);
    if (e->slice)
        str_addc(out, ':');
    if (e->arg[2])
        prog_expr_add(out, e->arg[2]);
    str_addc(out, ']');
}

void prog_expr_add(struct str *out, const struct prog_expr *e)
{
    switch (e->kind) {
    case PROG_NEG:
        str_addc(out, '-');
        add_inner(out, e->arg[0], 3);
        break;
    case PROG_BINARY:
        add_binary(out, e);
        break;
    case PROG_CALL:
        add_call(out, e);
        break;
    case PROG_ATTR:
        add_inner(out, e->arg[0], 5);
        str_addf(out, ".%s", e->text);
        break;
    case PROG_INDEX:
        add_index(out, e);
        break;
    case PROG_TEXT:
        str_addf(out, "\"%s\"", e->text);
        break;
    default:
        str_add(out, e->text);
    }
}
