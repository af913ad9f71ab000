/* What is kept of an event, and as what. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nn/base/mem.h"
#include "pipeline/trace_read_number.h"
#include "pipeline/trace_read_parts.h"
#include "pipeline/trace_sum.h"

static const int64_t dur_max = INT64_C(1) << 53; /* ns */

/* As the writers spell them, old and new. */
static const struct {
    const char *cat;
    enum trace_class class;
} classes[] = {
    {"cpu_op", TRACE_OP},
    {"Operator", TRACE_OP},
    {"user_annotation", TRACE_NOTE},
    {"kernel", TRACE_KERNEL},
    {"cuda_runtime", TRACE_CALL},
    {"cuda_driver", TRACE_CALL},
    {"Runtime", TRACE_CALL},
    {"gpu_memcpy", TRACE_COPY},
    {"gpu_memset", TRACE_COPY},
    {"Memcpy", TRACE_COPY},
    {"Memset", TRACE_COPY},
    {"gpu_user_annotation", TRACE_GPU_NOTE},
    {"cuda_sync", TRACE_SYNC},
};

static const char *get(const struct trace_raw *e, enum trace_field f)
{
    return e->have & 1u << f ? e->text[f].text : NULL;
}

static const char *get_or(const struct trace_raw *e, enum trace_field f,
                          const char *otherwise)
{
    const char *s = get(e, f);

    return s ? s : otherwise;
}

static int64_t get_int(const struct trace_raw *e, enum trace_field f,
                       int64_t otherwise)
{
    const char *s = get(e, f);
    int64_t v;

    return s && trace_parse_int(&v, s) ? v : otherwise;
}

static void fault(struct trace *t, const struct trace_raw *e,
                  enum trace_rule rule, const char *what, enum trace_field f)
{
    const char *value = get(e, f);

    trace_fault(&t->faults, &t->arena, rule,
                "event %" PRIu64 " at offset %" PRIu64 " '%.200s': %s%s%.40s",
                e->index, e->offset, get_or(e, FIELD_NAME, ""), what,
                value ? ", not " : "", value ? value : "");
}

int trace_intern(struct trace *t, uint32_t *out, const char *name,
                 struct err *err)
{
    size_t at = name_index_find(&t->names, name), len = strlen(name);
    const char *copy;

    if (at == NAME_NONE && (t->names.n >= TRACE_NAMES_MAX ||
                            t->name_bytes + len > TRACE_NAME_BYTES_MAX)) {
        name = "(other names)";
        len = strlen(name);
        at = name_index_find(&t->names, name);
    }
    if (at == NAME_NONE) {
        copy = arena_strdup(&t->arena, name);
        if (!copy || !name_index_add(&t->names, copy))
            return trace_no_memory(t, err);
        t->name_bytes += len;
        at = t->names.n - 1;
    }
    *out = (uint32_t)at;
    return 0;
}

static bool make_room(void **p, size_t n, size_t *cap, size_t size)
{
    size_t more = *cap ? *cap * 2 : 64;
    void *grown;

    if (n < *cap)
        return true;
    grown = mem_grow(*p, more, size);
    if (!grown)
        return false;
    *p = grown;
    *cap = more;
    return true;
}

static int add_track(struct trace *t, const char *pid, const char *tid,
                     const char *key, struct err *err)
{
    struct trace_track *k;
    void *p = t->track;
    const char *copy;

    if (t->track_names.n == TRACE_TRACKS_MAX)
        return err_set(err, ERR_CORRUPT,
                       "'%s' has more than %d threads and streams", t->path,
                       TRACE_TRACKS_MAX);
    if (!make_room(&p, t->track_names.n, &t->track_cap, sizeof *k))
        return trace_no_memory(t, err);
    t->track = p;
    k = &t->track[t->track_names.n];
    memset(k, 0, sizeof *k);
    k->open = -1;
    k->pid = arena_strdup(&t->arena, pid);
    k->tid = arena_strdup(&t->arena, tid);
    copy = arena_strdup(&t->arena, key);
    if (!k->pid || !k->tid || !copy || !name_index_add(&t->track_names, copy))
        return trace_no_memory(t, err);
    return 0;
}

