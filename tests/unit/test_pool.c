#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "nn/base/pool.h"

struct marks {
    _Atomic int *hit;
    int64_t n, grain;
    _Atomic int bad;
    _Atomic int calls;
};

static void mark(void *arg, int64_t begin, int64_t end)
{
    struct marks *m = arg;

    atomic_fetch_add(&m->calls, 1);
    if (begin % m->grain != 0 || begin >= end || end > m->n)
        atomic_fetch_add(&m->bad, 1);
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&m->hit[i], 1);
}

static void check_cover(struct pool *p, int64_t n, int64_t grain)
{
    struct marks m = {.n = n, .grain = grain};

    m.hit = calloc((size_t)n + 1, sizeof *m.hit);
    assert_non_null(m.hit);
    pool_for(p, n, grain, mark, &m);
    assert_int_equal(m.bad, 0);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(m.hit[i], 1);
    free(m.hit);
}

static void ranges_cover_every_index_once(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 64, 65, 1000, 4097};
    static const int threads[] = {1, 2, 3, 7, 16};

    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct pool *p;

        assert_int_equal(pool_new(&p, threads[t], NULL), 0);
        assert_int_equal(pool_threads(p), threads[t]);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            check_cover(p, sizes[i], 1);
            check_cover(p, sizes[i], 8);
            check_cover(p, sizes[i], 5000);
        }
        pool_free(p);
    }
}

static void an_empty_range_calls_nothing(void **state)
{
    struct marks m = {.grain = 1};
    struct pool *p;

    (void)state;
    assert_int_equal(pool_new(&p, 2, NULL), 0);
    pool_for(p, 0, 1, mark, &m);
    assert_int_equal(m.calls, 0);
    pool_free(p);
}

/* Many short jobs, some while the workers sleep: none is lost or run twice. */
static void thousands_of_jobs_all_complete(void **state)
{
    _Atomic int hit[64];
    struct marks m = {.hit = hit, .n = 64, .grain = 1};
    struct pool *p;
    int jobs = 5000;

    (void)state;
    for (int i = 0; i < 64; i++)
        hit[i] = 0;
    assert_int_equal(pool_new(&p, 5, NULL), 0);
    for (int j = 0; j < jobs; j++) {
        pool_for(p, 64, 1, mark, &m);
        if (j % 500 == 0)
            usleep(2000);
    }
    for (int i = 0; i < 64; i++)
        assert_int_equal(hit[i], jobs);
    pool_free(p);
}

struct slow {
    _Atomic int slept;
    _Atomic int done;
};

/* The first piece to be claimed sleeps; the others go on meanwhile. */
static void sleep_once(void *arg, int64_t begin, int64_t end)
{
    struct slow *s = arg;

    if (atomic_fetch_add(&s->slept, 1) == 0) {
        for (int i = 0; i < 500 && atomic_load(&s->done) < 30; i++)
            usleep(1000);
        if (atomic_load(&s->done) >= 30)
            atomic_store(&s->slept, 1000);
    }
    atomic_fetch_add(&s->done, (int)(end - begin));
}

static void a_stalled_thread_holds_up_one_piece_only(void **state)
{
    struct slow s = {0};
    struct pool *p;

    (void)state;
    assert_int_equal(pool_new(&p, 2, NULL), 0);
    pool_for(p, 32, 1, sleep_once, &s);
    assert_int_equal(s.done, 32);
    assert_true(s.slept >= 1000); /* its piece of 2 was the last to end */
    pool_free(p);
}

static void a_pool_of_no_threads_is_an_error(void **state)
{
    struct err err = {0};
    struct pool *p;

    (void)state;
    assert_int_equal(pool_new(&p, 0, &err), ERR_CONFIG);
    assert_null(p);
    assert_string_equal(err.msg, "a pool takes 1 to 1024 threads, not 0");
}

static void out_of_memory_leaves_nothing_behind(void **state)
{
    struct pool *p;
    long before = mem_live();
    int rc = ERR_NOMEM;

    (void)state;
    for (long n = 1; rc != 0; n++) {
        struct err err = {0};

        mem_fail_after(n);
        rc = pool_new(&p, 3, &err);
        mem_fail_after(0);
        if (rc != 0) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_null(p);
            assert_int_equal(mem_live(), before);
        }
    }
    pool_free(p);
    assert_int_equal(mem_live(), before);
}

static void there_is_at_least_one_core(void **state)
{
    (void)state;
    assert_true(pool_cores() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_cover_every_index_once),
        cmocka_unit_test(an_empty_range_calls_nothing),
        cmocka_unit_test(thousands_of_jobs_all_complete),
        cmocka_unit_test(a_stalled_thread_holds_up_one_piece_only),
        cmocka_unit_test(a_pool_of_no_threads_is_an_error),
        cmocka_unit_test(out_of_memory_leaves_nothing_behind),
        cmocka_unit_test(there_is_at_least_one_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
