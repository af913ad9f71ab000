/* The mirrors of a run of downloads, and what became of them. */
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/fetch_job.h"
#include "pipeline/url.h"

/* What fits a message with the name of its stage in front. */
enum { MESSAGE_BYTES = 590, SHORTEST_REASON = 24 };

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a download");
}

static bool add_source(struct pl_fetch_run *f, const char *place)
{
    struct str shown = {0};

    pl_url_mask(&shown, place);
    f->source[f->n_sources].place = place;
    f->source[f->n_sources++].shown = shown.text;
    return !shown.failed;
}

int pl_fetch_sources_open(struct pl_fetch_run *f, struct err *err)
{
    const struct pl_list *mirrors = &f->ds->mirrors;
    const char *first = f->opts.mirror;
    bool ok;
    size_t i;

    f->source = mem_array(mirrors->n + 1, sizeof *f->source);
    ok = f->source != NULL;
    if (ok && first)
        ok = add_source(f, first);
    for (i = 0; ok && i < mirrors->n; i++)
        ok = add_source(f, ((const char *const *)mirrors->items)[i]);
    return ok ? 0 : no_memory(err);
}

void pl_fetch_sources_forget(struct pl_fetch_run *f)
{
    size_t i;

    for (i = 0; i < f->n_sources; i++) {
        mem_free(f->source[i].reason);
        f->source[i].reason = NULL;
    }
}

void pl_fetch_sources_close(struct pl_fetch_run *f)
{
    size_t i;

    pl_fetch_sources_forget(f);
    for (i = 0; i < f->n_sources; i++)
        mem_free(f->source[i].shown);
    mem_free(f->source);
    f->source = NULL;
    f->n_sources = 0;
}

/* "\n  MIRROR: REASON" each. most: of a line; 0: everything. */
static void add_reasons(struct str *out, const struct pl_fetch_run *f,
                        size_t most)
{
    size_t i, start;

    for (i = 0; i < f->n_sources; i++) {
        const struct pl_fetch_source *s = &f->source[i];

        start = out->len;
        str_add(out, "\n  ");
        if (most)
            pl_url_host(out, s->place);
        else
            str_add(out, s->shown);
        str_addf(out, ": %s", s->reason ? s->reason : "not tried");
        if (most && out->len - start > most && !out->failed) {
            out->len = start + most - 3;
            str_add(out, "...");
        }
    }
}

int pl_fetch_sources_error(const struct pl_fetch_job *j, struct err *err)
{
    const struct pl_fetch_run *f = j->f;
    struct str s = {0};
    size_t head, share;
    int rc;

    if (f->n_sources == 0)
        return err_set(err, ERR_FETCH, "cannot fetch '%s': it has no mirrors",
                       j->label);
    str_addf(&s, "cannot fetch '%s': no mirror gave it", j->label);
    head = s.len;
    add_reasons(&s, f, 0);
    if (s.len > MESSAGE_BYTES && head < MESSAGE_BYTES && !s.failed) {
        share = (MESSAGE_BYTES - head) / f->n_sources;
        s.len = head;
        add_reasons(&s, f, share < SHORTEST_REASON ? SHORTEST_REASON : share);
    }
    rc = s.failed ? no_memory(err) : err_set(err, ERR_FETCH, "%s", s.text);
    str_free(&s);
    return rc;
}
