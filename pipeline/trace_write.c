#include "pipeline/trace_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/device_trace.h"
#include "pipeline/trace_write_parts.h"

int64_t pl_trace_base(int64_t t)
{
    const int64_t interval = INT64_C(7889238) * 1000000000;

    return t < 0 ? 0 : t - t % interval;
}

/* ---- pieces ---- */

void trace_add_key(struct pl_trace_text *o, const char *key)
{
    pl_trace_quote(o, key);
    pl_trace_add(o, ": ");
}

void trace_add_us(struct pl_trace_text *o, int64_t ns)
{
    ns = ns < 0 ? 0 : ns;
    pl_trace_int(o, ns / 1000);
    pl_trace_addc(o, '.');
    pl_trace_addc(o, (char)('0' + ns / 100 % 10));
    pl_trace_addc(o, (char)('0' + ns / 10 % 10));
    pl_trace_addc(o, (char)('0' + ns % 10));
}

void trace_begin_event(struct pl_trace_writer *w)
{
    pl_trace_add(&w->out, w->any ? ",\n" : "\n");
    w->any = true;
}

/* A row of ph "M": {value_key: text}, or {value_key: number} without a text. */
struct row {
    const char *what;
    int64_t pid, tid;
    const char *value_key, *text;
    int64_t number;
};

static void add_row(struct pl_trace_writer *w, const struct row *r)
{
    struct pl_trace_text *o = &w->out;

    trace_begin_event(w);
    pl_trace_add(o, "{\"ph\": \"M\", \"name\": ");
    pl_trace_quote(o, r->what);
    pl_trace_add(o, ", \"ts\": 0.000, \"pid\": ");
    pl_trace_int(o, r->pid);
    pl_trace_add(o, ", \"tid\": ");
    pl_trace_int(o, r->tid);
    pl_trace_add(o, ", \"args\": {");
    trace_add_key(o, r->value_key);
    if (r->text)
        pl_trace_quote(o, r->text);
    else
        pl_trace_int(o, r->number);
    pl_trace_add(o, "}}");
}

static void add_process(struct pl_trace_writer *w, int64_t pid,
                        const char *name, const char *label, int64_t order)
{
    const struct row row[] = {
        {"process_name", pid, 0, "name", name, 0},
        {"process_labels", pid, 0, "labels", label, 0},
        {"process_sort_index", pid, 0, "sort_index", NULL, order},
    };
    size_t i;

    for (i = 0; i < sizeof row / sizeof *row; i++)
        add_row(w, &row[i]);
}

static void add_thread(struct pl_trace_writer *w, int64_t pid, int64_t tid,
                       const char *name)
{
    const struct row row[] = {
        {"thread_name", pid, tid, "name", name, 0},
        {"thread_sort_index", pid, tid, "sort_index", NULL, tid},
    };

    add_row(w, &row[0]);
    add_row(w, &row[1]);
}

static void add_rows(struct pl_trace_writer *w, const struct pl_trace_head *h)
{
    enum { GPUS_COME_AFTER = 5000000 }; /* Kineto's order of the processes */
    char label[128];
    size_t i;

    add_process(w, w->pid, h->name, "CPU", w->pid);
    for (i = 0; i < h->n_tids; i++) {
        (void)snprintf(label, sizeof label, "thread %" PRId32 " (%.80s)",
                       h->tid[i], h->name);
        add_thread(w, w->pid, h->tid[i], label);
    }
    for (i = 0; i < h->n_streams; i++) {
        const struct pl_trace_stream *s = &h->stream[i];

        if (i == 0 || s[-1].device != s->device) {
            (void)snprintf(label, sizeof label, "GPU %" PRIu32, s->device);
            add_process(w, s->device, h->name, label,
                        (int64_t)GPUS_COME_AFTER + s->device);
        }
        (void)snprintf(label, sizeof label, "stream %" PRIu32, s->stream);
        add_thread(w, s->device, s->stream, label);
    }
}

