/* kernels.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/io.h"
#include "pipeline/compare_kernels.h"
#include "pipeline/compare_text.h"
#include "pipeline/device_settings.h"
#include "pipeline/table_rows.h"

struct md {
    const struct pl_pairs *p;
    const char *back;
    struct arena *arena;
    struct str *out;
    double work;
};

const char *pl_pairs_what(const struct pl_pairs *p)
{
    return p->kernels ? "kernels" : "operators";
}

bool pl_pairs_simulated(const struct pl_pairs *p)
{
    size_t i;

    for (i = 0; i < p->n_profiles; i++)
        if (pl_device_is_simulated(p->profile[i].device))
            return true;
    return false;
}

/* ---- cells ---- */

static void add_cell(struct pl_rows *rows, const char *text)
{
    struct str safe = {0};

    for (; *text; text++) {
        str_add(&safe, *text == '|' ? "\\" : "");
        str_addc(&safe, *text);
    }
    rows->failed = rows->failed || safe.failed;
    pl_rows_add(rows, "%s", safe.text ? safe.text : "");
    str_free(&safe);
}

/* Nothing where there is no figure. */
static void add_number(struct pl_rows *rows, double v)
{
    struct str text = {0};

    if (isfinite(v))
        pl_add_figure(&text, v);
    rows->failed = rows->failed || text.failed;
    pl_rows_add(rows, "%s", text.text ? text.text : "");
    str_free(&text);
}

/* ---- the head ---- */

static bool on_cpu(const struct pl_profiled *f)
{
    return strncmp(f->device, "cpu", 3) == 0;
}

static void say_what(const struct md *m)
{
    const struct pl_profiled *f = &m->p->profile[0];

    if (pl_pairs_simulated(m->p))
        str_add(m->out, "**SIMULATED**: these are records of a stand-in for a "
                        "GPU. No time here was measured.\n\n");
    if (m->p->kernels)
        str_add(m->out,
                "The kernels, copies and fills that the device recorded. ");
    else if (on_cpu(f))
        str_addf(m->out,
                 "**Operators, not kernels**: this ran on %s, which has no "
                 "kernels. ",
                 f->device);
    else
        str_addf(m->out,
                 "**Operators, not kernels**: the device (%s) recorded none. "
                 "These are the times in which the host gave it the work. ",
                 f->device);
    str_addf(m->out,
             "Times are us a step, means over all traced steps, the first one "
             "included. Ratios are to %s",
             f->cell->label);
    if (m->work != 1) {
        str_add(m->out, "; beside them as shares of that of the samples, ");
        pl_add_figure(m->out, m->work);
    }
    str_add(m->out, ".\n\n");
}

static void add_settings(const struct md *m)
{
    static const char *const head[] = {
        "cell",   "batch",    "optimizer", "execution",       "data",
        "fusion", "numerics", "step, ms",  "last traced, ms", NULL};
    struct pl_rows rows = {.arena = m->arena};
    size_t i;

    for (i = 0; i < m->p->n_profiles; i++) {
        const struct pl_profiled *f = &m->p->profile[i];

        add_cell(&rows, f->cell->label);
        add_number(&rows, f->batch);
        add_cell(&rows, f->optimizer);
        add_cell(&rows, f->execution);
        add_cell(&rows, f->data);
        add_cell(&rows, f->fusion);
        add_cell(&rows, f->numerics);
        add_number(&rows, f->median_ms);
        add_number(&rows, f->last_ms);
    }
    pl_rows_write(&rows, m->out, head, "lrlllllrr");
    str_add(m->out, "\nstep: the median without a profiler; last traced: the "
                    "last ProfilerStep, with it.\n");
}

/* ---- pairs ---- */

/* A ratio, and the share of the work's ratio that it is. */
static void add_ratio(const struct md *m, struct pl_rows *rows, double ratio)
{
    add_number(rows, ratio);
    if (m->work != 1)
        add_number(rows, ratio / m->work);
}

static void add_launch(struct pl_rows *rows, const struct pl_side *s)
{
    struct str name = {0}, shape = {0};
    size_t i;

    pl_side_add_kernels(&name, s, true);
    for (i = 0; i < s->n; i++)
        if (s->kernel[i]->grid[0])
            str_addf(&shape, "%s%s of %s", shape.len ? " + " : "",
                     s->kernel[i]->grid, s->kernel[i]->block);
    rows->failed = rows->failed || name.failed || shape.failed;
    add_cell(rows, name.text ? name.text : "-");
    add_cell(rows, shape.text ? shape.text : "");
    str_free(&name);
    str_free(&shape);
}

