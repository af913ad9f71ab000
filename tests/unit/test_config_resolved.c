#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/config_fixture.h"

static void what_stages_do(const struct pl_config *c, struct str *out)
{
    size_t i;

    for (i = 0; i < c->n_stages; i++) {
        const struct pl_stage *s = &c->stages[i];

        str_addf(out, "%s %s %zu ", s->id, s->kind->name, s->n_expect);
        pl_schema_canonical(s->kind->with, s->with, out);
        str_addc(out, '\n');
    }
    for (i = 0; i < c->n_models; i++)
        pl_schema_canonical(&pl_model_schema, &c->models[i], out);
    str_add(out, c->recipe);
}

/* The resolved file, run again with no override, means the same. */
static void check_resolved(struct fixture *f)
{
    struct str text = {0}, before = {0}, after = {0}, again = {0};

    pl_config_resolved(f->c, &text);
    what_stages_do(f->c, &before);
    write_file(f, "resolved.yaml", text.text);
    must_load(f, "resolved.yaml", NULL);
    what_stages_do(f->c, &after);
    pl_config_resolved(f->c, &again);
    assert_string_equal(before.text, after.text);
    assert_string_equal(text.text, again.text);
    str_free(&text);
    str_free(&before);
    str_free(&after);
    str_free(&again);
}

static void the_resolved_file_means_the_same(void **state)
{
    struct fixture *f = *state;

    must_load_path(f, "configs/q2.yaml",
                   (const char *const[]){"lr=0.000001", "hidden_dim=64", NULL});
    check_resolved(f);
    assert_true(train(f)->lr == 1e-6);
    must_load_path(f, "configs/q1.yaml", NULL);
    check_resolved(f);
    must_load_path(f, "configs/blobs.yaml", NULL);
    check_resolved(f);
}

static void the_resolved_file_keeps_odd_texts(void **state)
{
    struct fixture *f = *state;
    const struct pl_stage *s;

    assert_int_equal(setenv("PIPELINE_TEST_SECRET", "hunter2", 1), 0);
    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml",
               "version: 1\nname: b\nextends: a.yaml\n"
               "vars: {s: \"${env.PIPELINE_TEST_SECRET}\", n: 'null', t: '5',"
               " u: '', v: \"- #: {\\\"\\\\\\t\\n\", w: \"$${x}\"}\n"
               "stages:\n  train:\n    expect:\n"
               "      - metric: test.loss\n        gt: 1\n"
               "        why: \"${vars.v}${vars.w}${vars.n}${vars.s}\"\n");
    must_load(f, "b.yaml", NULL);
    check_resolved(f);
    s = pl_config_stage(f->c, "train");
    assert_string_equal(s->expect[0].why, "- #: {\"\\\t\n${x}nullhunter2");
    str_clear(&f->out);
    pl_config_resolved(f->c, &f->out);
    assert_null(strstr(f->out.text, "hunter2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_resolved_file_means_the_same),
        TEST(the_resolved_file_keeps_odd_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
