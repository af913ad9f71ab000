#include "pipeline/schema_value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/scalar.h"

/* Larger bounds are none for a person. */
static const double no_bound = 9e15;

/* "between 1 and 100", "greater than 0 and at most 1", "at least 1", ... */
static void add_bounds(struct str *out, const struct pl_field *f)
{
    bool open = (f->flags & (PL_F_OPEN_MIN | PL_F_OPEN_MAX)) != 0;
    bool low = f->min > -no_bound, high = f->max < no_bound;

    if (low && high && !open) {
        str_add(out, "between ");
        scalar_add(out, f->min);
        str_add(out, " and ");
        scalar_add(out, f->max);
        return;
    }
    if (low) {
        str_add(out, f->flags & PL_F_OPEN_MIN ? "greater than " : "at least ");
        scalar_add(out, f->min);
    }
    if (high) {
        str_add(out, low ? " and " : "");
        str_add(out, f->flags & PL_F_OPEN_MAX ? "less than " : "at most ");
        scalar_add(out, f->max);
    }
}

static bool bounded(const struct pl_field *f)
{
    return f->min != 0 || f->max != 0;
}

bool pl_value_within(const struct pl_field *f, double v)
{
    if (!bounded(f))
        return true;
    return v >= f->min && v <= f->max &&
           !(v == f->min && (f->flags & PL_F_OPEN_MIN)) &&
           !(v == f->max && (f->flags & PL_F_OPEN_MAX));
}

/* A number as it stands in the file, without quotes. */
static const char *number_words(const struct pl_node *node, char buf[80])
{
    const char *text = node->written ? node->written : node->text;

    (void)snprintf(buf, 80, "%.60s", text);
    return buf;
}

static void out_of_range(struct reader *r, const struct pl_field *f,
                         const struct pl_node *node)
{
    struct str s = {0};
    char words[80];

    add_bounds(&s, f);
    if (s.failed)
        r->d->nomem = true;
    else
        pl_diag_error(r->d, node->loc, "%s must be %s, not %s", f->name, s.text,
                      number_words(node, words));
    str_free(&s);
}

/* What a value of this type is called. */
static const char *due(enum pl_type type)
{
    switch (type) {
    case PL_T_BOOL:
        return "true or false";
    case PL_T_INT:
        return "a whole number";
    case PL_T_NUMBER:
        return "a number";
    case PL_T_DURATION:
        return "a time such as 90s, 15m or 2h";
    case PL_T_SIZE:
        return "a size such as 4096, 16KiB or 4GiB";
    case PL_T_SHA256:
        return "a SHA-256 of 64 hex digits";
    case PL_T_DATASET:
        return "the name of a dataset";
    case PL_T_MODEL:
        return "the name of a model";
    case PL_T_STAGE:
        return "the name of a stage";
    case PL_T_OPERATOR:
        return "the name of an operator";
    case PL_T_PATH:
        return "a path";
    case PL_T_PLACE:
        return "a folder or an address";
    default:
        return "a text";
    }
}

static void wrong(struct reader *r, const struct pl_field *f, enum pl_type type,
                  const struct pl_node *node)
{
    char words[80];

    pl_diag_error(r->d, node->loc, "%s must be %s, not %s", f->name, due(type),
                  pl_node_words(node, words));
}

/* text without its '_' and leading zeros, for a suggestion. */
static void suggest_plain(struct reader *r, const char *text)
{
    struct str s = {0};
    const char *p = text;

    if (*p == '-' || *p == '+')
        str_addc(&s, *p++);
    while (p[0] == '0' && (isdigit((unsigned char)p[1]) || p[1] == '_'))
        p++;
    for (; *p; p++)
        if (*p != '_')
            str_addc(&s, *p);
    if (s.failed)
        r->d->nomem = true;
    else
        pl_diag_help(r->d, "write %s", s.text);
    str_free(&s);
}