static void add_pair(const struct md *m, struct pl_rows *rows,
                     const struct pl_kernel_pair *pair)
{
    struct str label = {0};
    size_t i;

    pl_pair_add_label(&label, pair);
    rows->failed = rows->failed || label.failed;
    for (i = 0; i < m->p->n_profiles; i++) {
        const struct pl_side *s = &pair->side[i];

        add_cell(rows, i == 0 ? label.text : "");
        add_cell(rows, i == 0 ? pair->phase : "");
        add_cell(rows, m->p->profile[i].cell->label);
        if (m->p->kernels)
            add_launch(rows, s);
        add_number(rows, s->n ? s->calls : NAN);
        add_number(rows, s->n ? s->us : NAN);
        add_ratio(m, rows,
                  i > 0 && s->n && pair->side[0].us > 0
                      ? s->us / pair->side[0].us
                      : NAN);
    }
    str_free(&label);
}

/* The columns that a comparison has: kernels have two more, and so has one of
 * different work. */
static void end_table(const struct md *m, struct pl_rows *rows)
{
    const char *head[11];
    char right[10] = "lll", of[64];
    size_t n = 0;
    struct str work = {0};

    head[n++] = "operator";
    head[n++] = "phase";
    head[n++] = "cell";
    if (m->p->kernels) {
        head[n++] = "kernel";
        head[n++] = "grid of block";
    }
    memset(right, 'l', n);
    memset(right + n, 'r', 4);
    head[n++] = m->p->kernels ? "launches" : "calls";
    head[n++] = "us";
    head[n++] = "ratio";
    pl_add_figure(&work, m->work);
    (void)snprintf(of, sizeof of, "of %sx", work.text ? work.text : "");
    if (m->work != 1)
        head[n++] = of;
    head[n] = NULL;
    pl_rows_write(rows, m->out, head, right);
    str_free(&work);
}

static void add_group(const struct md *m, enum pl_pair_group group,
                      const char *title)
{
    struct pl_rows rows = {.arena = m->arena};
    size_t i;

    for (i = 0; i < m->p->n; i++)
        if (m->p->pair[i].group == group)
            add_pair(m, &rows, &m->p->pair[i]);
    if (rows.n == 0 && !rows.failed)
        return;
    str_addf(m->out, "\n## %s%s\n\n", title,
             m->p->kernels ? "" : " (operators)");
    end_table(m, &rows);
}

/* ---- sums ---- */

static bool any(const struct pl_kernel_pair *pair, const void *unused)
{
    (void)pair;
    (void)unused;
    return true;
}

static void add_sum(const struct md *m, struct pl_rows *rows, const char *name,
                    pl_pair_test *test, const void *about)
{
    double first = pl_pairs_sum(m->p, 0, test, about), sum = 0, us;
    size_t i;

    for (i = 0; i < m->p->n_profiles; i++)
        sum += pl_pairs_sum(m->p, i, test, about);
    for (i = 0; sum > 0 && i < m->p->n_profiles; i++) {
        us = pl_pairs_sum(m->p, i, test, about);
        add_cell(rows, i == 0 ? name : "");
        add_cell(rows, m->p->profile[i].cell->label);
        add_number(rows, us);
        add_number(rows, 100 * us / m->p->profile[i].us);
        add_ratio(m, rows, i > 0 && first > 0 ? us / first : NAN);
    }
}

/* Whether no pair before pair i is of its phase. */
static bool is_new_phase(const struct pl_pairs *p, size_t i)
{
    size_t k;

    for (k = 0; k < i; k++)
        if (strcmp(p->pair[k].phase, p->pair[i].phase) == 0)
            return false;
    return true;
}

static void add_sums(const struct md *m)
{
    struct str work = {0};
    const char *head[] = {"", "cell", "us", "% of all", "ratio", NULL, NULL};
    char of[64];
    struct pl_rows rows = {.arena = m->arena};
    size_t i;

    for (i = 0; i < m->p->n; i++) {
        const char *phase = m->p->pair[i].phase;

        if (is_new_phase(m->p, i))
            add_sum(m, &rows, phase[0] ? phase : "outside of phases",
                    pl_pair_in_phase, phase);
    }
    add_sum(m, &rows, "all", any, NULL);
    pl_add_figure(&work, m->work);
    (void)snprintf(of, sizeof of, "of %sx", work.text ? work.text : "");
    if (m->work != 1)
        head[5] = of;
    str_addf(m->out, "\n## By phase (%s)\n\n", pl_pairs_what(m->p));
    pl_rows_write(&rows, m->out, head, "llrrrr");
    str_free(&work);
}

/* ---- names and pictures ---- */

