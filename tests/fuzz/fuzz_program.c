/* Programs of the autograd stage: parsed, checked, run, derived and drawn.
 * They are given a vector x and a matrix W. */
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/prog_check.h"
#include "pipeline/prog_diff.h"
#include "pipeline/prog_graph.h"
#include "pipeline/prog_report.h"
#include "tests/fuzz/fuzz_file.h"

enum { RUN_MAX = 2000 }; /* bytes: longer ones are only parsed */

static double x[] = {0.5, -1.0}, W[] = {1.0, 2.0, 3.0, 4.0};
static struct prog_tensor given[] = {
    {"x", {1, {2}}, NN_F64, true, x},
    {"W", {2, {2, 2}}, NN_F64, true, W},
};

static void report(struct prog_program *p, struct prog_run *r)
{
    struct prog_diff diff = {.not_made = "not asked for"};
    struct err err = {0};
    struct str s = {0};

    (void)prog_derivation_md(&s, "fuzz", r, &diff, &err);
    (void)prog_graph_svg(&s, "fuzz", r, &err);
    (void)prog_values_csv(&s, r, &err);
    (void)prog_diff_check(&diff, p, r, 1e-6, NULL, NULL, &err);
    str_free(&s);
}

static void run(struct prog_program *p, struct arena *arena)
{
    struct prog_frozen frozen = {0};
    struct nn_backend *be;
    struct err err = {0};
    struct prog_run r;
    size_t i;
    int rc = nn_cpu_open(&be, 1, NULL, &err);

    if (rc != 0)
        return;
    rc = prog_run_begin(&r, be, &p->source, arena, &err);
    r.frozen = &frozen;
    for (i = 0; rc == 0 && i < p->n_tensors; i++)
        rc = prog_run_give(&r, &p->tensors[i], &err);
    if (rc == 0)
        rc = prog_run_stmts(&r, p->stmts, &err);
    if (rc == 0)
        report(p, &r);
    prog_run_end(&r);
    mem_free(frozen.data);
    nn_backend_close(be);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct pl_diag d = {.arena = &arena};
    struct prog_program p = {.tensors = given, .n_tensors = 2};
    char *text = arena_strndup(&arena, (const char *)data, size);

    if (text) {
        prog_source_text(&p.source, text);
        p.stmts = prog_parse(&p.source, &arena, &d);
        if (p.stmts)
            prog_check(&p, &d);
        if (p.stmts && d.errors == 0 && size <= RUN_MAX)
            run(&p, &arena);
    }
    arena_free(&arena);
    return 0;
}