/* The error for a text that is no number of the type that is due. */
static void number_fault(struct reader *r, const struct pl_field *f,
                         enum pl_type type, const struct pl_node *node,
                         enum scalar_fault fault)
{
    int64_t whole;

    if (fault == SCALAR_LARGE && type == PL_T_INT && bounded(f)) {
        out_of_range(r, f, node);
        return;
    }
    wrong(r, f, type, node);
    switch (fault) {
    case SCALAR_UNDERSCORE:
    case SCALAR_ZEROS:
        suggest_plain(r, node->text);
        break;
    case SCALAR_BASE:
        pl_diag_help(r->d, "write it in decimal");
        break;
    case SCALAR_WHOLE:
        if (scalar_int(node->text, &whole) == SCALAR_WHOLE)
            pl_diag_help(r->d, "write %lld", (long long)whole);
        break;
    case SCALAR_INFINITE:
        pl_diag_help(r->d, "only finite numbers are taken");
        break;
    case SCALAR_LARGE:
        pl_diag_help(r->d, "it is too large to be kept");
        break;
    case SCALAR_TINY:
        pl_diag_help(r->d, "it is too small: it would be 0");
        break;
    case SCALAR_LONG:
        pl_diag_help(r->d, "it has too many digits");
        break;
    default:
        break;
    }
}

/* True if a number was written in quotes: an error. */
static bool quoted(struct reader *r, const struct pl_field *f,
                   enum pl_type type, const struct pl_node *node)
{
    if (!node->quoted)
        return false;
    wrong(r, f, type, node);
    pl_diag_help(r->d, "remove the quotes");
    return true;
}

/* v against the bounds; a default may lie outside: "not given". */
static void check_bounds(struct reader *r, const struct pl_field *f, double v,
                         const struct pl_node *node)
{
    if (node->loc.file && !pl_value_within(f, v))
        out_of_range(r, f, node);
}

static void read_int(struct reader *r, const struct pl_field *f,
                     enum pl_type type, int64_t *at, const struct pl_node *node)
{
    enum scalar_fault fault;
    int64_t v = 0;

    if ((type == PL_T_INT || strpbrk(node->text, "BKMG") == NULL) &&
        quoted(r, f, type, node))
        return;
    fault = type == PL_T_INT ? scalar_int(node->text, &v)
                             : scalar_size(node->text, &v);
    if (fault != SCALAR_OK) {
        number_fault(r, f, type, node, fault);
        return;
    }
    *at = v;
    check_bounds(r, f, (double)v, node);
}

static void read_number(struct reader *r, const struct pl_field *f,
                        enum pl_type type, double *at,
                        const struct pl_node *node)
{
    enum scalar_fault fault;
    double v = 0;

    if ((type == PL_T_NUMBER || strpbrk(node->text, "smhd") == NULL) &&
        quoted(r, f, type, node))
        return;
    fault = type == PL_T_NUMBER ? scalar_double(node->text, &v)
                                : scalar_duration(node->text, &v);
    if (fault != SCALAR_OK) {
        number_fault(r, f, type, node, fault);
        return;
    }
    *at = v;
    check_bounds(r, f, v, node);
}

static void read_bool(struct reader *r, const struct pl_field *f, bool *at,
                      const struct pl_node *node)
{
    static const char *const yes[] = {"yes", "on", "y"};
    static const char *const no[] = {"no", "off", "n"};
    const char *t = node->text, *help = NULL;
    size_t i;

    if (quoted(r, f, PL_T_BOOL, node))
        return;
    *at = strcmp(t, "true") == 0;
    if (*at || strcmp(t, "false") == 0)
        return;
    for (i = 0; i < 3; i++) {
        if (strcasecmp(t, yes[i]) == 0 || strcasecmp(t, "true") == 0)
            help = "true";
        if (strcasecmp(t, no[i]) == 0 || strcasecmp(t, "false") == 0)
            help = "false";
    }
    wrong(r, f, PL_T_BOOL, node);
    if (help)
        pl_diag_help(r->d, "write %s", help);
}

