/* The memory of made-up runs side by side. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/compare_memory.h"
#include "tests/unit/svg_fixture.h"

enum { RUNS = 2, FORWARD = 0, CLEAR, BACKWARD, OPTIMIZER, CALLS };

/* A run of two steps with one tensor of each kind; numbers of 4 bytes. */
struct made {
    const char *label, *optimizer;
    int blocks;
    int parameters; /* and gradients */
    int state;      /* 0: none */
    int state_step; /* it is born in; -1: before */
    int activations;
    int burst; /* temporaries in step 0's forward alone */
    bool keeps_gradients;
};

static const struct made sgd = {
    .label = "plain", .optimizer = "sgd", .parameters = 100, .activations = 30};
static const struct made momentum = {.label = "with momentum",
                                     .optimizer = "sgd_momentum",
                                     .blocks = 1,
                                     .parameters = 100,
                                     .state = 100,
                                     .activations = 30};

enum tensor { PARAMETER, GRADIENT, STATE, ACTIVATION, BURST, TENSORS };

struct maker {
    struct str events;
    int n;
    bool alive[TENSORS];
};

static void happen(struct maker *k, int step, int call, int t,
                   enum nn_memory_action a)
{
    static const enum nn_phase phase[] = {NN_PHASE_FORWARD, NN_PHASE_CLEAR_GRAD,
                                          NN_PHASE_BACKWARD,
                                          NN_PHASE_OPTIMIZER};
    int at = step < 0 ? 0 : 10 * (step * CALLS + call);

    str_addf(&k->events, "event,%d,%d,%s,%d,%d,%s\n", at, t,
             nn_memory_action_name(a), step, call,
             step < 0 ? "" : nn_phase_name(phase[call]));
    k->alive[t] = a != NN_MEMORY_DESTROY;
    k->n++;
}

static void take_step(struct maker *k, const struct made *m, int step)
{
    happen(k, step, FORWARD, ACTIVATION, NN_MEMORY_CREATE);
    if (m->burst && step == 0) {
        happen(k, step, FORWARD, BURST, NN_MEMORY_CREATE);
        happen(k, step, FORWARD, BURST, NN_MEMORY_DESTROY);
    }
    if (k->alive[GRADIENT] && !m->keeps_gradients)
        happen(k, step, CLEAR, GRADIENT, NN_MEMORY_DESTROY);
    happen(k, step, BACKWARD, GRADIENT,
           k->alive[GRADIENT] ? NN_MEMORY_NEW_VERSION : NN_MEMORY_CREATE);
    happen(k, step, BACKWARD, ACTIVATION, NN_MEMORY_DESTROY);
    if (m->state && step == m->state_step)
        happen(k, step, OPTIMIZER, STATE, NN_MEMORY_CREATE);
}

static void make(struct pl_memory_figures *f, const struct made *m)
{
    const struct {
        const char *name;
        enum nn_memory_kind kind;
        int numbers;
    } tensors[TENSORS] = {
        {"w", NN_MEMORY_PARAMETER, m->parameters},
        {"w.grad", NN_MEMORY_GRADIENT, m->parameters},
        {"w.momentum_buffer", NN_MEMORY_OPTIMIZER, m->state},
        {"h", NN_MEMORY_ACTIVATION, m->activations},
        {"t", NN_MEMORY_TEMPORARY, m->burst},
    };
    struct maker k = {.n = 0};
    struct str text = {0};
    struct err err = {0};
    int i;

    happen(&k, -1, -1, PARAMETER, NN_MEMORY_PREEXISTING);
    if (m->state && m->state_step < 0)
        happen(&k, -1, -1, STATE, NN_MEMORY_PREEXISTING);
    for (i = 0; i < 2; i++)
        take_step(&k, m, i);
    str_addf(&text,
             "memory,1\nrun,%s,cpu\nsteps,0,2,%d,0,%d,1\nbytes,0,0,0,0\n"
             "counts,%d,%d,0\n",
             m->label, CALLS, 20 * CALLS, TENSORS, k.n);
    for (i = 0; i < TENSORS; i++)
        str_addf(&text, "tensor,%s,%d,float32,%s,%d\n", tensors[i].name,
                 tensors[i].numbers, nn_memory_kind_name(tensors[i].kind),
                 4 * tensors[i].numbers);
    str_add(&text, k.events.text);
    *f = (struct pl_memory_figures){
        .label = m->label, .optimizer = m->optimizer, .blocks = m->blocks};
    if (pl_memory_csv_read(&f->file, text.text, text.len, "made", &err) != 0)
        fail_msg("%s", err.msg);
    pl_memory_figure(f);
    str_free(&k.events);
    str_free(&text);
}

