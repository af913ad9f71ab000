/* step_order of a train stage: read, and checked with places. */
#include <string.h>

#include "pipeline/train_run.h"

static enum nn_part part_of(const char *name)
{
    int p = 0;

    while (p < NN_PART_COUNT - 1 &&
           strcmp(name, nn_part_name((enum nn_part)p)) != 0)
        p++;
    return (enum nn_part)p;
}

struct nn_train_order pl_step_order(const struct pl_train_with *w)
{
    const char *const *name = w->step_order.items;
    struct nn_train_order o = {.n = 0};

    /* what goes past the room for it has a part twice before that */
    while (o.n < (int)w->step_order.n &&
           o.n < (int)(sizeof o.part / sizeof *o.part)) {
        o.part[o.n] = part_of(name[o.n]);
        o.n++;
    }
    return o;
}

void pl_step_order_check(const struct pl_stage *s, struct pl_diag *d)
{
    const struct pl_train_with *w = s->with;
    const struct pl_node *list = pl_node_get(w->node, "step_order");
    struct nn_train_order o = pl_step_order(w);
    struct err err = {0};
    int bad = 0;

    if (!list)
        return;
    if (o.n == 0)
        pl_diag_error(d, list->loc,
                      "step_order is empty; forward, backward "
                      "and step are needed");
    else if (nn_train_order_check(&o, &bad, &err) != 0)
        pl_diag_error(d,
                      (size_t)bad < list->n ? list->items[bad]->loc : list->loc,
                      "%s", err.msg);
    else if (nn_train_order_plan(&o).carries && w->microbatches > 1) {
        pl_diag_error(d, list->loc,
                      "step_order carries gradients over to the next step, "
                      "which takes microbatches: 1, not %lld",
                      (long long)w->microbatches);
        pl_diag_help(d, "put zero_grad first, or leave microbatches out");
    }
}
