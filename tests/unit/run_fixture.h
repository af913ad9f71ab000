/* A job of two stages of a kind that does as it is told, b after a, and what
 * the run tells. For one test program: everything is static. */
#ifndef TESTS_UNIT_RUN_FIXTURE_H
#define TESTS_UNIT_RUN_FIXTURE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/job.h"
#include "pipeline/stage.h"
#include "pipeline/yaml.h"

/* A stage kind that does as it is told and counts how often. */
enum behaviour { OBEY, FAIL, FAIL_ONCE, WAIT_TO_STOP, STOP_SELF, MEET, DIE };
struct with {
    int64_t value;
    const char *file;
};
static const struct pl_field fields[] = {
    {.name = "value",
     .type = PL_T_INT,
     .offset = offsetof(struct with, value),
     .def = "0"},
    {.name = "file", .type = PL_T_PATH, .offset = offsetof(struct with, file)},
};
static const struct pl_schema schema = {
    .name = "double",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .size = sizeof(struct with),
};

static enum behaviour behaviour[2];
static int runs[2];
static bool was_fresh, stop;
static int stop_after;               /* so many questions; 0: never */
static void (*meanwhile)(int stage); /* called while a stage works */

/* Waits for the other stage, which must be at work at the same time. */
static int meet(struct pl_stage_ctx *ctx, struct err *err)
{
    char mine[200], other[200];
    int tries;

    (void)snprintf(mine, sizeof mine, "%s/../%s.here", ctx->out,
                   ctx->stage->id);
    (void)snprintf(other, sizeof other, "%s/../%s.here", ctx->out,
                   ctx->stage->id[0] == 'a' ? "b" : "a");
    if (io_write_file(mine, "", 0, err) != 0)
        return err->code;
    for (tries = 0; tries < 5000 && !io_exists(other); tries++)
        (void)usleep(1000);
    return io_exists(other) ? 0 : err_set(err, ERR_IO, "nobody came");
}

static int work(struct pl_stage_ctx *ctx, struct err *err)
{
    const struct with *w = ctx->stage->with;
    int i = ctx->stage->id[0] - 'a';
    char text[32];
    int n;

    runs[i]++;
    was_fresh = ctx->fresh;
    if (behaviour[i] == FAIL || (behaviour[i] == FAIL_ONCE && runs[i] == 1))
        return err_set(err, ERR_IO, "told to fail");
    if (behaviour[i] == DIE)
        (void)kill(getpid(), SIGKILL);
    if (behaviour[i] == MEET && meet(ctx, err) != 0)
        return err->code;
    while (behaviour[i] == WAIT_TO_STOP && !pl_stopping(ctx))
        (void)usleep(1000);
    if (behaviour[i] == STOP_SELF)
        stop = true;
    if (meanwhile)
        meanwhile(i);
    if (pl_stopping(ctx))
        return err_set(err, ERR_INTERRUPTED, "stopped, saved");
    n = snprintf(text, sizeof text, "%lld\n", (long long)w->value);
    pl_metric(ctx, "value", (double)w->value);
    pl_say(ctx, "%s says %lld", ctx->stage->id, (long long)w->value);
    return pl_artifact_write(ctx, "sub/value.txt", text, (size_t)n, err);
}

static struct pl_stage_kind kind; /* set anew for each case */

/* The job: b needs a. */
static char out[64];
static struct with with[2];
static struct pl_expect expect;
static const char *const b_needs[] = {"a"};
static struct pl_stage stages[2];
static struct pl_config config;
static const struct pl_config *home;
static struct pl_opts opts;
static struct pl_job job;
static struct str told;  /* what the run told of its stages, */
static struct str lines; /* and what they said */
static struct err last_failure;

static void on_begin(void *user, const char *device, const char *recipe)
{
    (void)user;
    str_addf(&told, "[%s|%s]", device, recipe);
}

static void on_step(void *user, const struct pl_step *s)
{
    static const char *const word[] = {"fresh", "run", "may", "skip"};

    (void)user;
    str_addf(&told, "%s %s (%s);", word[s->action], s->stage, s->reason);
}

