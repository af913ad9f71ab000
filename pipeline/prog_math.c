/* Formulas as they are written by hand. */
#include <math.h>
#include <string.h>

#include "pipeline/prog_rule.h"

/* Binds: + - 1, * / @ 2, unary - 3, powers and transposes 4, words 5. */
static int binding(const struct prog_expr *e)
{
    if (e->kind == PROG_NEG)
        return 3;
    if (e->kind == PROG_CALL && strcmp(e->text, "outer") == 0)
        return 2;
    if (e->kind == PROG_CALL && strcmp(e->text, "transpose") == 0)
        return e->n == 1 ? 4 : 5;
    if (e->kind != PROG_BINARY)
        return 5;
    if (strcmp(e->text, "**") == 0)
        return 4;
    return *e->text == '+' || *e->text == '-' ? 1 : 2;
}

static void add_inner(struct str *out, const struct prog_expr *e, int least)
{
    bool bare = binding(e) >= least;

    if (!bare)
        str_addc(out, '(');
    prog_math_add(out, e);
    if (!bare)
        str_addc(out, ')');
}

static void add_power(struct str *out, const struct prog_expr *e)
{
    static const char *const raised[] = {
        "\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
        "\u2075", "\u2076", "\u2077", "\u2078", "\u2079",
    };
    const struct prog_expr *p = e->arg[1];

    add_inner(out, e->arg[0], 5);
    if (p->kind == PROG_NUMBER && p->number >= 0 && p->number < 10 &&
        p->number <= floor(p->number)) {
        str_add(out, raised[(int)p->number]);
        return;
    }
    str_addc(out, '^');
    add_inner(out, p, 5);
}

static void add_binary(struct str *out, const struct prog_expr *e)
{
    bool both = e->arg[0]->rank > 0 && e->arg[1]->rank > 0;
    bool chain = *e->text != '@' || e->arg[0]->kind != PROG_BINARY ||
                 *e->arg[0]->text == '@';
    int b = binding(e);

    add_inner(out, e->arg[0], chain ? b : 3); /* (a * b) @ c */
    if (*e->text == '+' && e->arg[1]->kind == PROG_NEG) {
        str_add(out, " - ");
        add_inner(out, e->arg[1]->arg[0], 2);
        return;
    }
    if (*e->text == '*')
        str_add(out, both ? " \u2299 " : " \u00b7 ");
    else
        str_addf(out, " %s ", e->text);
    add_inner(out, e->arg[1], b + 1);
}

static void add_call(struct str *out, const struct prog_expr *e)
{
    size_t i;

    if (strcmp(e->text, "outer") == 0) {
        add_inner(out, e->arg[0], 3);
        str_add(out, " @ ");
        add_inner(out, e->arg[1], 5);
        str_add(out, "\u1d40");
        return;
    }
    if (strcmp(e->text, "transpose") == 0 && e->n == 1) {
        add_inner(out, e->arg[0], 5);
        str_add(out, "\u1d40");
        return;
    }
    str_addf(out, "%s(", e->text);
    for (i = 0; i < e->n; i++) {
        str_add(out, i ? ", " : "");
        if (e->key && e->key[i])
            str_addf(out, "%s=", e->key[i]);
        prog_math_add(out, e->arg[i]);
    }
    str_addc(out, ')');
}

static void add_attr(struct str *out, const struct prog_expr *e)
{
    add_inner(out, e->arg[0], 5);
    if (strcmp(e->text, "T") == 0)
        str_add(out, "\u1d40");
    else
        str_addf(out, ".%s", e->text);
}

void prog_math_add(struct str *out, const struct prog_expr *e)
{
    switch (e->kind) {
    case PROG_NEG:
        str_addc(out, '-');
        add_inner(out, e->arg[0], 2); /* -(a * b) is (-a) * b */
        break;
    case PROG_BINARY:
        if (binding(e) == 4)
            add_power(out, e);
        else
            add_binary(out, e);
        break;
    case PROG_CALL:
        add_call(out, e);
        break;
    case PROG_ATTR:
        add_attr(out, e);
        break;
    default:
        prog_expr_add(out, e);
    }
}
