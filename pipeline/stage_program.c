#include "pipeline/stage_program.h"

#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/metrics.h"
#include "pipeline/prog_diff.h"
#include "pipeline/prog_graph.h"
#include "pipeline/prog_report.h"
#include "pipeline/program_output.h"

enum {
    METRIC_MAX = 16,  /* numbers of a value that become metrics */
    VALUES_MAX = 1000 /* that stand in values.json */
};

struct program {
    struct pl_stage_ctx *ctx;
    const struct pl_autograd_with *with;
    struct arena arena;
    struct prog_program p;
    struct prog_frozen frozen;
    struct prog_run run;
    struct prog_diff diff;
};

static bool read_program(struct prog_program *out,
                         const struct pl_autograd_with *with,
                         struct arena *arena, struct pl_diag *d)
{
    const struct pl_node *program = pl_node_get(with->node, "program");

    return program && prog_read(out, with->tensors, program, arena, d);
}

void pl_program_check(const struct pl_autograd_with *with, struct pl_diag *d)
{
    struct arena arena = {0};
    struct prog_program p;

    if (read_program(&p, with, &arena, d))
        pl_program_output_check(with, &p, d);
    arena_free(&arena);
}

static void say(void *user, const char *line)
{
    struct program *g = user;

    pl_say(g->ctx, "%s", line);
}

static void metric(void *user, const char *name, double v)
{
    struct program *g = user;

    pl_metric(g->ctx, name, v);
}

static bool stopping(void *user)
{
    struct program *g = user;

    return pl_stopping(g->ctx);
}

/* Shows the line that failed, with a caret below the place. */
static void show_place(struct program *g, const struct err *err)
{
    struct pl_diag d = {.arena = &g->arena};
    struct str s = {0};
    char *line, *rest = NULL;
    int i;

    if (!g->p.source.loc.file || err->code == ERR_NOMEM)
        return;
    pl_diag_error(&d, prog_loc(&g->p.source, g->run.where), "%s", err->msg);
    pl_diag_print(&d, &s, false);
    line = s.failed ? NULL : strtok_r(s.text, "\n", &rest);
    for (i = 0; line && i < 3; i++) {
        if (i > 0) /* the message comes with the failure */
            pl_log(g->ctx, "%s", line);
        line = strtok_r(NULL, "\n", &rest);
    }
    str_free(&s);
}

static int evaluate(struct program *g, struct err *err)
{
    struct pl_diag d = {.arena = &g->arena};
    size_t i;
    int rc;

    if (!read_program(&g->p, g->with, &g->arena, &d))
        return err_set(err, d.nomem ? ERR_NOMEM : ERR_CONFIG, "%s",
                       d.n ? d.item[0].msg : "the program cannot be read");
    rc = prog_run_begin(&g->run, g->ctx->be, &g->p.source, &g->arena, err);
    g->run.frozen = &g->frozen;
    g->run.say = say;
    g->run.user = g;
    for (i = 0; rc == 0 && i < g->p.n_tensors; i++)
        rc = prog_run_give(&g->run, &g->p.tensors[i], err);
    if (rc != 0)
        return rc;
    rc = prog_run_stmts(&g->run, g->p.stmts, err);
    if (rc != 0)
        show_place(g, err);
    return rc;
}

static int write_text(struct program *g, const char *name, struct str *s,
                      int rc, struct err *err)
{
    if (rc == 0 && s->failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for %s", name);
    if (rc == 0)
        rc = pl_artifact_write(g->ctx, name, s->text, s->len, err);
    str_free(s);
    return rc;
}

static void value(void *user, const char *name, double v)
{
    pl_metrics_set(user, name, v);
}

/* Named numbers, for expectations. */
static int write_values(struct program *g, struct err *err)
{
    const char *path = pl_artifact_path(g->ctx, "values.json", err);
    struct pl_metrics m = {0};
    int rc = path ? prog_each_number(&g->run, VALUES_MAX, value, &m, err)
                  : ERR_NOMEM;

    if (rc == 0 && m.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for values.json");
    if (rc == 0)
        rc = pl_metrics_write(&m, path, err);
    if (rc == 0)
        rc = pl_artifact_add(g->ctx, "values.json", err);
    pl_metrics_clear(&m);
    return rc;
}

static int write_all(struct program *g, struct err *err)
{
    const char *title = g->ctx->stage->id;
    struct str s = {0};
    int rc = prog_values_csv(&s, &g->run, err);

    rc = write_text(g, "values.csv", &s, rc, err);
    if (rc == 0)
        rc = write_values(g, err);
    if (rc == 0) {
        rc = prog_derivation_md(&s, title, &g->run, &g->diff, err);
        rc = write_text(g, "derivation.md", &s, rc, err);
    }
    if (rc == 0) {
        rc = prog_graph_svg(&s, title, &g->run, err);
        rc = write_text(g, "graph.svg", &s, rc, err);
    }
    return rc;
}

static int report(struct program *g, struct err *err)
{
    int rc = prog_derivation_say(&g->run, say, g, err);

    if (rc == 0)
        rc = prog_each_number(&g->run, METRIC_MAX, metric, g, err);
    if (rc != 0)
        return rc;
    if (g->diff.not_made) {
        pl_say(g->ctx, "gradcheck: not made: %s", g->diff.not_made);
        return 0;
    }
    pl_say(g->ctx,
           "gradcheck: %lld gradients against central differences, max "
           "relative error %.1e%s",
           (long long)g->diff.checked, g->diff.max_error,
           g->diff.kinks ? " (corners left out)" : "");
    pl_metric(g->ctx, "gradcheck.checked", (double)g->diff.checked);
    pl_metric(g->ctx, "gradcheck.kinks", (double)g->diff.kinks);
    pl_metric(g->ctx, "gradcheck.max_error", g->diff.max_error);
    return 0;
}

int pl_program_run(struct pl_stage_ctx *ctx,
                   const struct pl_autograd_with *with, struct err *err)
{
    struct program g = {.ctx = ctx, .with = with};
    int rc = evaluate(&g, err);

    if (rc == 0)
        rc = prog_diff_check(&g.diff, &g.p, &g.run, with->eps, stopping, &g,
                             err);
    if (rc == 0)
        rc = write_all(&g, err);
    if (rc == 0)
        rc = report(&g, err);
    if (rc == 0)
        rc = pl_program_output(ctx, with, &g.run, err);
    prog_run_end(&g.run);
    mem_free(g.frozen.data);
    arena_free(&g.arena);
    return rc;
}