static void on_line(void *user, const char *line)
{
    (void)user;
    str_addf(&lines, "%s\n", line);
}

static void on_progress(void *user, const char *stage,
                        const struct pl_progress *p)
{
    (void)user;
    (void)stage;
    (void)p;
}

static void on_ended(void *user, const char *stage, double seconds)
{
    (void)user;
    (void)stage;
    assert_true(seconds >= 0);
}

static void on_failed(void *user, const char *stage, const struct err *err)
{
    (void)user;
    last_failure = *err;
    str_addf(&told, "failed %s;", stage);
}

static bool on_stopping(void *user)
{
    (void)user;
    if (stop_after > 0 && --stop_after == 0)
        stop = true;
    return stop;
}

static const struct pl_ui ui = {NULL,     on_begin,  on_step,
                                on_line,  on_line,   on_progress,
                                on_ended, on_failed, on_stopping};

static struct pl_node *small_root(void)
{
    static const struct pl_file file = {
        .path = "test", .text = "name: t\n", .len = 8};
    struct pl_diag d = {.arena = &config.arena};

    return pl_yaml_parse(&file, 0, &config.arena, &d);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(out, sizeof out, "/tmp/test_run-XXXXXX");
    if (!mkdtemp(out))
        return -1;
    kind = (struct pl_stage_kind){
        .name = "double", .with = &schema, .version = 1, .run = work};
    memset(with, 0, sizeof with);
    memset(runs, 0, sizeof runs);
    memset(behaviour, 0, sizeof behaviour);
    memset(&expect, 0, sizeof expect);
    memset(&opts, 0, sizeof opts);
    memset(&job, 0, sizeof job);
    stop = false;
    stop_after = 0;
    meanwhile = NULL;
    expect.metric = "value";
    expect.relation = PL_REL_GE;
    expect.bound = 1;
    expect.points = 10;
    stages[0] = (struct pl_stage){.id = "a", .kind = &kind, .with = &with[0]};
    stages[1] = (struct pl_stage){.id = "b",
                                  .kind = &kind,
                                  .with = &with[1],
                                  .needs = b_needs,
                                  .n_needs = 1,
                                  .expect = &expect,
                                  .n_expect = 1};
    config = (struct pl_config){.path = "t.yaml",
                                .name = "t",
                                .stages = stages,
                                .n_stages = 2,
                                .recipe = "value=1"};
    config.root = small_root();
    stages[0].dir = stages[0].local = stages[0].id;
    stages[1].dir = stages[1].local = stages[1].id;
    stages[0].home = stages[1].home = home = &config;
    config.homes = &home;
    config.n_homes = 1;
    opts.file = "/nonexistent/t.yaml";
    opts.out = out;
    opts.device = "cpu";
    opts.threads = 1;
    job.opts = &opts;
    job.config = &config;
    return config.root ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    arena_free(&job.arena);
    arena_free(&config.arena);
    str_free(&told);
    str_free(&lines);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", out);
    return system(command) == 0 && mem_live() == 0 ? 0 : -1;
}

/* Runs the job with the options as they are now; told starts anew. */
static int run(struct pl_result *keep)
{
    struct pl_result res;
    struct err err = {0};
    int rc;

    arena_free(&job.arena);
    assert_int_equal(pl_job_prepare(&job, &err), 0);
    str_clear(&told);
    str_clear(&lines);
    rc = pl_run(&job, &ui, &res, &err);
    if (keep)
        *keep = res;
    pl_result_free(&res);
    return rc;
}

__attribute__((unused)) static const char *at(const char *name)
{
    static char path[200];

    (void)snprintf(path, sizeof path, "%s/t/%s", out, name);
    return path;
}

__attribute__((unused)) static void assert_told(const char *want)
{
    const char *steps = strchr(told.text, ']');

    assert_non_null(steps);
    assert_string_equal(steps + 1, want);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
