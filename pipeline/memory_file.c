#include "pipeline/memory_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/csv_column.h"
#include "pipeline/gunzip.h"
#include "pipeline/scalar.h"

/* Sums of bytes stay exact as doubles, which a page's script counts in. */
#define MOST_BYTES (INT64_C(1) << 53)
#define MOST_NS (INT64_MAX / 2)
enum { MOST_ROWS = 1 << 26, MOST_TEXT = 512 << 20 };

/* ---- writing ---- */

static void add_text(struct str *out, const char *text)
{
    str_add(out, ",\"");
    for (; *text; text++) {
        str_add(out, *text == '"' ? "\"" : "");
        str_addc(out, *text);
    }
    str_addc(out, '"');
}

static void add_tensor(struct str *out, const struct nn_memory_tensor *t)
{
    int i;

    str_add(out, "tensor");
    add_text(out, t->name);
    str_addc(out, ',');
    for (i = 0; i < t->shape.ndim; i++)
        str_addf(out, i ? "x%" PRId64 : "%" PRId64, t->shape.dim[i]);
    str_addf(out, ",%s,%s,%" PRId64 "\n", nn_dtype_name(t->dtype),
             nn_memory_kind_name(t->kind), t->bytes);
}

static void add_head(struct str *out, const struct pl_memory_run *run,
                     const char *device)
{
    const struct nn_step_memory *m = run->memory;

    str_add(out, "memory,1\nrun");
    add_text(out, run->label);
    add_text(out, device);
    str_addf(out, "\nsteps,%d,%d,%d,%" PRId64 ",%" PRId64 ",%d\n",
             m->first_step, m->n_step, m->n_call, m->begin, m->end, m->timed);
    str_addf(out, "bytes,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n",
             m->padding, m->held, run->workspace, run->resident);
    str_addf(out, "counts,%zu,%zu,%zu\n", m->n_tensor, m->n_event, m->n_span);
}

void pl_memory_csv(const struct pl_memory_run *run, const char *device,
                   struct str *out)
{
    const struct nn_step_memory *m = run->memory;
    size_t i;

    add_head(out, run, device);
    for (i = 0; i < m->n_tensor; i++)
        add_tensor(out, &m->tensor[i]);
    for (i = 0; i < m->n_event; i++) {
        const struct nn_memory_event *e = &m->event[i];

        str_addf(out, "event,%" PRId64 ",%d,%s,%d,%d,%s\n", e->at, e->tensor,
                 nn_memory_action_name(e->action), e->step, e->call,
                 nn_phase_name(e->phase));
    }
    for (i = 0; i < m->n_span; i++) {
        const struct nn_memory_span *s = &m->span[i];

        str_addf(out, "span,%d,%s,%d,%d,%" PRId64 ",%" PRId64 "\n", s->step,
                 nn_phase_name(s->phase), s->call, s->n_call, s->begin, s->end);
    }
}

/* ---- reading ---- */

struct reader {
    const char *text, *row, *p; /* all of it, the row at hand, what is next */
    const char *name;           /* of the file, for messages */
    char ended;                 /* what ended the last field */
    struct str field;
    struct err *err;
    int rc;      /* the first failure: all that follows does nothing */
    bool *alive; /* a tensor each */
};

static void fail(struct reader *r, const char *what, const char *is)
{
    size_t line = 1;
    const char *p;

    if (r->rc != 0)
        return;
    for (p = r->text; p < r->row; p++)
        line += *p == '\n';
    r->rc = err_set(r->err, ERR_CORRUPT,
                    "line %zu of %s is not what a profile writes: %s, not "
                    "'%.60s'",
                    line, r->name, what, is);
}

static void no_memory(struct reader *r)
{
    if (r->rc == 0)
        r->rc = err_set(r->err, ERR_NOMEM, "out of memory reading %s", r->name);
}

/* The next field; "" after a failure. */
static const char *next_text(struct reader *r, const char *what)
{
    if (r->rc == 0 && r->ended != ',')
        fail(r, what, "the end of the row");
    if (r->rc != 0)
        return "";
    r->ended = pl_csv_field(&r->p, &r->field);
    if (r->field.failed)
        no_memory(r);
    return r->rc == 0 ? r->field.text : "";
}

