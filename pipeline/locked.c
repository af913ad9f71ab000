/* --locked: nothing may differ from what pipeline.lock.json says. Compared is
 * what results hang on, not where files lie. */
#include "pipeline/locked.h"

#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/expect.h"
#include "pipeline/json_file.h"
#include "pipeline/run.h"

static json_t *inputs_value(const struct pl_stage *s, struct arena *arena)
{
    struct pl_inputs in = {.arena = arena};
    struct err none = {0};
    json_t *o = json_object();
    size_t i;

    if (pl_inputs_collect(&in, s->home, s, &none) != 0) {
        json_decref(o);
        return NULL;
    }
    for (i = 0; i < in.n; i++) {
        json_t *text = json_string(in.item[i].value);

        (void)json_object_set_new(o, in.item[i].key,
                                  text ? text : json_string("(not UTF-8)"));
    }
    return o;
}

static json_t *expectations_value(const struct pl_stage *s)
{
    json_t *list = json_array();
    size_t i;

    for (i = 0; i < s->n_expect; i++) {
        struct str text = {0};

        pl_expect_text(&text, &s->expect[i]);
        if (s->expect[i].requires_device)
            str_addf(&text, ", on %s", s->expect[i].requires_device);
        str_add(&text, ": ");
        str_add_double(&text, s->expect[i].points);
        str_add(&text, " points");
        if (json_array_append_new(list, text.failed ? NULL
                                                    : json_string(text.text))) {
            json_decref(list);
            list = NULL;
        }
        str_free(&text);
    }
    return list;
}

bool pl_locked_describe(json_t *v, const struct pl_stage *s,
                        struct arena *arena)
{
    return json_object_set_new(v, "inputs", inputs_value(s, arena)) == 0 &&
           json_object_set_new(v, "expectations", expectations_value(s)) == 0;
}

static int differs(const char *id, const char *what, const char *was,
                   const char *now, struct err *err)
{
    return err_set(err, ERR_CORRUPT,
                   "--locked: stage '%.64s': %.200s is '%.160s', and the lock "
                   "file says '%.160s'",
                   id, what, now ? now : "not there", was ? was : "not there");
}

/* The first key whose text differs, of two objects. */
static int compare_texts(const char *id, const json_t *was, const json_t *now,
                         struct err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)now, key, value)
    {
        const char *old = pl_json_text(was, key, NULL);

        if (!old || strcmp(old, json_string_value(value)) != 0)
            return differs(id, key, old, json_string_value(value), err);
    }
    json_object_foreach((json_t *)was, key, value)
    {
        if (!json_object_get(now, key))
            return differs(id, key, json_string_value(value), NULL, err);
    }
    return 0;
}

static int compare_expectations(const char *id, const json_t *was,
                                const json_t *now, struct err *err)
{
    size_t i, n = json_array_size(was);

    if (json_array_size(now) > n)
        n = json_array_size(now);
    for (i = 0; i < n; i++) {
        const json_t *a = json_array_get(was, i), *b = json_array_get(now, i);

        if (!a || !b || !json_equal(a, b))
            return differs(id, "an expectation", json_string_value(a),
                           json_string_value(b), err);
    }
    return 0;
}

static int compare_stage(const struct pl_stage *s, const json_t *locked,
                         struct err *err)
{
    struct arena arena = {0};
    json_t *now = json_object();
    int rc;

    if (!pl_locked_describe(now, s, &arena))
        rc = err_set(err, ERR_NOMEM, "out of memory comparing stage '%s'",
                     s->id);
    else if (!locked)
        rc = err_set(err, ERR_CORRUPT,
                     "--locked: the lock file has no stage '%s'", s->id);
    else
        rc = compare_texts(s->id, json_object_get(locked, "inputs"),
                           json_object_get(now, "inputs"), err);
    if (rc == 0)
        rc =
            compare_expectations(s->id, json_object_get(locked, "expectations"),
                                 json_object_get(now, "expectations"), err);
    json_decref(now);
    arena_free(&arena);
    return rc;
}

static int compare_config(const struct pl_run *run, struct err *err)
{
    const struct pl_config *c = run->job->config;
    const json_t *stages = json_object_get(run->locked, "stages");
    const char *id;
    json_t *value;
    size_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < c->n_stages; i++)
        rc = compare_stage(&c->stages[i],
                           json_object_get(stages, c->stages[i].id), err);
    if (rc != 0)
        return rc;
    json_object_foreach((json_t *)stages, id, value)
    {
        if (!pl_config_stage(c, id))
            return err_set(err, ERR_CORRUPT,
                           "--locked: the lock file has a stage '%.64s', and "
                           "the config has none",
                           id);
    }
    return 0;
}

int pl_locked_open(struct pl_run *run, struct err *err)
{
    const char *file = run->job->opts->lock_to;
    char *path =
        file ? mem_strdup(file) : io_join(run->job->dir, "pipeline.lock.json");
    int rc;

    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory for the lock file");
    if (!io_exists(path))
        rc = err_set(err, ERR_CORRUPT,
                     "--locked: there is no '%s'; a run without --locked "
                     "writes it",
                     path);
    else
        rc = pl_json_read(&run->locked, path, err);
    mem_free(path);
    return rc != 0 ? rc : compare_config(run, err);
}

int pl_locked_outputs(const struct pl_run *run, size_t i, struct err *err)
{
    const struct pl_stage *s = &run->job->config->stages[i];
    const json_t *was = json_object_get(
        json_object_get(json_object_get(run->locked, "stages"), s->id),
        "outputs");
    struct arena arena = {0};
    struct pl_record r;
    const char *is;
    char *dir;
    json_t *now;
    int rc;

    /* A stage that the lock file saw undone has no outputs to be held to. */
    if (!run->locked || !was || s->kind->measures)
        return 0;
    dir = pl_job_stage_dir(run->job, s);
    if (!dir || !pl_record_read(&r, dir, PL_WHOLE_FILE, &arena, &is))
        rc =
            err_set(err, ERR_IO, "cannot read the record of stage '%s'", s->id);
    else {
        now = pl_outputs_value(&r);
        rc = compare_texts(s->id, was, now, err);
        json_decref(now);
    }
    mem_free(dir);
    arena_free(&arena);
    return rc;
}

void pl_locked_close(struct pl_run *run)
{
    json_decref(run->locked);
    run->locked = NULL;
}
