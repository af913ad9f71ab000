/* Bytes of each kind, event by event, against what the optimizers' definitions
 * and the shapes of 784-256-10 say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/memory_fixture.h"

enum { B = 12, P4 = 4 * MEMORY_P };

static const struct nn_optim_spec sgd = {.type = NN_OPTIM_SGD};
static const struct nn_optim_spec momentum = {.type = NN_OPTIM_SGD,
                                              .momentum = 0.9};
static const struct nn_optim_spec adam = {
    .type = NN_OPTIM_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};

static struct nn_trainer_opts with(const struct nn_optim_spec *optim)
{
    struct nn_trainer_opts o = {.optim = *optim, .microbatches = 1};

    o.loss.type = NN_LOSS_CROSS_ENTROPY;
    o.loss.pos_weight = 1.0;
    o.execution = NN_EXEC_EAGER;
    return o;
}

/* What is live, told apart tensor by tensor: a second reading of the events,
 * that fails on a birth of what lives and a death of what does not. */
struct ledger {
    bool there[256];
    int64_t kind[NN_MEMORY_KINDS], all;
};

static void enter(struct ledger *l, const struct nn_step_memory *m, size_t i)
{
    const struct nn_memory_event *e = &m->event[i];
    int64_t bytes = 0;
    size_t k;

    assert_in_range(m->n_tensor, 1, 256);
    switch (e->action) {
    case NN_MEMORY_PREEXISTING:
        assert_int_equal(e->step, -1);
        /* fallthrough */
    case NN_MEMORY_CREATE:
        assert_false(l->there[e->tensor]);
        l->there[e->tensor] = true;
        break;
    case NN_MEMORY_NEW_VERSION:
        assert_true(l->there[e->tensor]);
        break;
    case NN_MEMORY_DESTROY:
        assert_true(l->there[e->tensor]);
        l->there[e->tensor] = false;
        break;
    }
    l->kind[m->tensor[e->tensor].kind] += nn_memory_change(m, i);
    l->all = 0;
    for (k = 0; k < NN_MEMORY_KINDS; k++)
        l->all += l->kind[k];
    for (k = 0; k < m->n_tensor; k++)
        bytes += l->there[k] ? m->tensor[k].bytes : 0;
    assert_int_equal(bytes, l->all);
}

/* Live bytes of a kind after the last event of a phase of a step. */
static int64_t after(const struct nn_step_memory *m, int step,
                     enum nn_phase phase, enum nn_memory_kind kind)
{
    struct ledger l = {0};
    int64_t out = -1;
    size_t i;

    for (i = 0; i < m->n_event; i++) {
        enter(&l, m, i);
        if (m->event[i].step == step && m->event[i].phase == phase)
            out = l.kind[kind];
    }
    return out;
}

static void expect_common(const struct nn_step_memory *m, int64_t state)
{
    struct nn_memory_sums s;

    nn_memory_sum_up(m, &s);
    assert_int_equal(s.most[NN_MEMORY_PARAMETER], 814120);
    assert_int_equal(s.most[NN_MEMORY_GRADIENT], 814120);
    assert_int_equal(s.most[NN_MEMORY_OPTIMIZER], state);
    assert_int_equal(s.most[NN_MEMORY_INPUT], B * 784 * 4 + B * 4);
    assert_int_equal(s.most[NN_MEMORY_AUTOGRAD], 0);
    assert_int_equal(s.first, s.last); /* the steady state */
    assert_true(m->padding >= 0);
    assert_true(m->held >= s.peak);
}

static void check_optimizer(const struct nn_optim_spec *optim, int64_t state)
{
    struct nn_trainer_opts o = with(optim);
    struct memory_fixture f;
    struct nn_step_memory *m;

    memory_open(&f, NULL, &o, 2, B);
    m = memory_of(&f, B, 0, 3, NULL);
    expect_common(m, state);
    /* born in the first optimizer phase, and not before */
    assert_int_equal(after(m, 0, NN_PHASE_BACKWARD, NN_MEMORY_OPTIMIZER), 0);
    assert_int_equal(after(m, 0, NN_PHASE_OPTIMIZER, NN_MEMORY_OPTIMIZER),
                     state);
    nn_step_memory_free(m);
    memory_close(&f);
    assert_int_equal(mem_live(), 0);
}