static int64_t next_number(struct reader *r, const char *what, int64_t least,
                           int64_t most)
{
    const char *text = next_text(r, what);
    int64_t v = least;

    if (r->rc == 0 &&
        (scalar_int(text, &v) != SCALAR_OK || v < least || v > most))
        fail(r, what, text);
    return r->rc == 0 ? v : least;
}

static int next_int(struct reader *r, const char *what, int least, int most)
{
    return (int)next_number(r, what, least, most);
}

/* Begins a row that must be called so. */
static void begin_row(struct reader *r, const char *called)
{
    char what[32];

    r->row = r->p;
    r->ended = ',';
    (void)snprintf(what, sizeof what, "a row '%s' is due", called);
    if (strcmp(next_text(r, what), called) != 0)
        fail(r, what, r->field.text);
}

/* A last line without its end may lack more. */
static void end_row(struct reader *r)
{
    if (r->rc != 0 || r->ended == '\n')
        return;
    if (r->ended == ',')
        fail(r, "the row is over", next_text(r, "the row is over"));
    else
        fail(r, "the row goes on", "the end of the file");
}

/* A name out of a list of n; `of` gives each. */
static int next_name(struct reader *r, const char *what,
                     const char *(*of)(int i), int first, int n)
{
    const char *text = next_text(r, what);
    int i = first;

    while (r->rc == 0 && i < n && strcmp(text, of(i)) != 0)
        i++;
    if (r->rc == 0 && i == n)
        fail(r, what, text);
    return r->rc == 0 ? i : first;
}

static const char *kind_name(int i)
{
    return nn_memory_kind_name((enum nn_memory_kind)i);
}

static const char *action_name(int i)
{
    return nn_memory_action_name((enum nn_memory_action)i);
}

static const char *phase_name(int i)
{
    return nn_phase_name((enum nn_phase)i);
}

static const char *dtype_name(int i)
{
    return nn_dtype_name((enum nn_dtype)i);
}

static void keep_text(struct reader *r, struct str *out, const char *what)
{
    str_add(out, next_text(r, what));
    if (out->failed)
        no_memory(r);
}

static void next_shape(struct reader *r, struct nn_shape *out)
{
    static const char what[] = "a shape as '256x784' is due";
    const char *text = next_text(r, what);
    char part[24];
    int64_t numel = 1;

    memset(out, 0, sizeof *out);
    while (r->rc == 0 && *text) {
        size_t n = strcspn(text, "x");
        int64_t *dim = &out->dim[out->ndim];

        (void)snprintf(part, sizeof part, "%.*s",
                       (int)(n < sizeof part ? n : sizeof part), text);
        if (out->ndim == NN_MAX_DIMS || scalar_int(part, dim) != SCALAR_OK ||
            *dim < 0 || *dim > MOST_BYTES || (text[n] && !text[n + 1]) ||
            (*dim > 0 && numel > MOST_BYTES / *dim)) {
            fail(r, what, r->field.text);
            return;
        }
        numel *= *dim;
        out->ndim++;
        text += n + (text[n] == 'x');
    }
}

static void read_tensor(struct reader *r, struct nn_memory_tensor *t,
                        int64_t *sum)
{
    const char *name = next_text(r, "a name of 127 bytes or less is due");

    if (strlen(name) >= sizeof t->name)
        fail(r, "a name of 127 bytes or less is due", name);
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    next_shape(r, &t->shape);
    t->dtype = (enum nn_dtype)next_name(r, "a type as 'float32' is due",
                                        dtype_name, 0, NN_I64 + 1);
    t->kind = (enum nn_memory_kind)next_name(r, "a kind as 'gradients' is due",
                                             kind_name, 0, NN_MEMORY_KINDS);
    t->bytes = next_number(r, "bytes are due, below 2^53 in all", 0,
                           MOST_BYTES - *sum);
    *sum += t->bytes;
}