static void read_sha256(struct reader *r, const struct pl_field *f,
                        const char **at, const struct pl_node *node)
{
    size_t digits = strspn(node->text, "0123456789abcdefABCDEF"), i;
    char *hex;

    if (digits != node->len || node->len != 64) {
        if (digits == node->len)
            pl_diag_error(r->d, node->loc,
                          "%s must be 64 hex digits; here are %zu", f->name,
                          node->len);
        else
            wrong(r, f, PL_T_SHA256, node);
        return;
    }
    hex = arena_strdup(r->arena, node->text);
    if (!hex) {
        r->d->nomem = true;
        return;
    }
    for (i = 0; i < 64; i++)
        hex[i] = (char)tolower((unsigned char)hex[i]);
    *at = hex;
}

const char *pl_schema_path(const struct pl_node *scalar, struct arena *a)
{
    const struct pl_file *file = scalar->loc.file;
    char *joined, *copy;

    if (!file || !file->dir || strstr(scalar->text, "://"))
        return scalar->text;
    joined = io_join(file->dir, scalar->text);
    copy = joined ? arena_strdup(a, joined) : NULL;
    mem_free(joined);
    return copy;
}

static void read_path(struct reader *r, const struct pl_field *f,
                      enum pl_type type, const char **at,
                      const struct pl_node *node)
{
    bool address = strstr(node->text, "://") != NULL;

    if (node->len == 0) {
        wrong(r, f, type, node);
        return;
    }
    if (address &&
        (type == PL_T_PATH || (strncmp(node->text, "http://", 7) != 0 &&
                               strncmp(node->text, "https://", 8) != 0))) {
        wrong(r, f, type, node);
        if (type == PL_T_PLACE)
            pl_diag_help(r->d, "an address begins with https:// or http://");
        return;
    }
    *at = pl_schema_path(node, r->arena);
    if (!*at)
        r->d->nomem = true;
}

static void read_word(struct reader *r, const struct pl_field *f,
                      enum pl_type type, void *at, const struct pl_node *node)
{
    switch (type) {
    case PL_T_BOOL:
        read_bool(r, f, at, node);
        break;
    case PL_T_INT:
    case PL_T_SIZE:
        read_int(r, f, type, at, node);
        break;
    case PL_T_NUMBER:
    case PL_T_DURATION:
        read_number(r, f, type, at, node);
        break;
    case PL_T_ENUM:
        pl_value_enum(r, f, at, node);
        break;
    case PL_T_PATH:
    case PL_T_PLACE:
        read_path(r, f, type, at, node);
        break;
    case PL_T_SHA256:
        read_sha256(r, f, at, node);
        break;
    case PL_T_DATASET:
    case PL_T_MODEL:
    case PL_T_STAGE:
    case PL_T_OPERATOR:
        pl_value_name(r, f, type, at, node);
        break;
    default:
        if (type != PL_T_STRING || !f->choices || pl_value_choice(r, f, node))
            *(const char **)at = node->text;
    }
}

void pl_value_read(struct reader *r, const struct pl_field *f,
                   enum pl_type type, void *at, const struct pl_node *node)
{
    char words[80];

    if (type == PL_T_NODE) {
        *(const struct pl_node **)at = node;
        return;
    }
    if (node->kind == PL_NULL) {
        pl_diag_error(r->d, node->loc, "%s is empty; %s is due", f->name,
                      due(type));
        if (f->flags & PL_F_REQUIRED)
            pl_diag_help(r->d, "for example %s", f->example);
        else
            pl_diag_help(r->d, "remove the line to have the default");
    } else if (node->kind != PL_SCALAR) {
        pl_diag_error(r->d, node->loc, "%s must be %s, not %s", f->name,
                      due(type), pl_node_words(node, words));
    } else if (node->stage && type != PL_T_PATH) {
        pl_diag_error(r->d, node->loc,
                      "%s is no path: ${stages...} cannot stand there",
                      f->name);
    } else {
        read_word(r, f, type, at, node);
    }
}