static void state_is_none_one_or_two_times_the_parameters(void **unused)
{
    (void)unused;
    check_optimizer(&sgd, 0);
    check_optimizer(&momentum, P4);
    check_optimizer(&adam, 2 * P4);
}

static void gradients_live_from_backward_to_clear_grad(void **unused)
{
    struct nn_trainer_opts o = with(&adam);
    struct memory_fixture f;
    struct nn_step_memory *m;

    (void)unused;
    memory_open(&f, NULL, &o, 1, B);
    m = memory_of(&f, B, 0, 2, NULL);
    assert_int_equal(after(m, 0, NN_PHASE_FORWARD, NN_MEMORY_GRADIENT), 0);
    assert_int_equal(after(m, 0, NN_PHASE_OPTIMIZER, NN_MEMORY_GRADIENT), P4);
    assert_int_equal(after(m, 1, NN_PHASE_FORWARD, NN_MEMORY_GRADIENT), P4);
    assert_int_equal(after(m, 1, NN_PHASE_CLEAR_GRAD, NN_MEMORY_GRADIENT), 0);
    nn_step_memory_free(m);
    memory_close(&f);
}

static void gradients_set_to_zero_stay(void **unused)
{
    struct nn_trainer_opts o = with(&adam);
    struct memory_fixture f;
    struct nn_step_memory *m;

    (void)unused;
    o.zero_grad_to_zero = true;
    memory_open(&f, NULL, &o, 1, B);
    m = memory_of(&f, B, 0, 3, NULL);
    expect_common(m, 2 * P4);
    assert_int_equal(after(m, 0, NN_PHASE_FORWARD, NN_MEMORY_GRADIENT), 0);
    assert_int_equal(after(m, 1, NN_PHASE_CLEAR_GRAD, NN_MEMORY_GRADIENT), P4);
    nn_step_memory_free(m);
    memory_close(&f);
}

static void later_steps_find_gradients_and_state(void **unused)
{
    struct nn_trainer_opts o = with(&momentum);
    struct memory_fixture f;
    struct nn_step_memory *m;

    (void)unused;
    memory_open(&f, NULL, &o, 3, B);
    m = memory_of(&f, B, 3, 1, NULL);
    expect_common(m, P4);
    assert_int_equal(m->event[m->n_event - 1].step, 3);
    assert_int_equal(after(m, -1, NN_PHASE_NONE, NN_MEMORY_OPTIMIZER), P4);
    assert_int_equal(after(m, -1, NN_PHASE_NONE, NN_MEMORY_GRADIENT), P4);
    nn_step_memory_free(m);
    memory_close(&f);
}

/* Nothing of it dies in forward, and nothing of it is born in backward. */
static void activations_rise_in_forward_and_fall_in_backward(void **unused)
{
    struct nn_trainer_opts o = with(&sgd);
    struct memory_fixture f;
    struct nn_step_memory *m;
    int64_t peak = B * (256 + 256 + 10) * 4 + 4;
    size_t i;

    (void)unused;
    memory_open(&f, NULL, &o, 1, B);
    m = memory_of(&f, B, 0, 2, NULL);
    for (i = 0; i < m->n_event; i++) {
        const struct nn_memory_event *e = &m->event[i];

        if (m->tensor[e->tensor].kind != NN_MEMORY_ACTIVATION)
            continue;
        if (e->phase == NN_PHASE_BACKWARD)
            assert_int_equal(e->action, NN_MEMORY_DESTROY);
        if (e->action == NN_MEMORY_CREATE)
            assert_int_equal(e->phase, NN_PHASE_FORWARD);
    }
    assert_true(after(m, 1, NN_PHASE_FORWARD, NN_MEMORY_ACTIVATION) > 0);
    assert_true(after(m, 1, NN_PHASE_FORWARD, NN_MEMORY_ACTIVATION) <= peak);
    assert_int_equal(after(m, 1, NN_PHASE_BACKWARD, NN_MEMORY_ACTIVATION), 4);
    assert_int_equal(after(m, 1, NN_PHASE_OPTIMIZER, NN_MEMORY_ACTIVATION), 0);
    nn_step_memory_free(m);
    memory_close(&f);
}

