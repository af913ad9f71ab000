/* A folder for config files, and loading them, for tests. */
#ifndef TESTS_UNIT_CONFIG_FIXTURE_H
#define TESTS_UNIT_CONFIG_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/config.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"

struct fixture {
    char dir[64];
    struct arena arena;
    struct pl_diag d;
    struct pl_config *c;
    struct str out;
};

static inline int setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);

    if (!f)
        return -1;
    f->d.arena = &f->arena;
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/test_config-XXXXXX");
    *state = f;
    return mkdtemp(f->dir) ? 0 : -1;
}

static inline void remove_file(const struct fixture *f, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", f->dir, name);
    (void)unlink(path);
}

static inline int teardown(void **state)
{
    static const char *const names[] = {"a.yaml", "b.yaml", "c.yaml",
                                        "resolved.yaml", "sub/d.yaml"};
    struct fixture *f = *state;
    char sub[128];
    size_t i;

    for (i = 0; i < sizeof names / sizeof *names; i++)
        remove_file(f, names[i]);
    (void)snprintf(sub, sizeof sub, "%s/sub", f->dir);
    (void)rmdir(sub);
    if (rmdir(f->dir) != 0)
        return -1;
    pl_config_free(f->c);
    arena_free(&f->arena);
    str_free(&f->out);
    mem_free(f);
    return mem_live() == 0 ? 0 : -1;
}

static inline void write_file(const struct fixture *f, const char *name,
                              const char *text)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", f->dir, name);
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
}

enum { MAX_OVERRIDES = 4 };

/* Loads path with up to MAX_OVERRIDES overrides, the rest NULL. */
static inline int load_path(struct fixture *f, const char *path,
                            const char *const *o)
{
    struct pl_config_opts opts = {.overrides = o};

    pl_config_free(f->c);
    f->d.n = f->d.errors = 0;
    while (o && opts.n_overrides < MAX_OVERRIDES && o[opts.n_overrides])
        opts.n_overrides++;
    return pl_config_load(&f->c, path, &opts, &f->d, NULL);
}

static inline void must_load_path(struct fixture *f, const char *path,
                                  const char *const *o)
{
    int rc = load_path(f, path, o);

    if (rc == 0)
        return;
    str_clear(&f->out);
    pl_diag_print(&f->d, &f->out, false);
    fail_msg("%s: %d\n%s", path, rc, f->out.text ? f->out.text : "");
}

static inline void must_load(struct fixture *f, const char *name,
                             const char *const *o)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", f->dir, name);
    must_load_path(f, path, o);
}

static inline const struct pl_train_with *train(struct fixture *f)
{
    return pl_config_stage(f->c, "train")->with;
}

static const char base[] =
    "version: 1\n"
    "name: a\n"
    "vars: {lr: 1e-3, epochs: 5, optim_method: adam}\n"
    "datasets: {blobs: {type: synthetic}}\n"
    "models:\n"
    "  mlp: {layers: [{type: linear, out: 8}, relu, {type: linear, out: 2}]}\n"
    "defaults: {lr: \"${vars.lr}\", epochs: \"${vars.epochs}\",\n"
    "           optimizer: \"${vars.optim_method}\", batch_size: 32}\n"
    "stages:\n"
    "  train: {uses: train, with: {dataset: blobs, model: mlp}}\n";

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
