/* Which stage needs which. */
#include "pipeline/pipeline.h"

#include <string.h>

#include "pipeline/job.h"
#include "pipeline/stage.h"

static size_t longest(const struct pl_job *job, bool kinds)
{
    const struct pl_config *c = job->config;
    size_t i, n, most = 0;

    for (i = 0; i < c->n_stages; i++) {
        n = strlen(kinds ? c->stages[i].kind->name : c->stages[i].id);
        if (job->selected[i] && n > most)
            most = n;
    }
    return most;
}

/* "evaluate  evaluate  <- train" */
static void add_text(const struct pl_job *job, struct str *out)
{
    const struct pl_config *c = job->config;
    int id = (int)longest(job, false), kind = (int)longest(job, true);
    size_t i, k;

    for (i = 0; i < c->n_stages; i++) {
        const struct pl_stage *s = &c->stages[i];

        if (!job->selected[i])
            continue;
        if (s->n_needs == 0)
            str_addf(out, "%-*s  %s", id, s->id, s->kind->name);
        else
            str_addf(out, "%-*s  %-*s  <- ", id, s->id, kind, s->kind->name);
        for (k = 0; k < s->n_needs; k++)
            str_addf(out, "%s%s", k ? ", " : "", s->needs[k]);
        str_addc(out, '\n');
    }
}

/* Names need no escapes: letters, digits and a few signs, none a quote. */
static void add_dot(const struct pl_job *job, struct str *out)
{
    const struct pl_config *c = job->config;
    size_t i, k;

    str_addf(out, "digraph \"%s\" {\n    rankdir=LR;\n    node [shape=box];\n",
             c->name);
    for (i = 0; i < c->n_stages; i++) {
        const struct pl_stage *s = &c->stages[i];

        if (!job->selected[i])
            continue;
        str_addf(out, "    \"%s\" [label=\"%s\\n%s\"];\n", s->id, s->id,
                 s->kind->name);
        for (k = 0; k < s->n_needs; k++)
            str_addf(out, "    \"%s\" -> \"%s\";\n", s->needs[k], s->id);
    }
    str_add(out, "}\n");
}

static void add_mermaid(const struct pl_job *job, struct str *out)
{
    const struct pl_config *c = job->config;
    size_t i, k;

    str_add(out, "flowchart LR\n");
    for (i = 0; i < c->n_stages; i++) {
        const struct pl_stage *s = &c->stages[i];

        if (!job->selected[i])
            continue;
        str_addf(out, "    s%zu[\"%s<br>%s\"]\n", i, s->id, s->kind->name);
        for (k = 0; k < s->n_needs; k++)
            str_addf(out, "    s%zu --> s%zu\n", pl_job_index(c, s->needs[k]),
                     i);
    }
}

void pl_graph(const struct pl_job *job, enum pl_graph_form form,
              struct str *out)
{
    if (form == PL_GRAPH_DOT)
        add_dot(job, out);
    else if (form == PL_GRAPH_MERMAID)
        add_mermaid(job, out);
    else
        add_text(job, out);
}