static void pieces_have_their_gradients_as_temporaries(void **unused)
{
    struct nn_trainer_opts o = with(&adam);
    struct memory_fixture f;
    struct nn_step_memory *m;
    struct nn_memory_sums s;

    (void)unused;
    o.microbatches = 4;
    o.clip_grad_norm = 1.0;
    o.fusion = NN_FUSION_ALL;
    memory_open(&f, NULL, &o, 2, B);
    m = memory_of(&f, B, 0, 3, NULL);
    expect_common(m, 2 * P4);
    nn_memory_sum_up(m, &s);
    assert_in_range(s.most[NN_MEMORY_TEMPORARY], 2 * P4, 2 * P4 + 100000);
    assert_true(after(m, 1, NN_PHASE_BACKWARD, NN_MEMORY_TEMPORARY) == 0);
    nn_step_memory_free(m);
    memory_close(&f);
}

static void events_have_the_times_of_their_calls(void **unused)
{
    struct nn_trainer_opts o = with(&sgd);
    struct memory_fixture f;
    struct nn_step_memory *m;
    int64_t ns[2 * 2 * 64];
    int n, i;
    size_t k;

    (void)unused;
    memory_open(&f, NULL, &o, 1, B);
    n = nn_trainer_recorded(f.trainer, B)->n_call;
    assert_in_range(n, 5, 64);
    for (i = 0; i < 2 * n; i++) {
        ns[2 * i] = 5000 + 100 * i;
        ns[2 * i + 1] = 5000 + 100 * i + 70;
    }
    ns[2 * n] = 0; /* a clock that ran backwards */
    m = memory_of(&f, B, 0, 2, ns);
    assert_true(m->timed);
    assert_int_equal(m->begin, 5000);
    assert_int_equal(m->end, ns[4 * n - 1]);
    for (k = 0; k < m->n_event; k++) {
        const struct nn_memory_event *e = &m->event[k];
        int64_t at;

        assert_true(k == 0 || e->at >= m->event[k - 1].at);
        if (e->step < 0)
            continue;
        at = ns[2 * (e->step * n + e->call) + (e->action == NN_MEMORY_DESTROY)];
        if (at > 0)
            assert_int_equal(e->at, at);
    }
    nn_step_memory_free(m);
    memory_close(&f);
}

static void what_cannot_be_told_is_an_error(void **unused)
{
    struct nn_trainer_opts o = with(&sgd);
    struct nn_step_memory_opts ask = {B, 0, 1, NULL};
    struct memory_fixture f;
    struct nn_step_memory *m;
    struct err err = {0};

    (void)unused;
    memory_open(&f, NULL, &o, 1, B);
    ask.batch = B + 1;
    assert_int_equal(nn_step_memory_new(&m, f.trainer, &ask, &err), ERR_CONFIG);
    assert_non_null(strstr(err.msg, "batch size 13"));
    assert_null(m);
    err_clear(&err);
    ask.batch = B;
    ask.n_step = 0;
    assert_int_equal(nn_step_memory_new(&m, f.trainer, &ask, &err), ERR_CONFIG);
    memory_close(&f);
}

static void no_memory_is_told_at_every_allocation(void **unused)
{
    struct nn_trainer_opts o = with(&adam);
    struct nn_step_memory_opts ask = {B, 0, 40, NULL};
    struct memory_fixture f;
    struct nn_step_memory *m = NULL;
    struct err err = {0};
    long before, n;
    int rc = ERR_NOMEM;

    (void)unused;
    memory_open(&f, NULL, &o, 1, B);
    before = mem_live();
    for (n = 1; rc != 0; n++) {
        err_clear(&err);
        mem_fail_after(n);
        rc = nn_step_memory_new(&m, f.trainer, &ask, &err);
        mem_fail_after(0);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
        assert_null(m);
        assert_int_equal(mem_live(), before);
    }
    assert_true(n > 8);
    nn_step_memory_free(m);
    memory_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_is_none_one_or_two_times_the_parameters),
        cmocka_unit_test(gradients_live_from_backward_to_clear_grad),
        cmocka_unit_test(gradients_set_to_zero_stay),
        cmocka_unit_test(later_steps_find_gradients_and_state),
        cmocka_unit_test(activations_rise_in_forward_and_fall_in_backward),
        cmocka_unit_test(pieces_have_their_gradients_as_temporaries),
        cmocka_unit_test(events_have_the_times_of_their_calls),
        cmocka_unit_test(what_cannot_be_told_is_an_error),
        cmocka_unit_test(no_memory_is_told_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