struct pair {
    struct pl_memory_figures f[RUNS];
    struct pl_memories all;
    struct str said;
};

static void compare(struct pair *p, const struct made *a, const struct made *b)
{
    memset(p, 0, sizeof *p);
    make(&p->f[0], a);
    make(&p->f[1], b);
    p->all = (struct pl_memories){.about = "made", .run = p->f, .n = RUNS};
    pl_memory_reasons(&p->said, &p->all);
    assert_false(p->said.failed);
}

static void end(struct pair *p)
{
    int i;

    for (i = 0; i < RUNS; i++)
        pl_memory_file_free(&p->f[i].file);
    str_free(&p->said);
    assert_int_equal(mem_live(), 0);
}

static void says(const struct pair *p, const char *text)
{
    if (!strstr(p->said.text, text))
        fail_msg("'%s' is not in:\n%s", text, p->said.text);
}

static void says_not(const struct pair *p, const char *text)
{
    if (strstr(p->said.text, text))
        fail_msg("'%s' is in:\n%s", text, p->said.text);
}

static void momentum_adds_its_state_and_nothing_else(void **unused)
{
    struct pair p;

    (void)unused;
    compare(&p, &sgd, &momentum);
    assert_int_equal(pl_memory_difference(&p.all, 1, NN_MEMORY_OPTIMIZER), 400);
    assert_int_equal(pl_memory_others(&p.all, 1, NN_MEMORY_OPTIMIZER), 0);
    assert_true(pl_memory_multiple(&p.f[1], NN_MEMORY_OPTIMIZER) == 1);
    assert_true(pl_memory_holds(&p.f[0]) && pl_memory_holds(&p.f[1]));
    assert_int_equal(p.f[1].kept[NN_MEMORY_OPTIMIZER], 400);
    assert_int_equal(p.f[1].kept[NN_MEMORY_ACTIVATION], 0);
    assert_int_equal(p.f[1].steady[NN_MEMORY_ACTIVATION], 120);
    says(&p, "400 bytes of parameters: P = 100 numbers at 4 bytes each.");
    says(&p,
         "Gradients take 400 bytes in every run, as much as the parameters: "
         "one number for each. They are born in backward and go in clear "
         "grad.");
    says(&p, "plain keeps 0 bytes of optimizer state: its step is made of the "
             "gradient alone.");
    says(&p, "with momentum keeps 400 bytes of optimizer state, as much as the "
             "parameters, in 1 tensor (momentum_buffer). It first appears in "
             "step 0, phase optimizer, and stays.");
    says(&p, "has 400 bytes more of optimizer state; every other category "
             "differs by 0 bytes.");
    says(&p, "920 bytes with plain and 1,320 bytes with with momentum: +400 "
             "bytes, which is what lies in optimizer state then.");
    end(&p);
}

static void state_that_is_too_small_is_said_not_to_hold(void **unused)
{
    struct made half = momentum;
    struct pair p;

    (void)unused;
    half.state = 50;
    half.state_step = 1;
    compare(&p, &sgd, &half);
    assert_false(pl_memory_holds(&p.f[1]));
    says(&p, "keeps 200 bytes of optimizer state, 0.500 times the parameters");
    says(&p, "first appears in step 1, phase optimizer");
    says(&p, "**not** P : P : 1 P, as sgd_momentum would have it");
    end(&p);
    half.state = 0;
    compare(&p, &sgd, &half);
    says(&p, "with momentum keeps 0 bytes of optimizer state; parameters : "
             "gradients : state is **not** P : P : 1 P");
    says(&p, "has as much optimizer state; every other");
    end(&p);
}

static void state_from_before_and_kept_gradients_are_told(void **unused)
{
    struct made before = momentum, plain = sgd;
    struct pair p;

    (void)unused;
    before.state_step = -1;
    before.keeps_gradients = plain.keeps_gradients = true;
    compare(&p, &plain, &before);
    says(&p, "It was there before the first step recorded, and stays.");
    says(&p, "They are born in backward and stay from then on.");
    says_not(&p, "clear grad");
    before.keeps_gradients = false;
    end(&p);
    compare(&p, &plain, &before);
    says_not(&p, "They are born");
    end(&p);
}

