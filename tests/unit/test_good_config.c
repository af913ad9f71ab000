/* Every tests/good/NAME.yaml means what NAME.out says: its stages in order with
 * their folders, needs, settings and expectations. And what is resolved, read
 * again, means the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>

#include "pipeline/expect.h"
#include "tests/unit/config_fixture.h"

static const char folder[] = "tests/good";

enum { AT_LEAST = 15 };

/* text with every place of the folder that tests run in as ".". */
static void add_relative(struct str *out, const char *text)
{
    char cwd[4096];
    size_t len = getcwd(cwd, sizeof cwd) ? strlen(cwd) : 0;
    const char *at;

    assert_true(len > 1);
    while ((at = strstr(text, cwd))) {
        str_addn(out, text, (size_t)(at - text));
        str_addc(out, '.');
        text = at + len;
    }
    str_add(out, text);
}

/* Of the settings those that the file gives: a table may grow. */
static void add_settings(struct str *out, const struct pl_stage *s)
{
    struct pl_schema given = *s->kind->with;
    struct pl_field field[PL_MAX_FIELDS];
    struct str with = {0};
    size_t i;

    given.fields = field;
    given.n_fields = 0;
    for (i = 0; i < s->kind->with->n_fields; i++)
        if (pl_node_get(s->node, s->kind->with->fields[i].name))
            field[given.n_fields++] = s->kind->with->fields[i];
    pl_schema_canonical(&given, s->with, &with);
    add_relative(out, with.text);
    str_free(&with);
}

static void add_stage(struct str *out, const struct pl_stage *s)
{
    size_t i;

    str_addf(out, "%s: %s in %s/%s", s->id, s->kind->name, s->home->name,
             s->dir);
    for (i = 0; i < s->n_needs; i++)
        str_addf(out, "%s%s", i ? ", " : ", needs ", s->needs[i]);
    if (s->timeout > 0)
        str_addf(out, ", timeout %g s", s->timeout);
    if (s->retries > 0)
        str_addf(out, ", retries %d", (int)s->retries);
    str_add(out, "\n  ");
    add_settings(out, s);
    str_addc(out, '\n');
    for (i = 0; i < s->n_expect; i++) {
        str_add(out, "  expect ");
        pl_expect_text(out, &s->expect[i]);
        str_addf(out, ", %g points, %s", s->expect[i].points,
                 s->expect[i].visibility);
        if (s->expect[i].requires_device)
            str_addf(out, ", on %s", s->expect[i].requires_device);
        if (s->expect[i].why)
            str_addf(out, ": %s", s->expect[i].why);
        str_addc(out, '\n');
    }
}

static void describe(struct str *out, const struct pl_config *c)
{
    size_t i;

    str_clear(out);
    for (i = 0; i < c->n_stages; i++)
        add_stage(out, &c->stages[i]);
    str_addf(out, "recipe: %s\n", c->recipe);
}

/* What the resolved file means. */
static void describe_again(struct fixture *f, struct str *out)
{
    struct str text = {0};

    pl_config_resolved(f->c, &text);
    assert_false(text.failed);
    write_file(f, "resolved.yaml", text.text);
    str_free(&text);
    must_load(f, "resolved.yaml", NULL);
    describe(out, f->c);
}

static bool check(struct fixture *f, const char *name)
{
    struct str got = {0}, again = {0};
    char path[512], *want = NULL;
    size_t len;
    bool same;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    must_load_path(f, path, NULL);
    describe(&got, f->c);
    describe_again(f, &again);
    (void)snprintf(path, sizeof path, "%s/%.*s.out", folder,
                   (int)(strlen(name) - strlen(".yaml")), name);
    same = io_read_file(&want, &len, path, 1 << 20, NULL) == 0 &&
           strcmp(got.text, want) == 0 && strcmp(again.text, want) == 0;
    if (!same)
        print_error("%s\n--- wanted\n%s--- got\n%s--- resolved\n%s\n", name,
                    want ? want : "", got.text, again.text);
    mem_free(want);
    str_free(&got);
    str_free(&again);
    return same;
}

static void every_good_config_means_what_it_should(void **state)
{
    struct fixture *f = *state;
    DIR *dir = opendir(folder);
    struct dirent *e;
    int n = 0, wrong = 0;

    assert_non_null(dir);
    while ((e = readdir(dir))) {
        const char *dot = strrchr(e->d_name, '.');

        if (!dot || strcmp(dot, ".yaml") != 0)
            continue;
        n++;
        wrong += !check(f, e->d_name);
    }
    (void)closedir(dir);
    assert_int_equal(wrong, 0);
    assert_true(n >= AT_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_good_config_means_what_it_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