/* Whether what happens to the tensor can happen now. */
static bool may_happen(const struct nn_memory_event *e, bool alive)
{
    return alive == (e->action == NN_MEMORY_NEW_VERSION ||
                     e->action == NN_MEMORY_DESTROY) &&
           (e->action == NN_MEMORY_PREEXISTING) == (e->step < 0);
}

static void read_event(struct reader *r, const struct nn_step_memory *m,
                       struct nn_memory_event *e, int64_t after)
{
    e->at = next_number(r, "a time within the run is due, none before the last",
                        after, m->end);
    e->tensor =
        next_int(r, "the number of a tensor is due", 0, (int)m->n_tensor - 1);
    e->action = (enum nn_memory_action)next_name(
        r, "an action as 'create' is due", action_name, NN_MEMORY_PREEXISTING,
        NN_MEMORY_DESTROY + 1);
    e->step = next_int(r, "one of the steps is due", -1,
                       m->first_step + m->n_step - 1);
    e->call = next_int(r, "one of the calls is due", -1, m->n_call - 1);
    e->phase = (enum nn_phase)next_name(r, "a phase as 'forward' is due",
                                        phase_name, 0, NN_PHASE_COUNT);
    if (r->rc != 0)
        return;
    if (e->step >= 0 && e->step < m->first_step)
        fail(r, "one of the steps is due", "one before the first");
    else if ((e->step < 0) != (e->call < 0))
        fail(r, "a step and its call are due", "one of them");
    else if (!may_happen(e, r->alive[e->tensor]))
        fail(r, "something that can happen to the tensor is due",
             action_name((int)e->action));
    else
        r->alive[e->tensor] = e->action != NN_MEMORY_DESTROY;
}

static void read_span(struct reader *r, const struct nn_step_memory *m,
                      struct nn_memory_span *s)
{
    s->step = next_int(r, "one of the steps is due", m->first_step,
                       m->first_step + m->n_step - 1);
    s->phase = (enum nn_phase)next_name(r, "a phase as 'forward' is due",
                                        phase_name, 0, NN_PHASE_COUNT);
    s->call = next_int(r, "one of the calls is due", 0, m->n_call - 1);
    s->n_call = next_int(r, "calls of the step are due", 0,
                         m->n_call - (r->rc == 0 ? s->call : 0));
    s->begin = next_number(r, "a time within the run is due", m->begin, m->end);
    s->end = next_number(r, "an end after the begin is due", s->begin, m->end);
}

static void read_head(struct reader *r, struct pl_memory_file *f)
{
    struct nn_step_memory *m = f->memory;

    begin_row(r, "memory");
    (void)next_int(r, "format 1 is due", 1, 1);
    end_row(r);
    begin_row(r, "run");
    keep_text(r, &f->label, "a label is due");
    keep_text(r, &f->device, "a device is due");
    end_row(r);
    begin_row(r, "steps");
    m->first_step = next_int(r, "the first step is due", 0, INT32_MAX / 2);
    m->n_step = next_int(r, "1 step or more is due", 1, INT32_MAX / 2);
    m->n_call = next_int(r, "calls a step are due", 0, INT32_MAX / m->n_step);
    m->begin = next_number(r, "a begin in ns is due", 0, MOST_NS);
    m->end = next_number(r, "an end in ns is due", m->begin, MOST_NS);
    m->timed = next_int(r, "timed is 0 or 1", 0, 1) == 1;
    end_row(r);
    begin_row(r, "bytes");
    m->padding = next_number(r, "bytes of padding are due", 0, MOST_BYTES);
    m->held = next_number(r, "bytes held are due", 0, MOST_BYTES);
    f->workspace = next_number(r, "bytes of workspace are due", 0, MOST_BYTES);
    f->resident = next_number(r, "bytes of data are due", 0, MOST_BYTES);
    end_row(r);
}

/* Room for one more of n things, as many as were read: a count promises
 * nothing. */
static void *one_more(struct reader *r, void *list, size_t n, size_t *cap,
                      size_t size)
{
    void *more;

    if (n < *cap)
        return list;
    more = mem_grow(list, *cap ? 2 * *cap : 64, size);
    if (!more) {
        no_memory(r);
        return list;
    }
    *cap = *cap ? 2 * *cap : 64;
    return more;
}

