/* Kernels that nobody measured: what a roofline gives for Linear on GPUs. */
#include <string.h>

#include "pipeline/compare_kernels.h"
#include "pipeline/predict.h"
#include "pipeline/table_rows.h"

static bool same_place(const struct pl_step_op *op,
                       const struct pl_kernel_pair *pair)
{
    return strcmp(op->layer, pair->layer) == 0 &&
           strcmp(nn_op_name(op->op), pair->op) == 0 &&
           strcmp(nn_role_name(op->role), pair->role) == 0 &&
           strcmp(nn_phase_name(op->phase), pair->phase) == 0;
}

static void add_row(struct pl_rows *rows, const struct pl_kernel_pair *pair,
                    const char *label, const struct pl_step_op *op)
{
    struct str name = {0};
    int g;

    pl_pair_add_label(&name, pair);
    rows->failed = rows->failed || name.failed;
    pl_rows_add(rows, "%s", name.text ? name.text : "");
    pl_rows_add(rows, "%s", label);
    for (g = 0; g < PL_CARDS; g++) {
        struct pl_predicted p = pl_predict_op(&pl_cards[g], &op->work, false);

        pl_rows_add(rows, "%.3g %s", p.us, pl_bound_name(p.by));
    }
    str_free(&name);
}

static void add_table(const struct pl_pairs *p, const struct pl_step_work *work,
                      struct arena *arena, struct str *out)
{
    const char *head[2 + PL_CARDS + 1] = {"operator", "cell"};
    struct pl_rows rows = {.arena = arena};
    size_t i, k, j;

    for (i = 0; i < PL_CARDS; i++)
        head[2 + i] = pl_cards[i].name;
    for (i = 0; i < p->n; i++)
        for (k = 0; k < p->n_profiles; k++)
            for (j = 0; j < work[k].n; j++)
                if (p->pair[i].group == PL_PAIR_LINEAR &&
                    same_place(&work[k].op[j], &p->pair[i]))
                    add_row(&rows, &p->pair[i], p->profile[k].cell->label,
                            &work[k].op[j]);
    str_add(out,
            "\n## Linear on GPUs: predicted, not measured\n\n"
            "No CUDA device was measured. This is what a roofline gives for "
            "the same operators there, in us, and what it takes that for: "
            "arithmetic (compute), memory, or the start of a kernel (launch). "
            "It names no kernels. [predicted.md](predicted.md) has all "
            "operators, the constants and where they are from.\n\n");
    pl_rows_write(&rows, out, head, "llrrrr");
}

static bool on_cuda(const struct pl_pairs *p)
{
    size_t i;

    for (i = 0; i < p->n_profiles; i++)
        if (strncmp(p->profile[i].device, "cpu", 3) != 0)
            return true;
    return p->kernels;
}

int pl_kernels_predict(struct pl_stage_ctx *ctx, const struct pl_pairs *p,
                       struct arena *arena, struct str *out, struct err *err)
{
    size_t n = p->n_profiles, i;
    struct pl_step_work *work;
    struct pl_predict_cell *cell;
    int rc = 0;

    if (on_cuda(p))
        return 0;
    work = arena_array(arena, n, sizeof *work);
    cell = arena_array(arena, n, sizeof *cell);
    if (!work || !cell)
        return err_set(err, ERR_NOMEM, "out of memory for a prediction");
    for (i = 0; rc == 0 && i < n; i++) {
        const struct pl_compare_cell *of = p->profile[i].cell;

        rc = pl_step_work_read(&work[i], ctx, of->stage, err);
        cell[i] = (struct pl_predict_cell){of->label, &work[i]};
    }
    if (rc == 0)
        rc = pl_predict_report(ctx, cell, n, err);
    if (rc == 0)
        add_table(p, work, arena, out);
    for (i = 0; i < n; i++)
        pl_step_work_free(&work[i]);
    return rc;
}
