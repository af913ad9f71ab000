#include "pipeline/trace_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/trace_text.h"

struct pl_trace_writer {
    struct pl_trace_text out;
    int64_t base, pid;
    const char *path; /* of out */
    int64_t n_ops;    /* Ev Idx of the next */
    bool any;         /* an event was written */
};

int64_t pl_trace_base(int64_t t)
{
    const int64_t interval = INT64_C(7889238) * 1000000000;

    return t < 0 ? 0 : t - t % interval;
}

/* ---- pieces ---- */

static void add_key(struct pl_trace_text *o, const char *key)
{
    pl_trace_quote(o, key);
    pl_trace_add(o, ": ");
}

/* ns as us, three decimals: nothing is rounded. */
static void add_us(struct pl_trace_text *o, int64_t ns)
{
    ns = ns < 0 ? 0 : ns;
    pl_trace_int(o, ns / 1000);
    pl_trace_addc(o, '.');
    pl_trace_addc(o, (char)('0' + ns / 100 % 10));
    pl_trace_addc(o, (char)('0' + ns / 10 % 10));
    pl_trace_addc(o, (char)('0' + ns % 10));
}

static void begin_event(struct pl_trace_writer *w)
{
    pl_trace_add(&w->out, w->any ? ",\n" : "\n");
    w->any = true;
}

/* A row of ph "M": {value_key: text}, or {value_key: number} without a text. */
static void add_row(struct pl_trace_writer *w, const char *what, int64_t tid,
                    const char *value_key, const char *text)
{
    struct pl_trace_text *o = &w->out;

    begin_event(w);
    pl_trace_add(o, "{\"ph\": \"M\", \"name\": ");
    pl_trace_quote(o, what);
    pl_trace_add(o, ", \"ts\": 0.000, \"pid\": ");
    pl_trace_int(o, w->pid);
    pl_trace_add(o, ", \"tid\": ");
    pl_trace_int(o, tid);
    pl_trace_add(o, ", \"args\": {");
    add_key(o, value_key);
    if (text)
        pl_trace_quote(o, text);
    else
        pl_trace_int(o, tid ? tid : w->pid);
    pl_trace_add(o, "}}");
}

static void add_rows(struct pl_trace_writer *w, const struct pl_trace_head *h)
{
    char label[128];
    size_t i;

    add_row(w, "process_name", 0, "name", h->name);
    add_row(w, "process_labels", 0, "labels", "CPU");
    add_row(w, "process_sort_index", 0, "sort_index", NULL);
    for (i = 0; i < h->n_tids; i++) {
        (void)snprintf(label, sizeof label, "thread %" PRId32 " (%.80s)",
                       h->tid[i], h->name);
        add_row(w, "thread_name", h->tid[i], "name", label);
        add_row(w, "thread_sort_index", h->tid[i], "sort_index", NULL);
    }
}

/* An id that no other trace has: when and by whom it was made. */
static void add_trace_id(struct pl_trace_text *o, const struct pl_trace_head *h)
{
    char id[33];

    (void)snprintf(id, sizeof id, "%016" PRIX64 "%016" PRIX64,
                   (uint64_t)h->begin, (uint64_t)h->pid);
    add_key(o, "trace_id");
    pl_trace_quote(o, id);
    pl_trace_add(o, ",\n");
}

/* HTA finds the rank by a pattern that wants the blank before the number, and
 * takes the first one of the file. */
static void add_head(struct pl_trace_writer *w, const struct pl_trace_head *h)
{
    struct pl_trace_text *o = &w->out;
    size_t i;

    pl_trace_add(o, "{\n\"schemaVersion\": 1,\n\"deviceProperties\": ");
    pl_trace_add(o, h->device_properties ? h->device_properties : "[]");
    pl_trace_add(o, ",\n\"record_shapes\": 1,\n");
    add_trace_id(o, h);
    pl_trace_add(o, "\"distributedInfo\": {\"backend\": \"none\", \"rank\": 0, "
                    "\"world_size\": 1},\n");
    for (i = 0; i < h->n_facts; i++) {
        add_key(o, h->fact[i].key);
        if (h->fact[i].text)
            pl_trace_quote(o, h->fact[i].text);
        else
            pl_trace_int(o, h->fact[i].number);
        pl_trace_add(o, ",\n");
    }
    pl_trace_add(o, "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ");
    pl_trace_int(o, w->base);
    pl_trace_add(o, ",\n\"traceEvents\": [");
    add_rows(w, h);
}

