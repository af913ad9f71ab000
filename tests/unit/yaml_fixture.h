/* Parsing YAML from texts, for tests. */
#ifndef TESTS_UNIT_YAML_FIXTURE_H
#define TESTS_UNIT_YAML_FIXTURE_H

#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/yaml.h"

struct fixture {
    struct arena arena;
    struct pl_diag d;
    struct pl_file file;
    struct str out;
};

static inline int setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);

    if (!f)
        return -1;
    f->d.arena = &f->arena;
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    arena_free(&f->arena);
    str_free(&f->out);
    mem_free(f);
    return mem_live() == 0 ? 0 : -1;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