static void other_differences_are_named_with_their_sign(void **unused)
{
    struct made other = momentum;
    struct pair p;

    (void)unused;
    other.activations = 20;
    other.parameters = 101;
    other.state = 101;
    compare(&p, &sgd, &other);
    assert_int_equal(pl_memory_others(&p.all, 1, NN_MEMORY_OPTIMIZER), 48);
    says(&p, "The runs differ in their parameters: plain 400 bytes, with "
             "momentum 404 bytes.");
    says(&p, "The gradients of with momentum take 404 bytes, as much as the "
             "parameters.");
    says(&p, "has 404 bytes more of optimizer state; other categories differ "
             "too: parameters +4 bytes, activations -40 bytes, gradients +4 "
             "bytes.");
    says(&p, "+372 bytes, of optimizer state alone +404 bytes.");
    says(&p, "Activations differ: plain 120 bytes, with momentum 80 bytes at "
             "most in the last step.");
    says_not(&p, "every other category");
    end(&p);
}

static void peak_before_the_state_is_the_same_peak(void **unused)
{
    struct made a = sgd, b = momentum;
    struct pair p;

    (void)unused;
    a.burst = b.burst = 5000;
    compare(&p, &a, &b);
    says(&p, "20,520 bytes with plain and 20,520 bytes with with momentum: the "
             "same.");
    says_not(&p, "which is what lies in optimizer state");
    end(&p);
    compare(&p, &b, &sgd);
    says(&p, "has 400 bytes less of optimizer state");
    end(&p);
}

static void tables_have_every_run_and_say_what_holds(void **unused)
{
    static const struct made odd = {.label = "a|b",
                                    .optimizer = "sgd",
                                    .blocks = 2,
                                    .parameters = 100,
                                    .activations = 30};
    struct arena arena = {0};
    struct str csv = {0}, md = {0};
    struct pair p;

    (void)unused;
    compare(&p, &odd, &momentum);
    p.all.simulated = true;
    pl_memories_md(&md, &p.all, &arena);
    assert_false(md.failed);
    assert_non_null(strstr(md.text, "**SIMULATED: no GPU"));
    assert_non_null(strstr(md.text, "difference, with momentum"));
    assert_non_null(strstr(md.text, "+400"));
    assert_non_null(strstr(md.text, "a\\|b"));
    assert_non_null(strstr(md.text, "P : P : 2 P"));
    assert_non_null(strstr(md.text, "**no**"));
    assert_non_null(strstr(md.text, "yes, to the byte"));
    pl_memories_csv(&csv, &p.all);
    assert_non_null(strstr(csv.text, "with momentum,sgd_momentum,optimizer "
                                     "state,400,400,400,400,1,1\n"));
    str_free(&csv);
    str_free(&md);
    arena_free(&arena);
    end(&p);
}

static void panels_are_a_picture_with_every_run_and_the_mark(void **unused)
{
    struct pl_memory_run run[RUNS];
    struct pl_memory_runs runs = {"made <up>", run, RUNS, true};
    struct str svg = {0};
    struct pair p;
    int i;

    (void)unused;
    compare(&p, &sgd, &momentum);
    for (i = 0; i < RUNS; i++)
        run[i] = (struct pl_memory_run){.label = p.f[i].label,
                                        .memory = p.f[i].file.memory};
    pl_memory_panels_svg(&runs, &svg);
    assert_false(svg.failed);
    assert_non_null(strstr(svg.text, ">plain</text>"));
    assert_non_null(strstr(svg.text, ">with momentum</text>"));
    assert_non_null(strstr(svg.text, ">" PL_MEMORY_SIMULATED "</text>"));
    str_free(&svg);
    end(&p);
}

static void run_without_parameters_has_no_multiples(void **unused)
{
    struct made none = sgd;
    struct pair p;

    (void)unused;
    none.parameters = 0;
    compare(&p, &none, &none);
    assert_true(isnan(pl_memory_multiple(&p.f[0], NN_MEMORY_GRADIENT)));
    says(&p, "0 bytes of parameters: P = 0 numbers.");
    says_not(&p, "nan");
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(momentum_adds_its_state_and_nothing_else),
        cmocka_unit_test(state_that_is_too_small_is_said_not_to_hold),
        cmocka_unit_test(state_from_before_and_kept_gradients_are_told),
        cmocka_unit_test(other_differences_are_named_with_their_sign),
        cmocka_unit_test(peak_before_the_state_is_the_same_peak),
        cmocka_unit_test(tables_have_every_run_and_say_what_holds),
        cmocka_unit_test(panels_are_a_picture_with_every_run_and_the_mark),
        cmocka_unit_test(run_without_parameters_has_no_multiples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