static void read_tensors(struct reader *r, struct nn_step_memory *m, size_t n)
{
    size_t cap = 0;
    int64_t sum = 0;

    while (r->rc == 0 && m->n_tensor < n) {
        m->tensor =
            one_more(r, m->tensor, m->n_tensor, &cap, sizeof *m->tensor);
        begin_row(r, "tensor");
        if (r->rc != 0)
            return;
        read_tensor(r, &m->tensor[m->n_tensor], &sum);
        end_row(r);
        m->n_tensor++;
    }
    r->alive = r->rc == 0 ? mem_array(m->n_tensor + 1, sizeof *r->alive) : NULL;
    if (!r->alive)
        no_memory(r);
}

static void read_events(struct reader *r, struct nn_step_memory *m, size_t n)
{
    int64_t after = m->begin;

    while (r->rc == 0 && m->n_event < n) {
        m->event =
            one_more(r, m->event, m->n_event, &m->cap_event, sizeof *m->event);
        begin_row(r, "event");
        if (r->rc != 0)
            return;
        read_event(r, m, &m->event[m->n_event], after);
        after = m->event[m->n_event++].at;
        end_row(r);
    }
}

static void read_spans(struct reader *r, struct nn_step_memory *m, size_t n)
{
    while (r->rc == 0 && m->n_span < n) {
        m->span =
            one_more(r, m->span, m->n_span, &m->cap_span, sizeof *m->span);
        begin_row(r, "span");
        if (r->rc != 0)
            return;
        read_span(r, m, &m->span[m->n_span++]);
        end_row(r);
    }
}

static void read_all(struct reader *r, struct pl_memory_file *f)
{
    int tensors, events, spans;

    read_head(r, f);
    begin_row(r, "counts");
    tensors = next_int(r, "a count of tensors is due", 0, MOST_ROWS);
    events = next_int(r, "a count of events is due", 0, MOST_ROWS);
    spans = next_int(r, "a count of spans is due", 0, MOST_ROWS);
    end_row(r);
    read_tensors(r, f->memory, (size_t)tensors);
    read_events(r, f->memory, (size_t)events);
    read_spans(r, f->memory, (size_t)spans);
    r->row = r->p;
    if (r->rc == 0 && *r->p)
        fail(r, "the end of the file is due", "another row");
}

int pl_memory_csv_read(struct pl_memory_file *out, const char *text, size_t len,
                       const char *name, struct err *err)
{
    struct reader r = {
        .text = text, .row = text, .p = text, .name = name, .err = err};

    memset(out, 0, sizeof *out);
    out->memory = mem_zalloc(sizeof *out->memory);
    if (!out->memory)
        no_memory(&r);
    else
        read_all(&r, out);
    if (r.rc == 0 && (size_t)(r.p - text) != len) {
        r.row = r.p;
        fail(&r, "the end of the file is due", "a byte 0");
    }
    mem_free(r.alive);
    str_free(&r.field);
    if (r.rc != 0)
        pl_memory_file_free(out);
    return r.rc;
}

static int keep_piece(void *user, const void *data, size_t len, struct err *err)
{
    struct str *text = user;

    str_addn(text, data, len);
    return text->failed
               ? err_set(err, ERR_NOMEM, "out of memory for a memory record")
               : 0;
}

int pl_memory_file_read(struct pl_memory_file *out, const char *path,
                        struct err *err)
{
    struct str text = {0};
    struct pl_gunzip g = {.path = path,
                          .name = io_basename(path),
                          .max = MOST_TEXT,
                          .write = keep_piece,
                          .user = &text};
    uint64_t bytes;
    int rc = pl_gunzip(&g, &bytes, err);

    memset(out, 0, sizeof *out);
    if (rc == 0)
        rc = pl_memory_csv_read(out, text.text ? text.text : "", text.len,
                                g.name, err);
    str_free(&text);
    return rc;
}

void pl_memory_file_free(struct pl_memory_file *f)
{
    nn_step_memory_free(f->memory);
    str_free(&f->label);
    str_free(&f->device);
    memset(f, 0, sizeof *f);
}
