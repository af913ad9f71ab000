/* The recorder: schedule, threads, memory, order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "nn/base/mem.h"
#include "nn/base/prof.h"

static const struct prof_schedule always;

static struct prof *open_prof(const struct prof_schedule *s, size_t most)
{
    struct prof *p;

    assert_int_equal(prof_new(&p, s, most, NULL), 0);
    return p;
}

/* The states of the first n steps as letters. */
static const char *states(const struct prof_schedule *s, int n)
{
    static char text[32];
    int i;

    for (i = 0; i < n; i++)
        text[i] = "-wA"[prof_schedule_at(s, i)];
    text[n] = '\0';
    return text;
}

static void schedule_is_that_of_torch(void **state)
{
    static const struct {
        struct prof_schedule s;
        const char *want;
    } cases[] = {
        {{0, 0, 0, 0, 0}, "AAAAAAAAAA"},  {{0, 1, 1, 3, 0}, "-wAAA-wAAA"},
        {{0, 1, 1, 3, 1}, "-wAAA-----"},  {{2, 1, 0, 2, 2}, "---AA-AA--"},
        {{0, 0, 2, 1, 0}, "wwAwwAwwAw"},  {{0, 2, 1, 0, 0}, "--wAAAAAAA"},
        {{0, 0, 0, 99, 0}, "AAAAAAAAAA"}, {{0, 20, 0, 1, 0}, "----------"},
        {{0, 0, 20, 1, 0}, "wwwwwwwwww"}, {{30, 0, 0, 1, 0}, "----------"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(states(&cases[i].s, 10), cases[i].want);
}

static void run_steps(struct prof *p, int n)
{
    static const char *const phase[] = {"h2d", "forward"};
    int i, k;

    for (i = 0; i < n; i++) {
        prof_step_begin(p);
        for (k = 0; k < 2; k++) {
            int64_t t = prof_now(p);

            prof_phase(p, phase[k], t);
            prof_add(p, PROF_OP, "op", NULL, t, prof_now(p));
        }
        prof_step_end(p);
    }
}

static void only_active_steps_are_kept_under_their_own_numbers(void **state)
{
    static const struct prof_schedule s = {.wait = 1, .warmup = 1, .active = 2};
    static const int64_t want[] = {2, 3, 6, 7};
    const struct prof_span **all;
    struct prof *p = open_prof(&s, 10000);
    size_t n, i, steps = 0;

    (void)state;
    run_steps(p, 9);
    assert_int_equal(prof_spans(p, &all, &n, NULL), 0);
    assert_int_equal(n, 4 * 5);
    for (i = 0; i < n; i++)
        if (all[i]->kind == PROF_STEP)
            assert_int_equal(all[i]->step, want[steps++]);
    assert_int_equal(steps, 4);
    mem_free(all);
    prof_free(p);
}

static void parents_come_first_and_enclose(void **state)
{
    static const enum prof_kind want[] = {PROF_STEP, PROF_PHASE, PROF_OP,
                                          PROF_PHASE, PROF_OP};
    const struct prof_span **all;
    struct prof *p = open_prof(&always, 10000);
    size_t n, i;

    (void)state;
    run_steps(p, 100);
    assert_int_equal(prof_spans(p, &all, &n, NULL), 0);
    assert_int_equal(n, 500);
    for (i = 0; i < n; i++) {
        const struct prof_span *s = all[i], *step = all[i - i % 5];

        assert_int_equal(s->kind, want[i % 5]);
        assert_true(s->begin >= step->begin && s->end <= step->end);
        assert_true(s->end >= s->begin);
        if (i % 5 == 2 || i % 5 == 4)
            assert_true(s->begin >= all[i - 1]->begin &&
                        s->end <= all[i - 1]->end);
    }
    mem_free(all);
    prof_free(p);
}

static void nothing_is_kept_outside_of_steps(void **state)
{
    const struct prof_span **all;
    struct prof *p = open_prof(&always, 10000);
    size_t n;

    (void)state;
    prof_add(p, PROF_OP, "early", NULL, 1, 2);
    prof_phase(p, "early", 1);
    run_steps(p, 1);
    prof_add(p, PROF_OP, "late", NULL, 1, 2);
    assert_int_equal(prof_spans(p, &all, &n, NULL), 0);
    assert_int_equal(n, 5);
    mem_free(all);
    prof_free(p);
}

static void what_finds_no_room_is_counted(void **state)
{
    const struct prof_span **all;
    struct prof *p = open_prof(&always, 5000); /* two chunks: 8192 spans */
    size_t n;
    int i;

    (void)state;
    prof_step_begin(p);
    for (i = 0; i < 10000; i++)
        prof_add(p, PROF_OP, "op", NULL, i, i + 1);
    prof_step_end(p);
    assert_int_equal(prof_spans(p, &all, &n, NULL), 0);
    assert_int_equal(n, 8192);
    assert_int_equal(n + prof_lost(p), 10001);
    mem_free(all);
    prof_free(p);
}

static void larger_steps_find_room_from_the_second_on(void **state)
{
    struct prof *p = open_prof(&always, 1 << 20);
    uint64_t lost = 0;
    int i, k;

    (void)state;
    for (k = 0; k < 4; k++) {
        prof_step_begin(p);
        for (i = 0; i < 12000; i++)
            prof_add(p, PROF_OP, "op", NULL, i, i + 1);
        prof_step_end(p);
        assert_true(k < 2 || prof_lost(p) == lost);
        lost = prof_lost(p);
    }
    prof_free(p);
}

static void *add_many(void *arg)
{
    struct prof *p = arg;
    int i;

    for (i = 0; i < 5000; i++)
        prof_add(p, PROF_NOTE, "note", NULL, i, i + 1);
    return NULL;
}

static void threads_keep_their_own_spans(void **state)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    const struct prof_span **all;
    struct prof *p = open_prof(&always, 200000);
    size_t n, i, tids = 1;
    int k;

    (void)state;
    for (k = 0; k < 3; k++) { /* room for all threads comes with the steps */
        prof_step_begin(p);
        for (i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, add_many, p), 0);
        for (i = 0; i < THREADS; i++)
            assert_int_equal(pthread_join(thread[i], NULL), 0);
        prof_step_end(p);
    }
    assert_int_equal(prof_spans(p, &all, &n, NULL), 0);
    assert_int_equal(n + prof_lost(p), 3 * THREADS * 5000 + 3);
    assert_true(n > 3 * 4096);
    for (i = 1; i < n; i++) {
        tids += all[i]->tid != all[i - 1]->tid;
        assert_true(all[i]->tid > all[i - 1]->tid ||
                    all[i]->begin >= all[i - 1]->begin);
    }
    assert_in_range(tids, 2, 3 * THREADS + 1);
    mem_free(all);
    prof_free(p);
}

