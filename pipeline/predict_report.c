/* predicted.md and predicted.csv. */
#include <math.h>

#include "pipeline/predict.h"
#include "pipeline/table_rows.h"

static const char heading[] =
    "# Predicted, not measured\n"
    "\n"
    "No CUDA device was measured. These are the times that a roofline gives "
    "for the same\nsteps on GPUs with the published numbers below: an operator "
    "takes the longest of its\nproducts at the device's float32 peak, its "
    "operands (each moved once) at the memory's\nbandwidth, its copy from the "
    "host at the link's, and the start of its kernels (one an\noperator at "
    "least). In a recorded step the starts are nodes of a graph, and the "
    "replay\ncosts something by itself. A library's kernels stay behind their "
    "roofline, a cache may\nbe ahead of it.\n";

/* One way of running a step, and how many times the first cell's it takes. */
static void add_way(struct pl_rows *r, const struct pl_card *card,
                    const struct pl_predict_cell *cell,
                    const struct pl_predict_cell *first, bool recorded)
{
    struct pl_predicted p = pl_predict_step(card, cell->work, recorded);

    pl_rows_add(r, "%.1f", p.us);
    pl_rows_add(r, "%s", pl_bound_name(p.by));
    pl_rows_add_number(
        r, p.us / pl_predict_step(card, first->work, recorded).us, 3);
}

static void add_steps(struct pl_rows *r, struct str *out,
                      const struct pl_predict_cell *cell, size_t n)
{
    static const char *const head[] = {"GPU",
                                       "step",
                                       "GFLOP",
                                       "starts",
                                       "predicted eager (µs)",
                                       "most of it",
                                       "times the first's",
                                       "predicted recorded (µs)",
                                       "most of it",
                                       "times the first's",
                                       NULL};
    size_t i, g;

    for (g = 0; g < PL_CARDS; g++)
        for (i = 0; i < n; i++) {
            pl_rows_add(r, "%s", pl_cards[g].name);
            pl_rows_add(r, "%s", cell[i].label);
            pl_rows_add_number(r, 1e-9 * cell[i].work->flops, 3);
            pl_rows_add(r, "%d", cell[i].work->launches);
            add_way(r, &pl_cards[g], &cell[i], &cell[0], false);
            add_way(r, &pl_cards[g], &cell[i], &cell[0], true);
        }
    str_add(out, "\n## Steps\n\n");
    pl_rows_write(r, out, head, "llrrrlrrlr");
}

static void add_op_names(struct pl_rows *r, const struct pl_step_op *op)
{
    pl_rows_add(r, "%s", op->layer);
    pl_rows_add(r, "%s", nn_op_name(op->op));
    pl_rows_add(r, "%s", nn_phase_name(op->phase));
    pl_rows_add_number(r, 1e-6 * op->work.flops, 3);
    pl_rows_add_number(r, 1e-3 * (op->work.bytes + op->work.link_bytes), 3);
}

static void add_operators(struct pl_rows *r, struct str *out,
                          const struct pl_predict_cell *cell)
{
    static const char *const head[] = {"layer", "operator", "phase", "MFLOP",
                                       "kB",    "T4 (µs)",  "A100",  "H100",
                                       "H200",  NULL};
    size_t i, g;

    for (i = 0; i < cell->work->n; i++) {
        const struct pl_step_op *op = &cell->work->op[i];

        if (op->work.launches == 0)
            continue;
        add_op_names(r, op);
        for (g = 0; g < PL_CARDS; g++) {
            struct pl_predicted p =
                pl_predict_op(&pl_cards[g], &op->work, false);

            pl_rows_add(r, "%.1f %s", p.us, pl_bound_name(p.by));
        }
    }
    str_addf(out, "\n## Operators of %s in an eager step, predicted\n\n",
             cell->label);
    pl_rows_write(r, out, head, "lllrrrrrr");
}

