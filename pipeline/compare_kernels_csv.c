/* kernels_compared.csv, and what stands in its cells. */
#include <string.h>

#include "pipeline/compare_kernels.h"
#include "pipeline/compare_text.h"
#include "pipeline/profile_traced.h"

/* Whether kernel i of s has a name that none before it has. */
static bool is_new_name(const struct pl_side *s, size_t i)
{
    size_t k;

    for (k = 0; k < i; k++)
        if (s->kernel[k]->name &&
            strcmp(s->kernel[k]->name, s->kernel[i]->name) == 0)
            return false;
    return true;
}

/* One kernel on several grids has a row for each. */
void pl_side_add_kernels(struct str *out, const struct pl_side *s, bool cut)
{
    size_t i;

    for (i = 0; i < s->n; i++) {
        if (!s->kernel[i]->name || !is_new_name(s, i))
            continue;
        str_add(out, i ? " + " : "");
        if (cut)
            pl_add_kernel_name(out, s->kernel[i]->name);
        else
            str_add(out, s->kernel[i]->name);
    }
}

static void add_csv_row(const struct pl_pairs *p,
                        const struct pl_kernel_pair *pair, size_t i,
                        struct str *out)
{
    const struct pl_side *s = &pair->side[i];
    struct str names = {0};
    size_t k;

    pl_side_add_kernels(&names, s, false);
    out->failed = out->failed || names.failed;
    pl_traced_csv_text(out, p->profile[i].cell->label);
    str_addc(out, ',');
    pl_traced_csv_text(out, names.text && p->kernels ? names.text : "");
    str_addc(out, ',');
    for (k = 0; k < s->n; k++)
        if (s->kernel[k]->grid[0])
            str_addf(out, "%s%s/%s", k ? " + " : "", s->kernel[k]->grid,
                     s->kernel[k]->block);
    if (s->n > 0)
        str_addf(out, ",%.6g,%.3f,", s->calls, s->us);
    else
        str_add(out, ",0,,");
    if (i > 0 && s->n > 0 && pair->side[0].us > 0)
        str_addf(out, "%.4f", s->us / pair->side[0].us);
    str_addc(out, '\n');
    str_free(&names);
}

void pl_kernels_csv(const struct pl_pairs *p, struct str *out)
{
    size_t i, k;

    str_addf(out, "layer,op,role,phase,cell,kernels,grid_and_block,calls,us,"
                  "ratio\n");
    for (i = 0; i < p->n; i++)
        for (k = 0; k < p->n_profiles; k++) {
            const struct pl_kernel_pair *pair = &p->pair[i];

            pl_traced_csv_text(out, pair->layer);
            str_addc(out, ',');
            pl_traced_csv_text(out, pair->op);
            str_addf(out, ",%s,%s,", pair->role, pair->phase);
            add_csv_row(p, pair, k, out);
        }
}
