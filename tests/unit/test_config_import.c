#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/inputs.h"
#include "tests/unit/config_fixture.h"

static const char importing[] =
    "version: 1\nname: b\nimports: {q: a.yaml}\n"
    "stages:\n"
    "  e: {uses: evaluate, with: {from: q/train}}\n";

static void fingerprint(char hex[65], const struct pl_config *c, const char *id)
{
    const struct pl_stage *s = pl_config_stage(c, id);
    struct arena arena = {0};
    struct pl_inputs in = {.arena = &arena};

    assert_non_null(s);
    assert_int_equal(pl_inputs_collect(&in, s->home, s, NULL), 0);
    assert_int_equal(pl_inputs_hash(hex, &in, NULL), 0);
    arena_free(&arena);
}

static void an_imported_stage_has_its_own_files_inputs(void **state)
{
    struct fixture *f = *state;
    char alone[65], imported[65];

    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml", importing);
    must_load(f, "a.yaml", NULL);
    fingerprint(alone, f->c, "train");
    must_load(f, "b.yaml", NULL);
    fingerprint(imported, f->c, "q/train");
    assert_string_equal(alone, imported);
    assert_int_equal(f->c->n_homes, 2);
    assert_string_equal(f->c->homes[1]->name, "a");
    assert_string_equal(f->c->stages[0].id, "q/train");
    assert_string_equal(f->c->stages[0].local, "train");
}

/* Data sets, models and vars of two files may have the same names. */
static void names_do_not_clash(void **state)
{
    struct fixture *f = *state;
    const struct pl_stage *mine, *theirs;

    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml",
               "version: 1\nname: b\nextends: a.yaml\n"
               "imports: {train: a.yaml}\n"
               "vars: {epochs: 9}\n"
               "datasets: {blobs: {n_train: 77}}\n");
    must_load(f, "b.yaml", NULL);
    mine = pl_config_stage(f->c, "train");
    theirs = pl_config_stage(f->c, "train/train");
    assert_int_equal(((const struct pl_train_with *)mine->with)->epochs, 9);
    assert_int_equal(((const struct pl_train_with *)theirs->with)->epochs, 5);
    assert_int_equal(pl_config_dataset(mine->home, "blobs")->n_train, 77);
    assert_int_equal(pl_config_dataset(theirs->home, "blobs")->n_train, 1000);
    assert_string_equal(pl_config_id(f->c, theirs), "train/train");
    assert_string_equal(pl_config_id(theirs->home, theirs), "train");
    assert_null(pl_config_id(theirs->home, mine));
}

/* Downloads of the file that trained are needed by who evaluates. */
static void downloads_of_an_import_are_needed(void **state)
{
    struct fixture *f = *state;
    const struct pl_stage *s;

    write_file(f, "a.yaml",
               "version: 1\nname: a\n"
               "datasets: {d: {type: csv, target: y, mirrors: m,\n"
               "  files: {train: t.csv, test: u.csv}}}\n"
               "models: {m: {layers: [{type: linear, out: 2}]}}\n"
               "stages:\n"
               "  train: {uses: train, with: {dataset: d, model: m, lr: 1,\n"
               "    batch_size: 2, epochs: 1, optimizer: sgd}}\n");
    write_file(f, "b.yaml", importing);
    must_load(f, "b.yaml", NULL);
    s = pl_config_stage(f->c, "e");
    assert_int_equal(s->n_needs, 2);
    assert_string_equal(s->needs[0], "q/train");
    assert_string_equal(s->needs[1], "q/fetch-d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_imported_stage_has_its_own_files_inputs),
        TEST(names_do_not_clash),
        TEST(downloads_of_an_import_are_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
