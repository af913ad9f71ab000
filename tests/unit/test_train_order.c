/* Training steps whose calls stand in every order, against each other to the
 * bit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nn/train.h"
#include "tests/unit/order_fixture.h"

enum { MAX_BYTES = 4096 };
enum {
    Z = NN_PART_ZERO_GRAD,
    F = NN_PART_FORWARD,
    L = NN_PART_LOSS,
    B = NN_PART_BACKWARD,
    S = NN_PART_STEP
};

static const char *const optimizers[] = {"sgd", "sgd_momentum", "adam",
                                         "adamw"};

static struct nn_train_order order(int n, const int *part)
{
    struct nn_train_order o = {.n = n};
    int i;

    for (i = 0; i < n; i++)
        o.part[i] = (enum nn_part)part[i];
    return o;
}
#define ORDER(...) \
    order((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
          (int[]){__VA_ARGS__})

/* The numbers of a block, one tensor after the other; how many bytes. */
static size_t read_block(struct fixture *f, const struct nn_params *p,
                         unsigned char out[MAX_BYTES])
{
    size_t at = 0;
    int i;

    for (i = 0; i < p->n; i++) {
        assert_int_equal(nn_tensor_get(p->t[i], out + at, &f->err), 0);
        at += (size_t)nn_tensor_numel(p->t[i]) * sizeof(float);
    }
    return at;
}

/* --- bits --- */

/* What a run of 12 steps comes to: losses, then parameters. */
static size_t outcome(struct nn_trainer_opts opts,
                      unsigned char out[MAX_BYTES * 2])
{
    struct fixture f;
    size_t at = 0, i;

    open_trainer(&f, false, opts);
    for (i = 0; i < 12; i++) {
        float loss = step(&f, 0.05);

        memcpy(out + at, &loss, sizeof loss);
        at += sizeof loss;
    }
    at += read_block(&f, &f.model->params, out + at);
    close_trainer(&f);
    return at;
}

static void orders_that_clear_before_backward_give_the_same_bits(void **state)
{
    const struct nn_train_order same[] = {
        ORDER(F, Z, B, S),    ORDER(Z, F, B, S),    ORDER(F, B, S, Z),
        ORDER(Z, F, L, B, S), ORDER(F, L, Z, B, S), ORDER(F, Z, L, B, S),
        ORDER(F, L, B, S, Z)};
    unsigned char want[MAX_BYTES * 2], got[MAX_BYTES * 2];
    size_t k, i, m, n;

    (void)state;
    for (k = 0; k < 4; k++)
        for (m = 1; m <= 3; m++) {
            struct nn_trainer_opts opts = {.optim = optimizer(optimizers[k]),
                                           .microbatches = (int64_t)m,
                                           .clip_grad_norm = 0.4,
                                           .fusion = NN_FUSION_ALL};

            n = outcome(opts, want);
            for (i = 0; i < sizeof same / sizeof *same; i++) {
                opts.order = same[i];
                opts.zero_grad_to_zero = i % 2;
                opts.execution = i % 2 ? NN_EXEC_EAGER : NN_EXEC_RECORDED;
                assert_int_equal(outcome(opts, got), n);
                assert_memory_equal(got, want, n);
            }
        }
}

static void gradients_that_nothing_clears_add_up(void **state)
{
    struct nn_trainer_opts opts = {.optim = optimizer("sgd")};
    float a[MAX_BYTES / 4], b[MAX_BYTES / 4], sum[MAX_BYTES / 4], loss;
    struct fixture f;
    size_t n, i;

    (void)state;
    open_trainer(&f, false, opts);
    assert_int_equal(nn_trainer_step(f.trainer, NULL, 0, 5, 0, &loss, &f.err),
                     0);
    n = read_block(&f, &f.model->grads, (unsigned char *)a) / sizeof *a;
    assert_int_equal(nn_trainer_step(f.trainer, NULL, 5, 3, 0, &loss, &f.err),
                     0);
    (void)read_block(&f, &f.model->grads, (unsigned char *)b);
    close_trainer(&f);
    opts.order = ORDER(F, B, S);
    open_trainer(&f, false, opts);
    assert_int_equal(nn_trainer_step(f.trainer, NULL, 0, 5, 0, &loss, &f.err),
                     0);
    assert_int_equal(nn_trainer_step(f.trainer, NULL, 5, 3, 0, &loss, &f.err),
                     0);
    (void)read_block(&f, &f.model->grads, (unsigned char *)sum);
    for (i = 0; i < n; i++)
        assert_true(sum[i] == a[i] + b[i]);
    assert_true(n > 0 && sum[0] != 0.0f);
    close_trainer(&f);
}

/* --- steps that find no gradients --- */

