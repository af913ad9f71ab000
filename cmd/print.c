#include "cmd/print.h"

#include <string.h>

#include "cmd/term.h"
#include "nn/base/str.h"

static const char *const action[] = {
    [PL_UP_TO_DATE] = "up to date",
    [PL_RUN] = "run",
    [PL_MAY_RUN] = "may run",
    [PL_SKIP] = "skipped",
};

static void print_changes(FILE *to, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");

        (void)fprintf(to, "%14s%.*s\n", "", (int)n, lines);
        lines += lines[n] ? n + 1 : n;
    }
}

void print_step(FILE *to, const struct pl_step *s, bool all)
{
    (void)fprintf(to, "%-10s  %s", action[s->action], s->stage);
    if (s->reason[0])
        (void)fprintf(to, "  (%s)", s->reason);
    (void)fputc('\n', to);
    if (all)
        print_changes(to, s->changes);
}

static const struct {
    const char *mark, *color;
} look[] = {
    [PL_PASSED] = {"\u2714", "\033[32m"},
    [PL_FAILED] = {"\u2718", "\033[31m"},
    [PL_NOT_ASSESSED] = {"-", ""},
    [PL_BY_HAND] = {"-", ""},
};

static void print_padded(FILE *to, const char *text, size_t width)
{
    size_t n = term_length(text);

    (void)fprintf(to, "  %s%*s", text, (int)(width > n ? width - n : 0), "");
}

static size_t wider(size_t width, const char *text)
{
    size_t n = term_length(text);

    return n > width ? n : width;
}

static void print_points(FILE *to, const struct pl_verdict *v)
{
    if (v->of <= 0)
        return;
    if (v->outcome == PL_PASSED || v->outcome == PL_FAILED)
        (void)fprintf(to, "  %g/%g", v->points, v->of);
    else
        (void)fprintf(to, "  -/%g", v->of);
}

static void print_verdict(FILE *to, const struct pl_verdict *v,
                          const size_t width[3], bool color)
{
    const char *on = color ? look[v->outcome].color : "";

    (void)fprintf(to, "%s%s%s", on, look[v->outcome].mark,
                  *on ? "\033[0m" : "");
    print_padded(to, v->stage, width[0]);
    print_padded(to, v->expectation, width[1]);
    print_padded(to, v->measured, v->of > 0 ? width[2] : 0);
    print_points(to, v);
    (void)fputc('\n', to);
    if (v->outcome == PL_FAILED && v->why)
        (void)fprintf(to, "   why: %s\n", v->why);
}

void print_verdicts(FILE *to, const struct pl_result *r, bool color)
{
    size_t width[3] = {0}, i;

    for (i = 0; i < r->n_verdicts; i++) {
        width[0] = wider(width[0], r->verdict[i].stage);
        width[1] = wider(width[1], r->verdict[i].expectation);
        width[2] = wider(width[2], r->verdict[i].measured);
    }
    for (i = 0; i < r->n_verdicts; i++)
        print_verdict(to, &r->verdict[i], width, color);
    if (r->of > 0)
        (void)fprintf(to, "points: %g of %g\n", r->points, r->of);
}
