/* What a check found, as text and as JSON. */
#include <inttypes.h>

#include "pipeline/json_file.h"
#include "pipeline/trace_check.h"

static size_t told(const struct trace_faults *f, size_t rule)
{
    return f->broken[rule] < TRACE_FAULTS_MAX ? (size_t)f->broken[rule]
                                              : TRACE_FAULTS_MAX;
}

static void rule_text(struct str *out, const struct trace_faults *f, size_t i)
{
    size_t k;

    str_addf(out, "%-6s  %-11s  %s: ",
             f->broken[i]    ? "broken"
             : f->checked[i] ? "ok"
                             : "-",
             trace_rule_text[i].id, trace_rule_text[i].text);
    if (f->checked[i] == 0 && f->broken[i] == 0)
        str_add(out, "nothing to check\n");
    else
        str_addf(out, "%" PRIu64 " checked, %" PRIu64 " broken\n",
                 f->checked[i], f->broken[i]);
    for (k = 0; k < told(f, i); k++)
        str_addf(out, "    %s\n", f->text[i][k]);
    if (f->broken[i] > told(f, i))
        str_addf(out, "    and %" PRIu64 " more\n", f->broken[i] - told(f, i));
}

static void report_text(struct str *out, const struct trace *t)
{
    uint64_t n = pl_trace_broken(t);
    size_t i, rules = 0;

    for (i = 0; i < TRACE_RULES; i++) {
        rule_text(out, &t->faults, i);
        rules += t->faults.broken[i] > 0;
    }
    str_addf(out, "%s: %" PRIu64 " events, ", t->path, t->n_events);
    if (n == 0)
        str_add(out, "no rule is broken\n");
    else
        str_addf(out, "%zu rule%s broken, %" PRIu64 " fault%s in all\n", rules,
                 rules == 1 ? "" : "s", n, n == 1 ? "" : "s");
}

static void rule_json(struct str *out, const struct trace_faults *f, size_t i)
{
    size_t k;

    str_add(out, "\n  {\"rule\": ");
    pl_json_add_text(out, trace_rule_text[i].id);
    str_add(out, ", \"text\": ");
    pl_json_add_text(out, trace_rule_text[i].text);
    str_addf(out,
             ", \"checked\": %" PRIu64 ", \"broken\": %" PRIu64
             ", \"faults\": [",
             f->checked[i], f->broken[i]);
    for (k = 0; k < told(f, i); k++) {
        str_add(out, k ? ", " : "");
        pl_json_add_text(out, f->text[i][k]);
    }
    str_add(out, "]}");
}

static void report_json(struct str *out, const struct trace *t)
{
    size_t i;

    str_add(out, "{\"file\": ");
    pl_json_add_text(out, t->path);
    str_addf(out,
             ",\n\"events\": %" PRIu64 ",\n\"broken\": %" PRIu64
             ",\n\"rules\": [",
             t->n_events, pl_trace_broken(t));
    for (i = 0; i < TRACE_RULES; i++) {
        str_add(out, i ? "," : "");
        rule_json(out, &t->faults, i);
    }
    str_add(out, "]}\n");
}

static void report(struct str *out, uint64_t *broken, const struct trace *t,
                   bool json)
{
    *broken = pl_trace_broken(t);
    if (json)
        report_json(out, t);
    else
        report_text(out, t);
}

int pl_trace_check_file(struct str *out, uint64_t *broken, const char *path,
                        const struct trace_schedule *schedule, bool json,
                        struct err *err)
{
    struct trace unreadable = {.path = path}, *t;
    struct err why = {0};
    int rc = pl_trace_read(&t, path, &why);

    *broken = 0;
    if (rc == ERR_CORRUPT) {
        unreadable.faults.checked[RULE_JSON] = 1;
        trace_fault(&unreadable.faults, &unreadable.arena, RULE_JSON, "%s",
                    why.msg);
        report(out, broken, &unreadable, json);
        out->failed = out->failed || unreadable.faults.failed;
        arena_free(&unreadable.arena);
        return 0;
    }
    if (rc != 0) {
        if (err && err->code == 0)
            *err = why;
        return rc;
    }
    rc = pl_trace_check(t, schedule, err);
    if (rc == 0)
        report(out, broken, t, json);
    pl_trace_free(t);
    return rc;
}
