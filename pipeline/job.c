#include "pipeline/job.h"

#include <fnmatch.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/device_settings.h"
#include "pipeline/fetch.h"
#include "pipeline/stage.h"

size_t pl_job_index(const struct pl_config *c, const char *id)
{
    size_t i;

    for (i = 0; i < c->n_stages; i++)
        if (strcmp(c->stages[i].id, id) == 0)
            break;
    return i;
}

char *pl_job_home(const struct pl_job *job, const struct pl_config *home)
{
    return io_join(job->out, home->name);
}

char *pl_job_stage_dir(const struct pl_job *job, const struct pl_stage *s)
{
    char *home = pl_job_home(job, s->home);
    char *dir = home ? io_join(home, s->dir) : NULL;

    mem_free(home);
    return dir;
}

static int no_such_stage(const struct pl_config *c, const char *option,
                         const char *pattern, struct err *err)
{
    const char **ids = mem_array(c->n_stages + 1, sizeof *ids);
    const char *near = NULL;
    size_t i;

    for (i = 0; ids && i < c->n_stages; i++)
        ids[i] = c->stages[i].id;
    if (ids)
        near = pl_nearest(pattern, ids, c->n_stages);
    mem_free(ids);
    return err_set(err, ERR_CONFIG, "%s: there is no stage '%s'%s%s%s", option,
                   pattern, near ? "; did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
}

/* Marks the stages whose ids match one of the patterns. */
static int mark(bool *marks, const struct pl_config *c, const char *option,
                const struct pl_texts *patterns, struct err *err)
{
    size_t i, k;

    for (k = 0; k < patterns->n; k++) {
        bool any = false;

        for (i = 0; i < c->n_stages; i++) {
            if (fnmatch(patterns->item[k], c->stages[i].id, 0) == 0)
                marks[i] = any = true;
        }
        if (!any)
            return no_such_stage(c, option, patterns->item[k], err);
    }
    return 0;
}

static bool needs_marked(const struct pl_config *c, const struct pl_stage *s,
                         const bool *marks)
{
    size_t i;

    for (i = 0; i < s->n_needs; i++) {
        size_t k = pl_job_index(c, s->needs[i]);

        if (k < c->n_stages && marks[k])
            return true;
    }
    return false;
}

/* Stages stand behind what they need: one pass forward marks all that builds
 * on a mark, one pass backward all that a mark needs. */
static void mark_dependants(bool *marks, const struct pl_config *c)
{
    size_t i;

    for (i = 0; i < c->n_stages; i++)
        if (needs_marked(c, &c->stages[i], marks))
            marks[i] = true;
}

static void mark_needs(bool *marks, const struct pl_config *c)
{
    size_t i, k;

    for (i = c->n_stages; i-- > 0;) {
        for (k = 0; marks[i] && k < c->stages[i].n_needs; k++) {
            size_t need = pl_job_index(c, c->stages[i].needs[k]);

            if (need < c->n_stages)
                marks[need] = true;
        }
    }
}

static int select_stages(struct pl_job *job, struct err *err)
{
    const struct pl_config *c = job->config;
    const struct pl_opts *o = job->opts;
    size_t i;
    int rc;

    rc = mark(job->selected, c, "--from", &o->from, err);
    if (rc != 0)
        return rc;
    mark_dependants(job->selected, c);
    rc = mark(job->selected, c, "--only", &o->only, err);
    if (rc != 0)
        return rc;
    for (i = 0; i < c->n_stages; i++) {
        if (o->only.n + o->from.n == 0)
            job->selected[i] = true;
        if (o->kind && strcmp(c->stages[i].kind->name, o->kind) != 0)
            job->selected[i] = false;
    }
    mark_needs(job->selected, c);
    for (i = 0; i < c->n_stages; i++)
        job->forced[i] = o->force_all;
    return mark(job->forced, c, "--force", &o->force, err);
}

int pl_job_prepare(struct pl_job *job, struct err *err)
{
    const struct pl_config *c = job->config;
    const char *out = job->opts->out ? job->opts->out : "out";
    size_t len = strlen(out);

    while (len > 1 && out[len - 1] == '/')
        len--;
    job->out = arena_strndup(&job->arena, out, len);
    if (job->out)
        job->dir = arena_printf(&job->arena, "%s%s%s", job->out,
                                out[len - 1] == '/' ? "" : "/", c->name);
    job->selected = arena_array(&job->arena, c->n_stages + 1, sizeof(bool));
    job->forced = arena_array(&job->arena, c->n_stages + 1, sizeof(bool));
    if (!job->dir || !job->selected || !job->forced)
        return err_set(err, ERR_NOMEM, "out of memory opening '%s'",
                       job->opts->file);
    return select_stages(job, err);
}

static int load_config(struct pl_job *job, struct err *err)
{
    const struct pl_opts *o = job->opts;
    const struct pl_config_opts opts = {.overrides = o->overrides.item,
                                        .n_overrides = o->overrides.n,
                                        .out = o->out,
                                        .numerics = o->numerics,
                                        .untrusted = o->untrusted};

    return pl_config_load(&job->config, o->file, &opts, &job->diag, err);
}

static int check_numerics(const char *name, struct err *err)
{
    size_t i;

    for (i = 0; name && pl_numerics[i]; i++)
        if (strcmp(name, pl_numerics[i]) == 0)
            return 0;
    return name ? err_set(err, ERR_CONFIG,
                          "--numerics takes fast, strict or tf32, not '%s'",
                          name)
                : 0;
}

int pl_job_open(struct pl_job **out, const struct pl_opts *opts,
                struct err *err)
{
    struct pl_job *job = mem_zalloc(sizeof *job);
    int rc;

    *out = NULL;
    if (!job)
        return err_set(err, ERR_NOMEM, "out of memory opening '%s'",
                       opts->file);
    job->opts = opts;
    job->diag.arena = &job->arena;
    if (opts->out && opts->out[0] == '\0')
        rc = err_set(err, ERR_CONFIG, "--out is empty; it names a folder");
    else
        rc = pl_fetch_check(opts->mirror, opts->cacert, err);
    if (rc == 0)
        rc = check_numerics(opts->numerics, err);
    if (rc == 0)
        rc = load_config(job, err);
    if (rc == 0)
        rc = pl_job_prepare(job, err);
    if (rc != 0 && job->diag.errors == 0) {
        pl_job_free(job);
        return rc;
    }
    *out = job;
    return rc;
}

void pl_job_free(struct pl_job *job)
{
    if (!job)
        return;
    pl_config_free(job->config);
    arena_free(&job->arena);
    mem_free(job);
}

void pl_job_mistakes(const struct pl_job *job, struct str *out, bool colour)
{
    if (job->diag.errors > 0)
        pl_diag_print(&job->diag, out, colour);
}

const char *pl_job_name(const struct pl_job *job)
{
    return job->config->name;
}

const char *pl_job_recipe(const struct pl_job *job)
{
    return job->config->recipe ? job->config->recipe : "";
}

const char *pl_job_dir(const struct pl_job *job)
{
    return job->dir;
}

size_t pl_job_stages(const struct pl_job *job)
{
    return job->config->n_stages;
}

void pl_job_resolved(const struct pl_job *job, struct str *out)
{
    pl_config_resolved(job->config, out);
}