static int find_track(struct trace *t, uint32_t *out, const struct trace_raw *e,
                      struct err *err)
{
    const char *pid = get_or(e, FIELD_PID, ""), *tid = get_or(e, FIELD_TID, "");
    struct str key = {0};
    size_t at;
    int rc = 0;

    str_addf(&key, "%s\t%s", pid, tid);
    if (key.failed)
        return trace_no_memory(t, err);
    at = name_index_find(&t->track_names, key.text);
    if (at == NAME_NONE) {
        rc = add_track(t, pid, tid, key.text, err);
        at = t->track_names.n - 1;
    }
    str_free(&key);
    *out = (uint32_t)at;
    return rc;
}

/* Writers of old give no category: a guess by the name and the process. */
static enum trace_class guess(const struct trace_raw *e)
{
    const char *pid = get_or(e, FIELD_PID, ""), *name = get(e, FIELD_NAME);

    if (strcmp(pid, "CUDA functions") == 0)
        return TRACE_KERNEL;
    if (strcmp(pid, "CPU functions") != 0 || !name)
        return TRACE_OTHER;
    return strstr(name, "::") || strstr(name, "Backward") ? TRACE_OP
                                                          : TRACE_NOTE;
}

static enum trace_class class_of(const struct trace_raw *e)
{
    const char *cat = get(e, FIELD_CAT);
    enum trace_class c = TRACE_OTHER;
    size_t i;

    if (!cat || !*cat)
        c = guess(e);
    for (i = 0; cat && i < sizeof classes / sizeof *classes; i++)
        if (strcasecmp(cat, classes[i].cat) == 0)
            c = classes[i].class;
    return c;
}

/* "ProfilerStep#12", blanks around the # allowed as HTA does: its number. */
static bool step_number(int64_t *out, const char *name)
{
    static const char begin[] = "ProfilerStep";

    if (strncmp(name, begin, sizeof begin - 1) != 0)
        return false;
    name += sizeof begin - 1;
    name += strspn(name, " ");
    if (*name++ != '#')
        return false;
    name += strspn(name, " ");
    return *name != '-' && trace_parse_int(out, name);
}

int trace_add_slice(struct trace *t, const struct trace_slice *s,
                    struct err *err)
{
    void *p = t->slice;

    if (t->n == TRACE_SLICES_MAX)
        return err_set(err, ERR_CORRUPT,
                       "'%s' has more than %d slices and flows", t->path,
                       TRACE_SLICES_MAX);
    if (!make_room(&p, t->n, &t->cap, sizeof *s))
        return trace_no_memory(t, err);
    t->slice = p;
    t->slice[t->n++] = *s;
    return 0;
}

static int keep_wait(struct trace *t, const struct trace_raw *e, int64_t ts,
                     struct err *err)
{
    const char *kind = get_or(e, FIELD_SYNC_KIND, get_or(e, FIELD_NAME, ""));
    struct trace_wait *w;
    void *p = t->wait;

    if (!make_room(&p, t->n_waits, &t->wait_cap, sizeof *w))
        return trace_no_memory(t, err);
    t->wait = p;
    w = &t->wait[t->n_waits];
    w->ts = ts;
    w->offset = e->offset;
    w->index = (uint32_t)e->index;
    w->record = get_int(e, FIELD_WAIT_RECORD, -1);
    w->kind = arena_strdup(&t->arena, kind);
    w->device = arena_strdup(&t->arena, get_or(e, FIELD_DEVICE, ""));
    w->stream = arena_strdup(&t->arena, get_or(e, FIELD_STREAM, ""));
    if (!w->kind || !w->device || !w->stream)
        return trace_no_memory(t, err);
    t->n_waits++;
    return 0;
}