static void add_constants(struct pl_rows *r, struct str *out)
{
    static const char *const head[] = {"GPU",           "float32 (GFLOP/s)",
                                       "memory (GB/s)", "link, one way (GB/s)",
                                       "source",        NULL};
    static const char *const start[] = {"start", "µs", "source", NULL};
    size_t g;

    for (g = 0; g < PL_CARDS; g++) {
        pl_rows_add(r, "%s", pl_cards[g].variant);
        pl_rows_add_number(r, pl_cards[g].gflops, 4);
        pl_rows_add_number(r, pl_cards[g].memory_gb_s, 4);
        pl_rows_add(r, "%g (%s)", pl_cards[g].link_gb_s, pl_cards[g].link);
        pl_rows_add(r, "%s", pl_cards[g].source);
    }
    str_add(out, "\n## Constants\n\n");
    pl_rows_write(r, out, head, "lrrrl");
    pl_rows_add(r, "a kernel, by the host");
    pl_rows_add(r, "%g", pl_launch_us);
    pl_rows_add(r, "%s", pl_launch_source);
    pl_rows_add(r, "a node of a graph");
    pl_rows_add(r, "%g", pl_graph_node_us);
    pl_rows_add(r, "the same");
    pl_rows_add(r, "a replay, by itself");
    pl_rows_add(r, "%g", pl_graph_us);
    pl_rows_add(r, "the same");
    str_addc(out, '\n');
    pl_rows_write(r, out, start, "lrl");
}

static int write_md(struct pl_stage_ctx *ctx,
                    const struct pl_predict_cell *cell, size_t n,
                    struct err *err)
{
    struct arena arena = {0};
    struct pl_rows r = {.arena = &arena};
    struct str out = {0};
    size_t i;
    int rc;

    str_add(&out, heading);
    add_steps(&r, &out, cell, n);
    for (i = 0; i < n; i++)
        add_operators(&r, &out, &cell[i]);
    add_constants(&r, &out);
    rc = out.failed
             ? err_set(err, ERR_NOMEM, "out of memory for predicted.md")
             : pl_artifact_write(ctx, "predicted.md", out.text, out.len, err);
    str_free(&out);
    arena_free(&arena);
    return rc;
}

/* ---- predicted.csv ---- */

static void add_csv_op(struct str *out, const struct pl_predict_cell *cell,
                       const struct pl_step_op *op, const struct pl_card *gpu)
{
    struct pl_predicted eager = pl_predict_op(gpu, &op->work, false);
    struct pl_predicted rec = pl_predict_op(gpu, &op->work, true);

    str_addf(out, "\"predicted, not measured\",%s,\"%s\",%s,%s,%s,%s,",
             gpu->name, cell->label, op->layer, nn_op_name(op->op),
             nn_role_name(op->role), nn_phase_name(op->phase));
    str_addf(out, "%.0f,%.0f,%.0f,%d,", op->work.flops, op->work.bytes,
             op->work.link_bytes, op->work.launches);
    str_addf(out, "%.3f,%s,%.3f,%s\n", eager.us, pl_bound_name(eager.by),
             rec.us, pl_bound_name(rec.by));
}

static void add_csv_step(struct str *out, const struct pl_predict_cell *cell,
                         const struct pl_card *gpu)
{
    const struct pl_step_work *w = cell->work;
    struct pl_predicted eager = pl_predict_step(gpu, w, false);
    struct pl_predicted rec = pl_predict_step(gpu, w, true);

    str_addf(out, "\"predicted, not measured\",%s,\"%s\",,step,,,", gpu->name,
             cell->label);
    str_addf(out, "%.0f,%.0f,%.0f,%d,", w->flops, w->bytes, w->link_bytes,
             w->launches);
    str_addf(out, "%.3f,%s,%.3f,%s\n", eager.us, pl_bound_name(eager.by),
             rec.us, pl_bound_name(rec.by));
}

static int write_csv(struct pl_stage_ctx *ctx,
                     const struct pl_predict_cell *cell, size_t n,
                     struct err *err)
{
    struct str out = {0};
    size_t i, k, g;
    int rc;

    str_add(&out, "what,gpu,cell,layer,op,role,phase,flops,bytes,link_bytes,"
                  "launches,eager_us,eager_bound,recorded_us,recorded_bound\n");
    for (g = 0; g < PL_CARDS; g++)
        for (i = 0; i < n; i++) {
            for (k = 0; k < cell[i].work->n; k++)
                add_csv_op(&out, &cell[i], &cell[i].work->op[k], &pl_cards[g]);
            add_csv_step(&out, &cell[i], &pl_cards[g]);
        }
    rc = out.failed
             ? err_set(err, ERR_NOMEM, "out of memory for predicted.csv")
             : pl_artifact_write(ctx, "predicted.csv", out.text, out.len, err);
    str_free(&out);
    return rc;
}

int pl_predict_report(struct pl_stage_ctx *ctx,
                      const struct pl_predict_cell *cell, size_t n,
                      struct err *err)
{
    int rc = write_md(ctx, cell, n, err);

    return rc == 0 ? write_csv(ctx, cell, n, err) : rc;
}