static void check_untouched(struct fixture *f)
{
    unsigned char state[MAX_BYTES];
    size_t n, i;
    int k;

    for (k = 0; k < f->trainer->optim->n_state; k++) {
        n = read_block(f, &f->trainer->optim->state[k], state);
        for (i = 0; i < n; i++)
            assert_int_equal(state[i], 0);
    }
    assert_int_equal(f->trainer->optim->steps, 0);
    assert_true(f->trainer->optim->beta1_power == 1.0);
    assert_true(f->trainer->optim->beta2_power == 1.0);
}

static void step_without_gradients_changes_nothing(void **state)
{
    const struct nn_train_order idle[] = {ORDER(Z, F, S, B), ORDER(F, B, Z, S),
                                          ORDER(Z, S, F, L, B)};
    unsigned char before[MAX_BYTES], after[MAX_BYTES];
    size_t k, i, s, n;

    (void)state;
    for (k = 0; k < 4; k++)
        for (i = 0; i < 3; i++) {
            struct nn_trainer_opts opts = {.optim = optimizer(optimizers[k]),
                                           .microbatches = 2,
                                           .order = idle[i]};
            struct fixture f;

            opts.optim.weight_decay = 0.5;
            open_trainer(&f, false, opts);
            assert_false(f.trainer->plan.carries);
            n = read_block(&f, &f.model->params, before);
            for (s = 0; s < 3; s++)
                (void)step(&f, 0.1);
            assert_int_equal(read_block(&f, &f.model->params, after), n);
            assert_memory_equal(after, before, n);
            check_untouched(&f);
            close_trainer(&f);
        }
}

static void first_step_before_any_backward_is_not_counted(void **state)
{
    struct nn_trainer_opts opts = {.optim = optimizer("adamw"),
                                   .order = ORDER(S, Z, F, B)};
    struct fixture f;

    (void)state;
    open_trainer(&f, false, opts);
    (void)step(&f, 0.1);
    check_untouched(&f);
    assert_null(nn_trainer_recorded(f.trainer, N)); /* not yet a usual one */
    (void)step(&f, 0.1);
    (void)step(&f, 0.1);
    assert_int_equal(f.trainer->optim->steps, 2);
    assert_true(f.trainer->optim->beta1_power == 0.9 * 0.9);
    assert_non_null(nn_trainer_recorded(f.trainer, N));
    close_trainer(&f);
}

/* --- gradients that are carried over --- */

static void copy_block(struct fixture *to, struct nn_params *p,
                       struct fixture *from, const struct nn_params *q)
{
    float v[MAX_BYTES / 4];
    int i;

    for (i = 0; i < p->n; i++) {
        assert_int_equal(nn_tensor_get(q->t[i], v, &from->err), 0);
        assert_int_equal(nn_tensor_set(p->t[i], v, &to->err), 0);
    }
}

/* As a resume file does. */
static void go_on(struct fixture *to, struct fixture *from)
{
    struct nn_optim *o = to->trainer->optim, *q = from->trainer->optim;
    int i;

    copy_block(to, &to->model->params, from, &from->model->params);
    copy_block(to, &to->model->grads, from, &from->model->grads);
    for (i = 0; i < o->n_state; i++)
        copy_block(to, &o->state[i], from, &q->state[i]);
    o->steps = q->steps;
    o->beta1_power = q->beta1_power;
    o->beta2_power = q->beta2_power;
    to->trainer->step = from->trainer->step;
    to->trainer->held = from->trainer->held;
}

static void carried_gradients_go_on_to_the_same_bits(void **state)
{
    const struct nn_train_order carry[] = {ORDER(F, B, S), ORDER(S, F, L, B),
                                           ORDER(S, Z, F, B)};
    unsigned char want[MAX_BYTES], got[MAX_BYTES];
    size_t k, i, s, n;

    (void)state;
    for (k = 0; k < 4; k++)
        for (i = 0; i < 3; i++) {
            struct nn_trainer_opts opts = {.optim = optimizer(optimizers[k]),
                                           .clip_grad_norm = 0.5,
                                           .order = carry[i]};
            struct fixture whole, half, rest;

            open_trainer(&whole, false, opts);
            open_trainer(&half, false, opts);
            open_trainer(&rest, false, opts);
            assert_true(whole.trainer->plan.carries);
            for (s = 0; s < 10; s++)
                (void)step(&whole, 0.02);
            for (s = 0; s < 5; s++)
                (void)step(&half, 0.02);
            go_on(&rest, &half);
            for (s = 0; s < 5; s++)
                (void)step(&rest, 0.02);
            n = read_block(&whole, &whole.model->params, want);
            assert_int_equal(read_block(&rest, &rest.model->params, got), n);
            assert_memory_equal(got, want, n);
            close_trainer(&whole);
            close_trainer(&half);
            close_trainer(&rest);
        }
}

static void carried_gradients_and_microbatches_are_an_error(void **state)
{
    struct nn_trainer_opts opts = {.loss = {.type = NN_LOSS_MSE},
                                   .microbatches = 2,
                                   .order = ORDER(F, B, S)};
    struct nn_trainer *t;
    struct fixture f;

    (void)state;
    open_model(&f, false);
    assert_int_equal(nn_trainer_new(&t, f.model, &f.p.data, &opts, &f.err),
                     ERR_CONFIG);
    assert_null(t);
    assert_string_equal(f.err.msg,
                        "step_order carries gradients over to the next step, "
                        "which takes microbatches: 1, not 2");
    close_trainer(&f);
}

