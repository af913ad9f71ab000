#include "pipeline/compare_pairs_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "pipeline/csv_table.h"
#include "pipeline/metrics.h"

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory comparing stages");
}

/* ---- kernels.csv, ops.csv ---- */

/* Columns of both files, then of kernels.csv alone. */
enum { OPS_TEXTS = 4, KERNEL_TEXTS = 7, OPS_NUMBERS = 2, KERNEL_NUMBERS = 5 };
static const char *const texts[KERNEL_TEXTS] = {
    "layer", "op", "role", "phase", "kernel", "grid", "block"};
static const char *const numbers[KERNEL_NUMBERS] = {
    "count", "total_us", "bytes", "registers", "blocks_per_sm"};

struct columns {
    size_t text[KERNEL_TEXTS], number[KERNEL_NUMBERS];
    int n_texts, n_numbers;
};

static int find_columns(struct columns *c, const struct pl_csv *t, bool kernels,
                        struct err *err)
{
    int i, rc = 0;

    c->n_texts = kernels ? KERNEL_TEXTS : OPS_TEXTS;
    c->n_numbers = kernels ? KERNEL_NUMBERS : OPS_NUMBERS;
    for (i = 0; rc == 0 && i < c->n_texts; i++)
        rc = pl_csv_find(t, texts[i], &c->text[i], err);
    for (i = 0; rc == 0 && i < c->n_numbers; i++)
        rc = pl_csv_find(t, numbers[i], &c->number[i], err);
    return rc;
}

/* Blocks of "4x8x1"; 0: it is no grid. */
static double blocks_of(const char *grid)
{
    double blocks = 1;
    char *end;

    for (;; grid = end + 1) {
        long n = strtol(grid, &end, 10);

        if (end == grid || n < 1)
            return 0;
        blocks *= (double)n;
        if (*end == '\0')
            return blocks;
        if (*end != 'x')
            return 0;
    }
}

static int read_row(struct pl_kernel *k, const struct pl_csv *t,
                    const struct columns *c, size_t row, struct err *err)
{
    const char **const text[] = {&k->layer, &k->op,   &k->role, &k->phase,
                                 &k->name,  &k->grid, &k->block};
    double *const number[] = {&k->count, &k->total_us, &k->bytes, &k->registers,
                              &k->blocks_here};
    int i, rc = 0;

    k->grid = k->block = "";
    for (i = 0; i < c->n_texts; i++)
        *text[i] = pl_csv_text(t, row, c->text[i]);
    for (i = 0; rc == 0 && i < c->n_numbers; i++) {
        rc = pl_csv_number(t, row, c->number[i], number[i], err);
        if (isnan(*number[i]))
            *number[i] = 0;
    }
    k->blocks = blocks_of(k->grid);
    if (rc == 0 && (k->total_us < 0 || k->count < 0))
        rc = err_set(err, ERR_CORRUPT, "line %zu of %s has a negative time",
                     row + 2, io_basename(t->path));
    return rc;
}

static int read_rows(struct pl_profiled *out, const char *path, bool kernels,
                     struct arena *arena, struct err *err)
{
    struct columns c;
    struct pl_csv t;
    int rc = pl_csv_read(&t, path, arena, err);

    if (rc == 0)
        rc = find_columns(&c, &t, kernels, err);
    if (rc != 0)
        return rc;
    out->kernel = arena_array(arena, t.rows + 1, sizeof *out->kernel);
    if (!out->kernel)
        return no_memory(err);
    for (; rc == 0 && out->n < t.rows; out->n++)
        rc = read_row(&out->kernel[out->n], &t, &c, out->n, err);
    return rc;
}

/* ---- step_times.csv: its last row says what was so ---- */

static int read_settings(struct pl_profiled *out, const char *path,
                         struct arena *arena, struct err *err)
{
    static const char *const names[] = {"optimizer", "execution", "data",
                                        "fusion",    "numerics",  "device"};
    const char **const to[] = {&out->optimizer, &out->execution, &out->data,
                               &out->fusion,    &out->numerics,  &out->device};
    struct pl_csv t;
    size_t at, i;
    int rc = pl_csv_read(&t, path, arena, err);

    if (rc == 0 && t.rows == 0)
        rc = err_set(err, ERR_CORRUPT, "%s has no rows", io_basename(path));
    for (i = 0; rc == 0 && i < sizeof to / sizeof *to; i++) {
        rc = pl_csv_find(&t, names[i], &at, err);
        if (rc == 0)
            *to[i] = pl_csv_text(&t, t.rows - 1, at);
    }
    if (rc == 0)
        rc = pl_csv_find(&t, "batch_size", &at, err);
    if (rc == 0)
        rc = pl_csv_number(&t, t.rows - 1, at, &out->batch, err);
    return rc;
}

/* ---- metrics.json ---- */

static double metric(const struct pl_metrics *m, const char *name)
{
    const double *v = pl_metrics_get(m, name);

    return v ? *v : NAN;
}

static int read_metrics(struct pl_profiled *out, const char *path,
                        struct err *err)
{
    struct pl_metrics m = {0};
    int rc = pl_metrics_read(&m, path, err);

    if (rc == 0 && m.failed)
        rc = no_memory(err);
    if (rc == 0) {
        out->steps = metric(&m, "traced.steps");
        out->median_ms = metric(&m, "step_ms.median");
        out->last_ms = metric(&m, "traced.last_ms");
        out->busy = metric(&m, "gpu.busy");
    }
    pl_metrics_clear(&m);
    return rc;
}

static int read_all(struct pl_profiled *out,
                    const struct pl_compare_cells *cells, size_t i,
                    bool kernels, struct err *err)
{
    const char *metrics = pl_compare_path(cells, i, "metrics.json");
    const char *times = pl_compare_path(cells, i, "step_times.csv");
    const char *rows = pl_compare_path(
        cells, i, kernels ? PL_KERNELS_FILE : PL_OPERATORS_FILE);
    int rc;

    if (!metrics || !times || !rows)
        return no_memory(err);
    rc = read_metrics(out, metrics, err);
    if (rc == 0 && (!(out->steps > 0) || !io_exists(rows)))
        return err_set(err, ERR_CONFIG,
                       "no step of '%s' was traced, so that its operators are "
                       "not known; see its schedule",
                       cells->cell[i].id);
    if (rc == 0)
        rc = read_settings(out, times, cells->arena, err);
    if (rc == 0)
        rc = read_rows(out, rows, kernels, cells->arena, err);
    return rc;
}

int pl_profiled_read(struct pl_profiled *out,
                     const struct pl_compare_cells *cells, size_t i,
                     bool kernels, struct err *err)
{
    memset(out, 0, sizeof *out);
    out->cell = &cells->cell[i];
    return read_all(out, cells, i, kernels, err);
}
