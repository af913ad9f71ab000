/* Hostile files and why they are refused are in tests/bad/untrusted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/untrusted.h"
#include "tests/unit/config_fixture.h"

static int load(struct fixture *f, const char *name, const char *out)
{
    const struct pl_config_opts opts = {.untrusted = true, .out = out};
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", f->dir, name);
    pl_config_free(f->c);
    f->d.n = f->d.errors = 0;
    return pl_config_load(&f->c, path, &opts, &f->d, NULL);
}

static void a_harmless_file_is_taken_and_gets_a_time(void **state)
{
    struct fixture *f = *state;
    size_t i;

    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml",
               "version: 1\nname: b\nextends: a.yaml\n"
               "stages:\n"
               "  train: {retries: 50, timeout: 2d}\n"
               "  more: {uses: train, timeout: 5s, with: {dataset: blobs,\n"
               "    model: mlp, init_from: \"${stages.train.dir}/x\"}}\n");
    assert_int_equal(load(f, "b.yaml", "/nonexistent/out"), 0);
    assert_true(f->c->untrusted);
    for (i = 0; i < f->c->n_stages; i++) {
        const struct pl_stage *s = &f->c->stages[i];

        assert_true(s->timeout > 0 && s->timeout <= PL_UNTRUSTED_SECONDS);
        assert_true(s->retries <= PL_UNTRUSTED_RETRIES);
    }
    assert_true(pl_config_stage(f->c, "more")->timeout == 5);
}

/* Neither a cache nor results that are not there yet open what is above. */
static void folders_that_are_not_there_open_nothing(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml",
               "version: 1\nname: b\nextends: a.yaml\n"
               "stages: {train: {with: {init_from: /etc/hostname}}}\n");
    assert_int_equal(setenv("PIPELINE_CACHE", "/nonexistent/cache", 1), 0);
    assert_int_equal(load(f, "b.yaml", "/nonexistent/out"), ERR_CONFIG);
    assert_int_equal(setenv("PIPELINE_CACHE", "/etc", 1), 0);
    assert_int_equal(load(f, "b.yaml", "/nonexistent/out"), 0);
    assert_int_equal(unsetenv("PIPELINE_CACHE"), 0);
}

static void internal_hosts_are_known(void **state)
{
    static const char *const internal[] = {
        "localhost", "LOCALHOST.", "127.0.0.1",   "0x7f.1",      "[::1]",
        "printer",   "a.local",    "db.internal", "x.localhost", "10.0.0.1.",
        "",          "a%2eb",      "2130706433",  "nas.lan."};
    static const char *const public[] = {"example.org", "a.b-c.example",
                                         "s3.amazonaws.com", "example.org."};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof internal / sizeof *internal; i++)
        assert_true(pl_internal_host(internal[i], strlen(internal[i])));
    for (i = 0; i < sizeof public / sizeof *public; i++)
        assert_false(pl_internal_host(public[i], strlen(public[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_harmless_file_is_taken_and_gets_a_time),
        TEST(folders_that_are_not_there_open_nothing),
        TEST(internal_hosts_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