/* A slice of which begin and, where it has one, end are known. */
static int keep_slice(struct trace *t, const struct trace_raw *e,
                      struct trace_slice *s, struct err *err)
{
    const char *name = get_or(e, FIELD_NAME, "(no name)");
    int64_t step;
    int rc;

    s->class = (uint8_t)class_of(e);
    s->link = get_int(e, FIELD_CORRELATION, -1);
    if (s->class != TRACE_GPU_NOTE && step_number(&step, name)) {
        s->class = TRACE_STEP;
        s->link = step;
        name = "ProfilerStep";
    }
    rc = trace_intern(t, &s->name, name, err);
    if (rc == 0 && s->class == TRACE_SYNC && !t->sum)
        rc = keep_wait(t, e, s->ts, err);
    if (rc == 0 && trace_is_gpu_op(s))
        t->track[s->track].gpu = true;
    if (rc != 0)
        return rc;
    return t->sum ? trace_sum_add(t, s, err) : trace_add_slice(t, s, err);
}

static int keep_complete(struct trace *t, const struct trace_raw *e,
                         struct trace_slice *s, struct err *err)
{
    const char *dur = get(e, FIELD_DUR);

    t->faults.checked[RULE_DUR]++;
    if (!dur || !trace_parse_us(&s->dur, dur) || s->dur < 0 ||
        s->dur > dur_max) {
        fault(t, e, RULE_DUR,
              dur ? "dur must be a time from 0 us to 104 days" : "no dur",
              FIELD_DUR);
        t->n_skipped++;
        return 0;
    }
    return keep_slice(t, e, s, err);
}

static int keep_begin(struct trace *t, const struct trace_raw *e,
                      struct trace_slice *s, struct err *err)
{
    int64_t outer = t->track[s->track].open;
    int rc;

    if (t->sum) { /* how long it takes is not known yet */
        t->sum->disorder = true;
        return err_set(err, ERR_CORRUPT, "'%s' has slices that begin (B)",
                       t->path);
    }
    s->open = true;
    rc = keep_slice(t, e, s, err);
    if (rc == 0) {
        t->slice[t->n - 1].dur = outer; /* until its own end is known */
        t->track[s->track].open = (int64_t)t->n - 1;
        t->n_unfinished++;
    }
    return rc;
}

static void keep_end(struct trace *t, const struct trace_raw *e,
                     const struct trace_slice *s)
{
    struct trace_track *track = &t->track[s->track];
    struct trace_slice *begun;

    if (track->open < 0) {
        fault(t, e, RULE_NESTING, "an end (E) without a beginning (B)",
              FIELD_PH);
        return;
    }
    begun = &t->slice[track->open];
    track->open = begun->dur;
    begun->dur = s->ts - begun->ts;
    begun->open = false;
    t->n_unfinished--;
    t->faults.checked[RULE_DUR]++;
    if (begun->dur < 0 || begun->dur > dur_max) {
        fault(t, e, RULE_DUR,
              "the end (E) is before its beginning (B), or 104 days behind it",
              FIELD_TS);
        begun->dur = 0;
    }
}

static int keep_flow(struct trace *t, const struct trace_raw *e,
                     struct trace_slice *s, struct err *err)
{
    const char *id = get_or(e, FIELD_ID, "");
    uint64_t h = UINT64_C(14695981039346656037);

    if (t->sum)
        return 0;
    s->class = *get_or(e, FIELD_PH, "") == 's' ? TRACE_FLOW_OUT : TRACE_FLOW_IN;
    if (!trace_parse_int(&s->link, id)) {
        for (; *id; id++)
            h = (h ^ (unsigned char)*id) * UINT64_C(1099511628211);
        s->link = (int64_t)(h >> 1);
    }
    if (trace_intern(t, &s->name, get_or(e, FIELD_CAT, ""), err) != 0)
        return err->code;
    return trace_add_slice(t, s, err);
}

