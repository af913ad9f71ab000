/* Inputs that change while a stage runs. */
#include "pipeline/run.h"

#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"

/* Whether the outputs of a stage that was needed are those that were counted
 * on; else why says which is not. */
static bool need_stands(const struct pl_run *run, const struct pl_stage *s,
                        const char *outputs, struct arena *arena,
                        struct str *why)
{
    char *dir = s ? pl_job_stage_dir(run->job, s) : NULL;
    struct err none = {0};
    struct pl_record r;
    const char *is;
    char now[65];
    bool ok = false;

    if (!dir)
        str_add(why, "out of memory");
    else if (!pl_record_read(&r, dir, PL_WHOLE_FILE, arena, &is))
        str_addf(why, "its record is %s", is);
    else if (pl_record_outputs_hash(now, &r, &none) != 0 ||
             strcmp(now, outputs) != 0)
        str_add(why, "it was run again");
    else
        ok = pl_record_intact(&r, dir, why) &&
             (!s->kind->intact || s->kind->intact(dir, why));
    mem_free(dir);
    return ok;
}

static bool needs_stand(const struct pl_run *run, const struct pl_inputs *in,
                        struct arena *arena, struct str *why)
{
    struct str is = {0};
    bool ok = true;
    size_t i;

    for (i = 0; ok && i < in->n; i++) {
        const char *key = in->item[i].key;
        const struct pl_stage *need;

        if (strncmp(key, "needs.", 6) != 0)
            continue;
        need = pl_config_stage(run->work.stage->home, key + 6);
        ok = need_stands(run, need, in->item[i].value, arena, &is);
        if (!ok)
            str_addf(why, "the input from %s changed: %s", key + 6,
                     is.text ? is.text : "");
    }
    str_free(&is);
    return ok;
}

/* The config is what it was: only the content of files can be another. */
static bool files_stand(const struct pl_inputs *was,
                        const struct pl_inputs *now, struct str *why)
{
    size_t i;

    for (i = 0; i < now->n; i++) {
        const char *old = pl_inputs_get(was, now->item[i].key);

        if (old && strcmp(old, now->item[i].value) == 0)
            continue;
        str_addf(why, "the file of %s changed", now->item[i].key);
        return false;
    }
    return true;
}

int pl_run_recheck(const char **changed, struct pl_run *run, size_t i,
                   const struct pl_decision *d, struct err *err)
{
    const struct pl_stage *s = &run->job->config->stages[i];
    struct arena *arena = &run->work.arena;
    struct pl_inputs now = {.arena = arena};
    struct str why = {0};
    int rc = pl_inputs_collect(&now, s->home, s, err);

    *changed = NULL;
    if (rc != 0)
        return rc;
    if (!files_stand(&d->inputs, &now, &why) ||
        !needs_stand(run, &d->inputs, arena, &why)) {
        *changed = why.failed ? NULL : arena_strdup(arena, why.text);
        if (!*changed)
            rc = err_set(err, ERR_NOMEM, "out of memory ending stage '%s'",
                         s->id);
    }
    str_free(&why);
    return rc;
}