/* Whether an earlier row has the same name. */
static bool named_before(const struct pl_pairs *p, size_t profile, size_t row)
{
    const char *name = p->profile[profile].kernel[row].name;
    size_t i, k;

    for (i = 0; i <= profile; i++)
        for (k = 0; k < (i == profile ? row : p->profile[i].n); k++)
            if (strcmp(p->profile[i].kernel[k].name, name) == 0)
                return true;
    return false;
}

static void add_names(const struct md *m)
{
    struct str cut = {0};
    size_t i, k, n = 0;

    for (i = 0; m->p->kernels && i < m->p->n_profiles; i++)
        for (k = 0; k < m->p->profile[i].n; k++) {
            const char *name = m->p->profile[i].kernel[k].name;

            str_clear(&cut);
            pl_add_kernel_name(&cut, name);
            if (!cut.text || strcmp(cut.text, name) == 0 ||
                named_before(m->p, i, k))
                continue;
            str_addf(m->out, "%s- `%s`: `%s`\n",
                     n++ ? "" : "\n## Names in full\n\n", cut.text, name);
        }
    m->out->failed = m->out->failed || cut.failed;
    str_free(&cut);
}

/* A cell's own picture lies in its folder: linked where that is one of the
 * same results. */
static void add_pictures(const struct md *m)
{
    const char *file = m->p->kernels ? "gpu_track.svg" : "cpu_track.svg";
    const struct pl_config *home = m->p->profile[0].cell->stage->home;
    size_t i;

    str_addf(m->out,
             "\n## Pictures\n\n![%s by operator](kernels.svg)\n\n"
             "![The last steps on one scale](tracks.svg)\n\n",
             pl_pairs_what(m->p));
    str_add(m->out, "The last step of each on a scale of its own:\n");
    for (i = 0; i < m->p->n_profiles; i++) {
        const struct pl_compare_cell *c = m->p->profile[i].cell;

        if (!m->back || c->stage->home != home)
            str_addf(m->out, "\n- %s of stage %s\n", file, c->id);
        else
            str_addf(m->out, "\n![%s](<%s%s/%s>)\n", c->label, m->back,
                     c->stage->dir, file);
    }
}

void pl_kernels_md(const struct pl_pairs *p, const char *about,
                   const char *back, struct arena *arena, struct str *out)
{
    const struct md m = {.p = p,
                         .back = back,
                         .arena = arena,
                         .out = out,
                         .work = pl_pairs_work(p)};

    str_addf(out, "# %s compared: %s\n\n",
             p->kernels ? "Kernels" : "Operators (CPU)", about);
    say_what(&m);
    add_settings(&m);
    add_group(&m, PL_PAIR_LINEAR, "Linear");
    pl_kernels_lacks(p, out);
    add_group(&m, PL_PAIR_OTHER, "Everything else");
    add_group(&m, PL_PAIR_COPY, "Copies and fills");
    add_sums(&m);
    str_add(out, "\n## What the figures say\n\n");
    pl_kernels_why(p, out);
    add_names(&m);
    add_pictures(&m);
}

/* ---- what some do not have ---- */

static bool has_pair(const struct pl_pairs *p, const char *layer,
                     const char *role)
{
    size_t i;

    for (i = 0; i < p->n; i++)
        if (p->pair[i].group == PL_PAIR_LINEAR &&
            strcmp(p->pair[i].layer, layer) == 0 &&
            strcmp(p->pair[i].role, role) == 0)
            return true;
    return false;
}

static void say_no_grad_input(const struct pl_pairs *p, struct str *out)
{
    const char *first = pl_pairs_first_layer(p);
    size_t i;

    for (i = 0; i < p->n; i++) {
        const struct pl_kernel_pair *pair = &p->pair[i];

        if (pair->group != PL_PAIR_LINEAR ||
            strcmp(pair->phase, "forward") != 0 ||
            !has_pair(p, pair->layer, "grad_weight") ||
            has_pair(p, pair->layer, "grad_input"))
            continue;
        str_addf(out, "\nLayer %s has no grad_input%s.\n", pair->layer,
                 first && strcmp(first, pair->layer) == 0
                     ? ": the input of the first layer needs no gradient"
                     : "");
    }
}

void pl_kernels_lacks(const struct pl_pairs *p, struct str *out)
{
    size_t i, k;

    say_no_grad_input(p, out);
    for (i = 0; i < p->n; i++)
        for (k = 0; k < p->n_profiles; k++) {
            if (p->pair[i].side[k].n > 0)
                continue;
            str_add(out, "\n`");
            pl_pair_add_label(out, &p->pair[i]);
            str_addf(out, "` is missing with %s.\n", p->profile[k].cell->label);
        }
}
