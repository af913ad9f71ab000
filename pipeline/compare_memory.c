/* The show memory of a compare stage. */
#include "pipeline/compare_memory.h"

#include <stdio.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/optim.h"
#include "pipeline/device_settings.h"
#include "pipeline/profile.h"
#include "pipeline/train_run.h"

struct show {
    struct pl_stage_ctx *ctx;
    const struct pl_compare_cells *cells;
    struct pl_memory_figures *run;
    struct pl_memories all;
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory comparing memory");
}

/* ---- reading ---- */

static int read_cell(struct show *s, size_t i, struct err *err)
{
    static const char file[] = "memory_events.csv.gz";
    const struct pl_compare_cell *cell = &s->cells->cell[i];
    const struct pl_profile_with *with = cell->stage->with;
    struct pl_memory_figures *f = &s->run[i];
    const char *path = pl_compare_path(s->cells, i, file);

    if (!path)
        return no_memory(err);
    f->label = cell->label;
    f->optimizer = pl_compare_setting(cell->stage, "optimizer.type");
    f->optimizer = f->optimizer ? f->optimizer : "";
    f->blocks = -1;
    if (with) {
        struct nn_optim_spec spec = pl_optimizer_spec(&with->optimizer);

        f->blocks = nn_optim_state_blocks(&spec);
    }
    if (!io_exists(path))
        return err_set(err, ERR_CONFIG,
                       "stage '%s' left no %s; run it again with --force",
                       cell->id, file);
    if (pl_memory_file_read(&f->file, path, err) != 0)
        return err ? err->code : ERR_CORRUPT;
    pl_memory_figure(f);
    if (pl_device_is_simulated(f->file.device.text))
        s->all.simulated = true;
    return 0;
}

static int read_all(struct show *s, struct err *err)
{
    const struct pl_compare_with *w = s->ctx->stage->with;
    const char *const *from = w->from.items;
    struct str about = {0};
    int rc = 0;
    size_t i;

    s->run = arena_array(s->cells->arena, s->cells->n, sizeof *s->run);
    str_addf(&about, "%s, ", s->ctx->config->name);
    for (i = 0; i < w->from.n; i++)
        str_addf(&about, "%s%s", i ? ", " : "", from[i]);
    s->all.about =
        about.failed ? NULL : arena_strdup(s->cells->arena, about.text);
    str_free(&about);
    if (!s->run || !s->all.about)
        return no_memory(err);
    memset(s->run, 0, s->cells->n * sizeof *s->run);
    s->all.run = s->run;
    s->all.n = s->cells->n;
    for (i = 0; rc == 0 && i < s->cells->n; i++)
        rc = read_cell(s, i, err);
    if (rc == ERR_CONFIG)
        pl_err_at_node(err, pl_node_get(w->node, "from"));
    return rc;
}

/* ---- artifacts ---- */

static int write_text(struct show *s, const char *name, struct str *text,
                      struct err *err)
{
    int rc = text->failed
                 ? no_memory(err)
                 : pl_artifact_write(s->ctx, name, text->text, text->len, err);

    str_free(text);
    return rc;
}

/* The page and the picture of all runs. */
static int write_timelines(struct show *s, struct err *err)
{
    struct pl_memory_run run[PL_COMPARED_RUNS];
    struct pl_memory_runs runs = {
        .run = run, .n = s->all.n, .simulated = s->all.simulated};
    struct str title = {0}, page = {0}, picture = {0};
    size_t i;
    int rc;

    for (i = 0; i < s->all.n; i++) {
        const struct pl_memory_figures *f = &s->run[i];

        run[i] = (struct pl_memory_run){.label = f->label,
                                        .memory = f->file.memory,
                                        .workspace = f->file.workspace,
                                        .resident = f->file.resident};
    }
    str_addf(&title, "Memory: %s; %s", s->all.about,
             s->run[0].file.device.text);
    if (title.failed)
        return no_memory(err);
    runs.title = title.text;
    pl_memory_html(&runs, &page);
    pl_memory_panels_svg(&runs, &picture);
    rc = write_text(s, "memory.html", &page, err);
    if (rc == 0)
        rc = write_text(s, "memory.svg", &picture, err);
    else
        str_free(&picture);
    str_free(&title);
    return rc;
}

static int write_tables(struct show *s, struct err *err)
{
    struct str md = {0}, csv = {0};
    int rc;

    pl_memories_md(&md, &s->all, s->cells->arena);
    pl_memory_reasons(&md, &s->all);
    pl_memories_csv(&csv, &s->all);
    rc = write_text(s, "memory.md", &md, err);
    if (rc == 0)
        return write_text(s, "memory_compared.csv", &csv, err);
    str_free(&csv);
    return rc;
}

/* ---- metrics ---- */

static void give(struct show *s, size_t i, const char *name, double v)
{
    char full[320];

    (void)snprintf(full, sizeof full, "%.200s.%s", s->run[i].label, name);
    pl_metric(s->ctx, full, v);
}

static void give_kind(struct show *s, size_t i, enum nn_memory_kind k,
                      const char *name)
{
    char difference[64];

    give(s, i, name, (double)s->run[i].steady[k]);
    (void)snprintf(difference, sizeof difference, "%s.difference", name);
    give(s, i, difference, (double)pl_memory_difference(&s->all, i, k));
}

static void give_metrics(struct show *s)
{
    const enum nn_memory_kind state = NN_MEMORY_OPTIMIZER;
    size_t i;

    for (i = 0; i < s->all.n; i++) {
        const struct pl_memory_figures *f = &s->run[i];

        give_kind(s, i, NN_MEMORY_PARAMETER, "parameters");
        give_kind(s, i, NN_MEMORY_GRADIENT, "gradients");
        give_kind(s, i, NN_MEMORY_OPTIMIZER, "optimizer_state");
        give_kind(s, i, NN_MEMORY_ACTIVATION, "activations");
        give(s, i, "others.difference",
             (double)pl_memory_others(&s->all, i, state));
        give(s, i, "peak", (double)f->sums.peak);
        give(s, i, "peak.difference",
             (double)(f->sums.peak - s->run[0].sums.peak));
        give(s, i, "state_per_parameter", pl_memory_multiple(f, state));
        give(s, i, "gradients_per_parameter",
             pl_memory_multiple(f, NN_MEMORY_GRADIENT));
    }
}

static void say_result(struct show *s)
{
    size_t i;

    for (i = 0; i < s->all.n; i++) {
        const struct pl_memory_figures *f = &s->run[i];
        struct str line = {0};

        pl_memory_add_count(&line, f->steady[NN_MEMORY_OPTIMIZER]);
        str_addf(&line,
                 " of optimizer state with %s; others differ from %s by ",
                 f->label, s->run[0].label);
        pl_memory_add_count(&line,
                            pl_memory_others(&s->all, i, NN_MEMORY_OPTIMIZER));
        if (!line.failed)
            pl_say(s->ctx, "%s%s", s->all.simulated ? "SIMULATED: " : "",
                   line.text);
        str_free(&line);
    }
}

int pl_compare_memory(struct pl_stage_ctx *ctx,
                      const struct pl_compare_cells *cells, struct err *err)
{
    struct show s = {.ctx = ctx, .cells = cells};
    int rc = read_all(&s, err);
    size_t i;

    if (rc == 0)
        rc = write_timelines(&s, err);
    if (rc == 0)
        rc = write_tables(&s, err);
    if (rc == 0) {
        give_metrics(&s);
        say_result(&s);
    }
    for (i = 0; i < s.all.n; i++)
        pl_memory_file_free(&s.run[i].file);
    return rc;
}
