/* torch.profiler's two files of a memory timeline, as export_memory_timeline
 * writes them (pytorch, torch/profiler/_memory_profiler.py). */
#include "pipeline/memory_timeline.h"

#include <inttypes.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

enum { COLUMNS = 1 + NN_MEMORY_KINDS }; /* the first one is always 0 */

static int64_t us(const struct nn_step_memory *m, size_t event)
{
    return m->event[event].at / 1000;
}

static void add_row(struct str *out, const int64_t live[COLUMNS])
{
    int k;

    for (k = 0; k < COLUMNS; k++)
        str_addf(out, "%s%" PRId64, k ? ", " : "[", live[k]);
    str_addc(out, ']');
}

/* Events of one microsecond are one row. */
static bool row_ends(const struct nn_step_memory *m, size_t i)
{
    return i + 1 == m->n_event || us(m, i) != us(m, i + 1);
}

void pl_memory_json(const struct nn_step_memory *m, struct str *out)
{
    int64_t live[COLUMNS] = {0};
    const char *sep = "";
    size_t i;

    str_add(out, "[[");
    for (i = 0; i < m->n_event; i++)
        if (row_ends(m, i)) {
            str_addf(out, "%s%" PRId64, sep, us(m, i));
            sep = ", ";
        }
    str_add(out, "], [");
    sep = "";
    for (i = 0; i < m->n_event; i++) {
        live[1 + m->tensor[m->event[i].tensor].kind] += nn_memory_change(m, i);
        if (!row_ends(m, i))
            continue;
        str_add(out, sep);
        add_row(out, live);
        sep = ", ";
    }
    str_add(out, "]]");
}

static void add_raw(struct str *out, int64_t at, enum nn_memory_action action,
                    int64_t bytes, enum nn_memory_kind kind)
{
    str_addf(out, "%s[%" PRId64 ", %d, %" PRId64 ", %d]",
             out->len > 1 ? ", " : "", at, (int)action, bytes, (int)kind);
}

void pl_memory_raw_json(const struct nn_step_memory *m, struct str *out)
{
    size_t i;

    str_add(out, "[");
    for (i = 0; i < m->n_event; i++) {
        const struct nn_memory_event *e = &m->event[i];
        const struct nn_memory_tensor *t = &m->tensor[e->tensor];
        int64_t at = e->action == NN_MEMORY_PREEXISTING ? -1 : e->at;

        if (e->action == NN_MEMORY_NEW_VERSION) {
            add_raw(out, at, e->action, -t->bytes, t->kind);
            add_raw(out, at, e->action, t->bytes, t->kind);
        } else {
            add_raw(out, at, e->action, nn_memory_change(m, i), t->kind);
        }
    }
    str_add(out, "]");
}

void pl_gzip(struct str *out, const char *text, size_t len)
{
    enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };
    z_stream z;
    Bytef buf[16384];
    int rc;

    memset(&z, 0, sizeof z);
    if (len > UINT32_MAX ||
        deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        out->failed = true;
        return;
    }
    z.next_in = (const Bytef *)text;
    z.avail_in = (uInt)len;
    do {
        z.next_out = buf;
        z.avail_out = sizeof buf;
        rc = deflate(&z, Z_FINISH);
        str_addn(out, (const char *)buf, sizeof buf - z.avail_out);
    } while (rc == Z_OK);
    if (rc != Z_STREAM_END)
        out->failed = true;
    (void)deflateEnd(&z);
}
