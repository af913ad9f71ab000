#include "pipeline/optable.h"

#include <stdio.h>

enum { CELL = 24 };

void pl_optable_head(struct pl_stage_ctx *ctx, const char *source,
                     const struct pl_opcheck_opts *opts)
{
    pl_say(ctx,
           "gradcheck  largest relative error to central differences in "
           "float64 (eps %g, at most %g)",
           opts->eps, opts->gradcheck_tolerance);
    pl_say(ctx,
           "float64    largest difference to %s (rtol %g, atol %g); -: random, "
           "so none",
           source, opts->rtol, opts->atol);
    pl_say(ctx, "float32    the same (rtol %g, atol %g)", opts->rtol32,
           opts->atol32);
    pl_say(ctx, "forms      largest difference between fused and unfused");
    pl_say(ctx, "%-*s %-10s numbers  %-10s  %-10s  forms", PL_OPTABLE_NAME,
           "operator", "gradcheck", "float64", "float32");
}

/* A mark and the error, in so many columns. */
static const char *cell(char *buf, bool made, bool ok, double error, int width)
{
    if (made)
        (void)snprintf(buf, CELL, "%s %-*.1e",
                       ok ? "\xe2\x9c\x94" : "\xe2\x9c\x98", /* check, cross */
                       width > 2 ? width - 2 : 0, error);
    else
        (void)snprintf(buf, CELL, "%-*s", width, "-");
    return buf;
}

static const char *compared(char *buf, const struct pl_compared *c, int width)
{
    return cell(buf, c->made, c->close, c->max_error, width);
}

void pl_optable_row(struct pl_stage_ctx *ctx, const char *name,
                    const struct pl_opcheck *o)
{
    char grad[CELL], f64[CELL], f32[CELL], forms[CELL];

    pl_say(ctx, "%-*s %s %7lld  %s  %s  %s", PL_OPTABLE_NAME, name,
           cell(grad, true, o->grad_ok, o->grad.max_error, 10),
           (long long)o->grad.checked, compared(f64, &o->f64, 10),
           compared(f32, &o->f32, 10), compared(forms, &o->forms, 1));
}
