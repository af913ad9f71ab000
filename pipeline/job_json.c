/* Plans, results and mistakes as JSON, for programs that call this one. */
#include "pipeline/pipeline.h"

#include <string.h>

#include "pipeline/job.h"
#include "pipeline/json_file.h"
#include "pipeline/scalar.h"
#include "pipeline/utf8.h"

static const char *const action_word[] = {
    [PL_UP_TO_DATE] = "up to date",
    [PL_RUN] = "run",
    [PL_MAY_RUN] = "may run",
    [PL_SKIP] = "skipped",
};
static const char *const state_word[] = {
    [PL_STATE_MISSING] = "missing", [PL_STATE_DONE] = "done",
    [PL_STATE_STALE] = "stale",     [PL_STATE_INTERRUPTED] = "interrupted",
    [PL_STATE_FAILED] = "failed",
};
static const char *const outcome_word[] = {
    [PL_PASSED] = "passed",
    [PL_FAILED] = "failed",
    [PL_NOT_ASSESSED] = "not assessed",
    [PL_BY_HAND] = "graded by a person",
};

/* A text in quotes; what is not UTF-8 (a path may hold anything) is replaced
 * by U+FFFD, byte by byte. */
void pl_text_json(const char *text, struct str *out)
{
    struct str clean = {0};
    size_t left = strlen(text), n;
    uint32_t cp;

    str_add(&clean, "");
    for (; left > 0; text += n, left -= n) {
        n = utf8_decode(text, left, &cp);
        if (n > 0)
            str_addn(&clean, text, n);
        else {
            str_add(&clean, "\xef\xbf\xbd");
            n = 1;
        }
    }
    if (clean.failed)
        out->failed = true;
    else
        pl_json_add_text(out, clean.text);
    str_free(&clean);
}

/* "key": "text", with a comma behind. */
static void add_key(struct str *out, const char *key, const char *text)
{
    str_addf(out, "\"%s\": ", key);
    if (text)
        pl_text_json(text, out);
    else
        str_add(out, "null");
    str_add(out, ", ");
}

static void add_number(struct str *out, const char *key, double v)
{
    str_addf(out, "\"%s\": ", key);
    scalar_add(out, v);
    str_add(out, ", ");
}

/* Takes back the comma behind the last key. */
static void end_object(struct str *out)
{
    if (out->len >= 2 && !out->failed)
        out->text[out->len -= 2] = '\0';
    str_addc(out, '}');
}

/* The lines of a text, a text each. */
static void add_lines(struct str *out, const char *key, const char *text)
{
    struct str line = {0};
    bool first = true;

    str_addf(out, "\"%s\": [", key);
    while (text && text[0] && !out->failed) {
        size_t n = strcspn(text, "\n");

        str_clear(&line);
        str_addn(&line, text, n);
        str_add(out, first ? "" : ", ");
        first = false;
        if (line.failed)
            out->failed = true;
        else
            pl_text_json(line.text ? line.text : "", out);
        text = text[n] ? text + n + 1 : NULL;
    }
    str_add(out, "], ");
    str_free(&line);
}

static void add_step(struct str *out, const struct pl_step *s)
{
    add_key(out, "stage", s->stage);
    add_key(out, "kind", s->kind);
    add_key(out, "action", action_word[s->action]);
    add_key(out, "state", state_word[s->state]);
    add_key(out, "reason", s->reason);
    add_lines(out, "changes", s->changes);
}

static void add_artifacts(struct str *out, const struct pl_step *s)
{
    size_t i;

    str_add(out, "\"artifacts\": [");
    for (i = 0; i < s->n_artifacts; i++) {
        str_add(out, i ? ", {" : "{");
        add_key(out, "name", s->artifact[i].name);
        str_addf(out, "\"bytes\": %llu, ", s->artifact[i].bytes);
        add_key(out, "sha256", s->artifact[i].sha256);
        end_object(out);
    }
    str_add(out, "], ");
}

void pl_plan_json(const struct pl_plan *plan, const struct pl_job *job,
                  struct str *out)
{
    size_t i;

    str_add(out, "{");
    add_key(out, "name", pl_job_name(job));
    add_key(out, "dir", pl_job_dir(job));
    add_key(out, "holder", plan->holder[0] ? plan->holder : NULL);
    str_addf(out, "\"work\": %zu, \"stages\": [", pl_plan_work(plan));
    for (i = 0; i < plan->n; i++) {
        str_add(out, i ? ",\n  {" : "\n  {");
        add_step(out, &plan->step[i]);
        add_artifacts(out, &plan->step[i]);
        end_object(out);
    }
    str_add(out, "\n]}\n");
}

static void add_done(struct str *out, const struct pl_result *res)
{
    size_t i;

    str_add(out, "\"stages\": [");
    for (i = 0; i < res->n_done; i++) {
        str_add(out, i ? ",\n  {" : "\n  {");
        add_step(out, &res->done[i].step);
        add_number(out, "seconds", res->done[i].seconds);
        add_key(out, "error", res->done[i].error);
        end_object(out);
    }
    str_add(out, "], ");
}

static void add_verdicts(struct str *out, const struct pl_result *res)
{
    size_t i;

    str_add(out, "\"expectations\": [");
    for (i = 0; i < res->n_verdicts; i++) {
        const struct pl_verdict *v = &res->verdict[i];

        str_add(out, i ? ",\n  {" : "\n  {");
        add_key(out, "stage", v->stage);
        add_key(out, "expectation", v->expectation);
        add_key(out, "measured", v->measured);
        add_key(out, "outcome", outcome_word[v->outcome]);
        add_number(out, "points", v->points);
        add_number(out, "of", v->of);
        add_key(out, "why", v->why);
        end_object(out);
    }
    str_add(out, "], ");
}

void pl_result_json(const struct pl_result *res, const struct pl_job *job,
                    int status, const struct err *err, struct str *out)
{
    str_addf(out, "{\"status\": %d, ", status);
    add_key(out, "name", pl_job_name(job));
    add_key(out, "dir", pl_job_dir(job));
    add_key(out, "recipe", pl_job_recipe(job));
    add_key(out, "error", err && err->code ? err->msg : NULL);
    str_addf(out,
             "\"run\": %zu, \"up_to_date\": %zu, \"failed\": %zu, "
             "\"skipped\": %zu, ",
             res->n_run, res->n_up_to_date, res->n_failed, res->n_skipped);
    add_number(out, "points", res->points);
    add_number(out, "of", res->of);
    add_done(out, res);
    add_verdicts(out, res);
    end_object(out);
    str_addc(out, '\n');
}

void pl_job_mistakes_json(const struct pl_job *job, struct str *out)
{
    size_t order[PL_DIAG_MAX], i;

    pl_diag_order(&job->diag, order);
    for (i = 0; i < job->diag.n; i++) {
        const struct pl_diag_item *item = &job->diag.item[order[i]];
        const struct pl_loc *loc = &item->loc;

        str_add(out, i ? ",\n  {" : "\n  {");
        add_key(out, "file", loc->file ? loc->file->path : NULL);
        str_addf(out, "\"line\": %d, \"column\": %d, \"length\": %d, ",
                 loc->line, loc->col, loc->len);
        add_key(out, "message", item->msg);
        add_lines(out, "help", item->help);
        end_object(out);
    }
}