int pl_trace_create(struct pl_trace_writer **out, const char *path,
                    const struct pl_trace_head *head, struct err *err)
{
    struct pl_trace_writer *w = mem_zalloc(sizeof *w);
    int rc;

    *out = NULL;
    if (!w)
        return err_set(err, ERR_NOMEM, "out of memory writing '%s'", path);
    rc = pl_trace_text_open(&w->out, path, err);
    if (rc != 0) {
        mem_free(w);
        return rc;
    }
    w->path = w->out.io.path;
    w->base = pl_trace_base(head->begin);
    w->pid = head->pid;
    add_head(w, head);
    *out = w;
    return 0;
}

/* ---- events ---- */

static const char *torch_type(enum nn_dtype t)
{
    static const char *const name[] = {
        [NN_F32] = "float",        [NN_F64] = "double",
        [NN_F16] = "c10::Half",    [NN_BF16] = "c10::BFloat16",
        [NN_U8] = "unsigned char", [NN_I32] = "int",
        [NN_I64] = "long int",
    };

    return name[t];
}

static void add_dims(struct pl_trace_text *o, const struct nn_shape *s)
{
    int i;

    pl_trace_addc(o, '[');
    for (i = 0; i < s->ndim; i++) {
        if (i)
            pl_trace_addc(o, ',');
        pl_trace_int(o, s->dim[i]);
    }
    pl_trace_addc(o, ']');
}

/* A tensor has no concrete value: torch writes "". */
static void add_inputs(struct pl_trace_text *o, const struct pl_trace_event *e)
{
    int i;

    pl_trace_add(o, ", \"Input Dims\": [");
    for (i = 0; i < e->n_inputs; i++) {
        pl_trace_add(o, i ? "," : "");
        add_dims(o, &e->input[i]->shape);
    }
    pl_trace_add(o, "], \"Input type\": [");
    for (i = 0; i < e->n_inputs; i++) {
        pl_trace_add(o, i ? "," : "");
        pl_trace_quote(o, torch_type(e->input[i]->dtype));
    }
    pl_trace_add(o, "], \"Concrete Inputs\": [");
    for (i = 0; i < e->n_inputs; i++)
        pl_trace_add(o, i ? ",\"\"" : "\"\"");
    pl_trace_addc(o, ']');
}

static void add_label(struct pl_trace_text *o, const char *key,
                      const char *text)
{
    if (!text || !*text)
        return;
    pl_trace_add(o, ", ");
    add_key(o, key);
    pl_trace_quote(o, text);
}

static void add_args(struct pl_trace_writer *w, const struct pl_trace_event *e)
{
    struct pl_trace_text *o = &w->out;

    pl_trace_add(o, ", \"args\": {\"External id\": ");
    pl_trace_int(o, e->external_id);
    if (strcmp(e->category, "cpu_op") == 0) {
        pl_trace_add(o, ", \"Record function id\": 0, \"Ev Idx\": ");
        pl_trace_int(o, w->n_ops++);
        if (e->n_inputs >= 0)
            add_inputs(o, e);
        add_label(o, "layer", e->layer);
        add_label(o, "role", e->role);
        add_label(o, "phase", e->phase);
    }
    pl_trace_addc(o, '}');
}

int pl_trace_event(struct pl_trace_writer *w, const struct pl_trace_event *e,
                   struct err *err)
{
    struct pl_trace_text *o = &w->out;

    begin_event(w);
    pl_trace_add(o, "{\"ph\": \"X\", \"cat\": ");
    pl_trace_quote(o, e->category);
    pl_trace_add(o, ", \"name\": \"");
    pl_trace_escape(o, e->name);
    if (e->number >= 0) {
        pl_trace_addc(o, '#');
        pl_trace_int(o, e->number);
    }
    pl_trace_add(o, "\", \"pid\": ");
    pl_trace_int(o, w->pid);
    pl_trace_add(o, ", \"tid\": ");
    pl_trace_int(o, e->tid);
    pl_trace_add(o, ", \"ts\": ");
    add_us(o, e->begin - w->base);
    pl_trace_add(o, ", \"dur\": ");
    add_us(o, e->end - e->begin);
    add_args(w, e);
    pl_trace_addc(o, '}');
    return pl_trace_text_failed(o, err);
}

int pl_trace_commit(struct pl_trace_writer *w, int64_t end, struct err *err)
{
    struct pl_trace_text *o = &w->out;
    int rc;

    begin_event(w);
    pl_trace_add(o, "{\"ph\": \"i\", \"s\": \"g\", \"name\": \"Record Window "
                    "End\", \"pid\": \"\", \"tid\": \"\", \"ts\": ");
    add_us(o, end - w->base);
    pl_trace_add(o, "}\n],\n\"traceName\": ");
    pl_trace_quote(o, io_basename(w->path));
    pl_trace_add(o, "\n}\n");
    rc = pl_trace_text_close(o, err);
    mem_free(w);
    return rc;
}

void pl_trace_abort(struct pl_trace_writer *w)
{
    if (!w)
        return;
    pl_trace_text_abort(&w->out);
    mem_free(w);
}
