/* Profiles made up by hand, for what compares them. */
#ifndef TESTS_UNIT_COMPARE_FIXTURE_H
#define TESTS_UNIT_COMPARE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/compare.h"
#include "pipeline/config.h"

enum { MOST_CELLS = 3 };

struct made {
    char dir[64];
    char sub[MOST_CELLS][80];
    struct pl_config home;
    struct pl_stage stage[MOST_CELLS];
    struct pl_compare_cell cell[MOST_CELLS];
    struct pl_compare_cells cells;
    struct arena arena;
};

static inline void put(const struct made *m, size_t cell, const char *name,
                       const char *text)
{
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", m->sub[cell], name);
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
}

/* What a profile of that batch says besides its kernels. */
static inline void put_facts(const struct made *m, size_t cell, int batch,
                             const char *device, const char *metrics)
{
    char text[600];

    (void)snprintf(text, sizeof text,
                   "step,what,batch_size,optimizer,execution,data,fusion,"
                   "numerics,device\n"
                   ",all timed,%d,adam,eager,host_pageable,none,fast,\"%s\"\n",
                   batch, device);
    put(m, cell, "step_times.csv", text);
    (void)snprintf(text, sizeof text,
                   "{\n  \"traced.steps\": 5,\n  \"step_ms.median\": 0.5%s\n}"
                   "\n",
                   metrics);
    put(m, cell, "metrics.json", text);
}

/* n cells, step@batch_size=32 and so on, each with an empty folder. */
static inline void make_cells(struct made *m, size_t n)
{
    static const char *const labels[] = {"batch_size=32", "batch_size=1024",
                                         "batch_size=2048"};
    size_t i;

    memset(m, 0, sizeof *m);
    (void)snprintf(m->dir, sizeof m->dir, "/tmp/test_compare-XXXXXX");
    assert_non_null(mkdtemp(m->dir));
    for (i = 0; i < n; i++) {
        (void)snprintf(m->sub[i], sizeof m->sub[i], "%s/%zu", m->dir, i);
        assert_int_equal(io_mkdirs(m->sub[i], NULL), 0);
        m->stage[i] = (struct pl_stage){.id = labels[i],
                                        .dir = i ? "step/b1" : "step/b0",
                                        .group = "step",
                                        .home = &m->home};
        m->cell[i] = (struct pl_compare_cell){.stage = &m->stage[i],
                                              .id = labels[i],
                                              .dir = m->sub[i],
                                              .label = labels[i]};
    }
    m->cells =
        (struct pl_compare_cells){.cell = m->cell, .n = n, .arena = &m->arena};
}

static inline void remove_cells(struct made *m)
{
    char command[96];

    arena_free(&m->arena);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", m->dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(mem_live(), 0);
}

#endif