/* A model begins with the gradients that another trainer left. */
static void old_gradients_do_not_count(void **state)
{
    struct nn_trainer_opts opts = {.loss = {.type = NN_LOSS_MSE},
                                   .optim = optimizer("sgd"),
                                   .microbatches = 1};
    unsigned char want[MAX_BYTES], got[MAX_BYTES];
    struct nn_trainer *t;
    struct fixture f;
    float loss;
    size_t n;

    (void)state;
    open_trainer(&f, false, opts);
    (void)step(&f, 0.0);
    n = read_block(&f, &f.model->grads, want);
    opts.order = ORDER(F, B, S);
    assert_int_equal(nn_trainer_new(&t, f.model, &f.p.data, &opts, &f.err), 0);
    assert_int_equal(nn_trainer_step(t, NULL, 0, N, 0.0, &loss, &f.err), 0);
    (void)read_block(&f, &f.model->grads, got);
    assert_memory_equal(got, want, n);
    nn_trainer_free(t);
    close_trainer(&f);
}

/* --- the recorded step --- */

static void recorded_calls_stand_in_the_order_asked_for(void **state)
{
    static const enum nn_phase want[] = {NN_PHASE_H2D, NN_PHASE_FORWARD,
                                         NN_PHASE_BACKWARD, NN_PHASE_OPTIMIZER,
                                         NN_PHASE_CLEAR_GRAD};
    struct nn_trainer_opts opts = {.optim = optimizer("sgd"),
                                   .order = ORDER(F, L, B, S, Z)};
    const struct nn_step *s;
    struct fixture f;
    int i, at = 0;

    (void)state;
    open_trainer(&f, false, opts);
    (void)step(&f, 0.1);
    s = nn_trainer_recorded(f.trainer, N);
    for (i = 0; i < s->n_call; i++) {
        at += s->call[i].phase != want[at];
        assert_true(at < 5 && s->call[i].phase == want[at]);
    }
    assert_int_equal(at, 4);
    close_trainer(&f);
}

static void carried_gradients_live_before_the_step(void **state)
{
    struct nn_trainer_opts opts = {.optim = optimizer("sgd")};
    int carries, i, seen;

    (void)state;
    for (carries = 0; carries < 2; carries++) {
        const struct nn_step *s;
        struct fixture f;

        if (carries)
            opts.order = ORDER(F, B, S);
        open_trainer(&f, false, opts);
        (void)step(&f, 0.1);
        s = nn_trainer_recorded(f.trainer, N);
        for (i = 0, seen = 0; i < s->n_value; i++)
            if (s->value[i].st == f.model->grads.flat->st) {
                assert_int_equal(s->value[i].first_write < 0, carries);
                seen++;
            }
        assert_int_equal(seen, 1);
        close_trainer(&f);
    }
}

/* --- orders that are none --- */

static void orders_that_are_none_are_errors(void **state)
{
    const struct {
        struct nn_train_order o;
        int bad;
        const char *msg;
    } wrong[] = {
        {ORDER(F, B, S, F), 3, "step_order has forward twice"},
        {ORDER(Z, F, Z, B, S), 2, "step_order has zero_grad twice"},
        {ORDER(F, B), 2,
         "step_order lacks step; forward, backward and step are needed, loss "
         "and zero_grad may be added"},
        {ORDER(B, F, S), 0,
         "backward stands before forward in step_order; it goes back through "
         "what forward did"},
        {ORDER(L, F, B, S), 0,
         "loss must stand between forward and backward in step_order"},
        {ORDER(F, B, L, S), 2,
         "loss must stand between forward and backward in step_order"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err err = {0};
        int bad = -1;

        assert_int_equal(nn_train_order_check(&wrong[i].o, &bad, &err),
                         ERR_CONFIG);
        assert_int_equal(bad, wrong[i].bad);
        assert_string_equal(err.msg, wrong[i].msg);
    }
    assert_int_equal(
        nn_train_order_check(&(struct nn_train_order){.n = 0}, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_that_clear_before_backward_give_the_same_bits),
        cmocka_unit_test(gradients_that_nothing_clears_add_up),
        cmocka_unit_test(step_without_gradients_changes_nothing),
        cmocka_unit_test(first_step_before_any_backward_is_not_counted),
        cmocka_unit_test(carried_gradients_go_on_to_the_same_bits),
        cmocka_unit_test(carried_gradients_and_microbatches_are_an_error),
        cmocka_unit_test(old_gradients_do_not_count),
        cmocka_unit_test(recorded_calls_stand_in_the_order_asked_for),
        cmocka_unit_test(carried_gradients_live_before_the_step),
        cmocka_unit_test(orders_that_are_none_are_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