/* An id that no other trace has: when and by whom it was made. */
static void add_trace_id(struct pl_trace_text *o, const struct pl_trace_head *h)
{
    char id[33];

    (void)snprintf(id, sizeof id, "%016" PRIX64 "%016" PRIX64,
                   (uint64_t)h->begin, (uint64_t)h->pid);
    trace_add_key(o, "trace_id");
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
    if (h->gpu)
        trace_add_gpu(o, h->gpu);
    else
        pl_trace_add(o, "[]");
    pl_trace_add(o, ",\n\"record_shapes\": 1,\n");
    if (h->memory)
        pl_trace_add(o, "\"profile_memory\": 1,\n");
    if (h->gpu)
        trace_add_versions(o, h->gpu);
    add_trace_id(o, h);
    pl_trace_add(o, "\"distributedInfo\": {\"backend\": \"none\", \"rank\": 0, "
                    "\"world_size\": 1},\n");
    for (i = 0; i < h->n_facts; i++) {
        trace_add_key(o, h->fact[i].key);
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

/* A GPU's row has its number where a process has its own: in a container the
 * two can be the same. */
static int64_t pid_beside_gpus(const struct pl_trace_head *h)
{
    enum { OUT_OF_THE_WAY = 1000000 };
    int64_t last = h->gpu ? h->gpu->id : -1;
    size_t i;

    for (i = 0; i < h->n_streams; i++)
        if (h->stream[i].device > last)
            last = h->stream[i].device;
    return h->pid > last ? h->pid : h->pid + OUT_OF_THE_WAY;
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
    w->pid = pid_beside_gpus(head);
    w->gpu = head->gpu;
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

void trace_add_label(struct pl_trace_text *o, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    pl_trace_add(o, ", ");
    trace_add_key(o, key);
    pl_trace_quote(o, text);
}

static void add_args(struct pl_trace_writer *w, const struct pl_trace_event *e)
{
    struct pl_trace_text *o = &w->out;

    pl_trace_add(o, ", \"args\": {");
    if (e->external_id > 0) {
        trace_add_key(o, "External id");
        pl_trace_int(o, e->external_id);
    }
    if (strcmp(e->category, "cpu_op") == 0) {
        pl_trace_add(o, ", \"Record function id\": 0, \"Ev Idx\": ");
        pl_trace_int(o, w->n_ops++);
        if (e->n_inputs >= 0)
            add_inputs(o, e);
        trace_add_label(o, "layer", e->layer);
        trace_add_label(o, "role", e->role);
        trace_add_label(o, "phase", e->phase);
    }
    pl_trace_addc(o, '}');
}

void trace_add_place(struct pl_trace_writer *w, int64_t pid, int64_t tid,
                     int64_t begin)
{
    struct pl_trace_text *o = &w->out;

    pl_trace_add(o, ", \"pid\": ");
    pl_trace_int(o, pid);
    pl_trace_add(o, ", \"tid\": ");
    pl_trace_int(o, tid);
    pl_trace_add(o, ", \"ts\": ");
    trace_add_us(o, begin - w->base);
}

int pl_trace_event(struct pl_trace_writer *w, const struct pl_trace_event *e,
                   struct err *err)
{
    struct pl_trace_text *o = &w->out;

    trace_begin_event(w);
    pl_trace_add(o, "{\"ph\": \"X\", \"cat\": ");
    pl_trace_quote(o, e->category);
    pl_trace_add(o, ", \"name\": \"");
    pl_trace_escape(o, e->name);
    if (e->number >= 0) {
        pl_trace_addc(o, '#');
        pl_trace_int(o, e->number);
    }
    pl_trace_addc(o, '"');
    trace_add_place(w, e->on_gpu ? e->device : w->pid, e->tid, e->begin);
    pl_trace_add(o, ", \"dur\": ");
    trace_add_us(o, e->end - e->begin);
    add_args(w, e);
    pl_trace_addc(o, '}');
    return pl_trace_text_failed(o, err);
}

int pl_trace_commit(struct pl_trace_writer *w, int64_t end, struct err *err)
{
    struct pl_trace_text *o = &w->out;
    int rc;

    trace_begin_event(w);
    pl_trace_add(o, "{\"ph\": \"i\", \"s\": \"g\", \"name\": \"Record Window "
                    "End\", \"pid\": \"\", \"tid\": \"\", \"ts\": ");
    trace_add_us(o, end - w->base);
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