static void more_threads_than_tracks_are_counted(void **state)
{
    enum { THREADS = PROF_THREADS + 8 };
    pthread_t thread[THREADS];
    struct prof *p = open_prof(&always, 1);
    int i;

    (void)state;
    prof_step_begin(p);
    for (i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_many, p), 0);
    for (i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    prof_step_end(p);
    assert_int_equal(prof_lost(p) + 4096, THREADS * 5000 + 1);
    prof_free(p);
}

static void times_are_those_of_the_wall_clock(void **state)
{
    struct prof *p = open_prof(&always, 1);
    struct timespec t;
    int64_t now;

    (void)state;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    assert_true(prof_now(p) - now >= -1000000000);
    assert_true(prof_now(p) - now < 1000000000);
    prof_free(p);
}

static void out_of_memory_is_an_error_or_counted(void **state)
{
    const struct prof_span **all;
    struct prof *p;
    struct err err = {0};
    long live = mem_live();
    size_t n;
    int i;

    (void)state;
    for (i = 1; i <= 2; i++) {
        mem_fail_after(i);
        assert_int_equal(prof_new(&p, &always, 1, &err), ERR_NOMEM);
        assert_null(p);
        mem_fail_after(0);
        assert_int_equal(mem_live(), live);
    }
    p = open_prof(&always, 1);
    mem_fail_after(1);
    run_steps(p, 1);
    mem_fail_after(0);
    assert_int_equal(prof_lost(p), 5);
    run_steps(p, 1);
    assert_int_equal(prof_lost(p), 5);
    mem_fail_after(1);
    assert_int_equal(prof_spans(p, &all, &n, &err), ERR_NOMEM);
    mem_fail_after(0);
    prof_free(p);
    assert_int_equal(mem_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_is_that_of_torch),
        cmocka_unit_test(only_active_steps_are_kept_under_their_own_numbers),
        cmocka_unit_test(parents_come_first_and_enclose),
        cmocka_unit_test(nothing_is_kept_outside_of_steps),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(larger_steps_find_room_from_the_second_on),
        cmocka_unit_test(threads_keep_their_own_spans),
        cmocka_unit_test(more_threads_than_tracks_are_counted),
        cmocka_unit_test(times_are_those_of_the_wall_clock),
        cmocka_unit_test(out_of_memory_is_an_error_or_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