static void keep_memory(struct trace *t, const struct trace_raw *e, int64_t ts)
{
    int64_t type = get_int(e, FIELD_DEVICE_TYPE, 0);
    int64_t id = get_int(e, FIELD_DEVICE_ID, 0);
    int64_t allocated = get_int(e, FIELD_ALLOCATED, 0);
    int64_t reserved = get_int(e, FIELD_RESERVED, 0);
    struct trace_memory *m = t->memory, *end = m + t->n_memories;

    while (m < end && (m->type != type || m->id != id))
        m++;
    if (m == end) {
        if (t->n_memories == TRACE_DEVICES_MAX)
            return;
        t->n_memories++;
        m->type = type;
        m->id = id;
        m->peak_allocated = INT64_MIN;
        m->peak_reserved = reserved;
    }
    m->n++;
    if (allocated > m->peak_allocated) {
        m->peak_allocated = allocated;
        m->peak_ts = ts;
    }
    if (reserved > m->peak_reserved)
        m->peak_reserved = reserved;
}

static int keep_row_name(struct trace *t, const struct trace_raw *e,
                         struct err *err)
{
    const char *text = get_or(e, FIELD_ARG_NAME, "");

    if (strstr(text, "SIMULATED"))
        t->simulated = true;
    if (t->process[0] || strcmp(get_or(e, FIELD_NAME, ""), "process_name") != 0)
        return 0;
    t->process = arena_strndup(&t->arena, text, strnlen(text, 400));
    if (t->process)
        return 0;
    t->process = "";
    return trace_no_memory(t, err);
}

static bool has_time(struct trace *t, const struct trace_raw *e, int64_t *ts)
{
    const char *text = get(e, FIELD_TS);
    bool ok = text && trace_parse_us(ts, text);

    t->faults.checked[RULE_TS]++;
    if (!ok || *ts < 0)
        fault(t, e, RULE_TS, text ? "ts must be a time from 0 on" : "no ts",
              FIELD_TS);
    if (!ok)
        t->n_skipped++;
    return ok;
}

int trace_keep_event(struct trace *t, const struct trace_raw *e,
                     struct err *err)
{
    struct trace_slice s = {.offset = e->offset, .index = (uint32_t)e->index};
    const char *ph = get_or(e, FIELD_PH, "");

    if (strcmp(ph, "M") == 0)
        return keep_row_name(t, e, err);
    if (!has_time(t, e, &s.ts))
        return 0;
    if (!*ph || ph[1] != '\0' || !strchr("XBEsfiI", *ph))
        return 0;
    if (*ph == 'i' || *ph == 'I') {
        if (strcmp(get_or(e, FIELD_NAME, ""), "[memory]") == 0)
            keep_memory(t, e, s.ts);
        return 0;
    }
    if (find_track(t, &s.track, e, err) != 0)
        return err->code;
    switch (*ph) {
    case 'X':
        return keep_complete(t, e, &s, err);
    case 'B':
        return keep_begin(t, e, &s, err);
    case 'E':
        keep_end(t, e, &s);
        return 0;
    default:
        return keep_flow(t, e, &s, err);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct trace_slice *x = a, *y = b;

    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    /* What encloses comes first, a flow after the slice that it binds to. */
    if (trace_is_flow(x) != trace_is_flow(y))
        return trace_is_flow(x) ? 1 : -1;
    if (x->dur != y->dur)
        return x->dur > y->dur ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void trace_sort(struct trace *t)
{
    size_t i, n = 0;

    for (i = 0; i < t->n; i++)
        if (!t->slice[i].open)
            t->slice[n++] = t->slice[i];
    t->n = n;
    if (n)
        qsort(t->slice, n, sizeof *t->slice, by_time);
}
