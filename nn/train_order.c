#include "nn/train_order.h"

const char *nn_part_name(enum nn_part p)
{
    static const char *const text[NN_PART_COUNT] = {
        "zero_grad", "forward", "loss", "backward", "step",
    };

    return text[p];
}

int nn_train_order_index(const struct nn_train_order *o, enum nn_part p)
{
    int i;

    for (i = 0; i < o->n; i++)
        if (o->part[i] == p)
            return i;
    return -1;
}

static int wrong_at(int i, int *bad)
{
    if (bad)
        *bad = i;
    return ERR_CONFIG;
}

static int check_twice(const struct nn_train_order *o, int *bad,
                       struct err *err)
{
    int i;

    for (i = 0; i < o->n; i++)
        if (nn_train_order_index(o, o->part[i]) < i) {
            (void)err_set(err, ERR_CONFIG, "step_order has %s twice",
                          nn_part_name(o->part[i]));
            return wrong_at(i, bad);
        }
    return 0;
}

static int check_missing(const struct nn_train_order *o, int *bad,
                         struct err *err)
{
    static const enum nn_part needed[] = {NN_PART_FORWARD, NN_PART_BACKWARD,
                                          NN_PART_STEP};
    int i;

    for (i = 0; i < 3; i++)
        if (nn_train_order_index(o, needed[i]) < 0) {
            (void)err_set(err, ERR_CONFIG,
                          "step_order lacks %s; forward, backward and step "
                          "are needed, loss and zero_grad may be added",
                          nn_part_name(needed[i]));
            return wrong_at(o->n, bad);
        }
    return 0;
}

static int check_sequence(const struct nn_train_order *o, int *bad,
                          struct err *err)
{
    int forward = nn_train_order_index(o, NN_PART_FORWARD);
    int backward = nn_train_order_index(o, NN_PART_BACKWARD);
    int loss = nn_train_order_index(o, NN_PART_LOSS);

    if (backward < forward) {
        (void)err_set(err, ERR_CONFIG,
                      "backward stands before forward in step_order; it goes "
                      "back through what forward did");
        return wrong_at(backward, bad);
    }
    if (loss >= 0 && (loss < forward || loss > backward)) {
        (void)err_set(err, ERR_CONFIG,
                      "loss must stand between forward and backward in "
                      "step_order");
        return wrong_at(loss, bad);
    }
    return 0;
}

int nn_train_order_check(const struct nn_train_order *o, int *bad,
                         struct err *err)
{
    int rc;

    if (o->n == 0)
        return 0;
    rc = check_twice(o, bad, err);
    if (rc == 0)
        rc = check_missing(o, bad, err);
    return rc == 0 ? check_sequence(o, bad, err) : rc;
}

/* Whether part i finds gradients in a step that begins with some or none. */
static bool finds_gradients(const struct nn_train_order *o, int i, bool begin)
{
    while (i-- > 0) {
        if (o->part[i] == NN_PART_BACKWARD)
            return true;
        if (o->part[i] == NN_PART_ZERO_GRAD)
            return false;
    }
    return begin;
}

struct nn_order_plan nn_train_order_plan(const struct nn_train_order *o)
{
    static const struct nn_train_order usual = {
        {NN_PART_FORWARD, NN_PART_ZERO_GRAD, NN_PART_BACKWARD, NN_PART_STEP},
        4};
    struct nn_order_plan p = {.order = o->n ? *o : usual};
    int forward = nn_train_order_index(&p.order, NN_PART_FORWARD);
    int backward = nn_train_order_index(&p.order, NN_PART_BACKWARD);
    int step = nn_train_order_index(&p.order, NN_PART_STEP);
    bool left = finds_gradients(&p.order, p.order.n, false);

    p.adds = finds_gradients(&p.order, backward, left);
    p.updates = finds_gradients(&p.order, step, left);
    p.updates_first = finds_gradients(&p.order, step, false);
    p.carries = p.adds || p.updates != p.updates_first;
    p.between = forward < step && step < backward;
    return p;
}
