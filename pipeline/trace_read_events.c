/* From tokens to events: which text stands where. */
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/trace_read_parts.h"

enum section { ELSEWHERE, EVENTS, DEVICES, DISTRIBUTED };

struct trace_events {
    struct trace *t;
    struct trace_raw event;
    enum section section; /* of the top level's object */
    size_t base;          /* the depth that events stand at; 0: no events yet */
    int field;            /* whose value is due; -1: of no interest */
    bool in_args, found;
    char key[80]; /* of the top level, or of distributedInfo; cut */
};

static const struct {
    const char *key;
    enum trace_field field;
} keys[] = {
    {"ph", FIELD_PH},
    {"cat", FIELD_CAT},
    {"name", FIELD_NAME},
    {"pid", FIELD_PID},
    {"tid", FIELD_TID},
    {"ts", FIELD_TS},
    {"dur", FIELD_DUR},
    {"id", FIELD_ID},
    {"args", FIELD_ARGS},
    {"name", FIELD_ARG_NAME},
    {"labels", FIELD_ARG_NAME},
    {"correlation", FIELD_CORRELATION},
    {"stream", FIELD_STREAM},
    {"device", FIELD_DEVICE},
    {"cuda_sync_kind", FIELD_SYNC_KIND},
    {"wait_on_cuda_event_record_corr_id", FIELD_WAIT_RECORD},
    {"Total Allocated", FIELD_ALLOCATED},
    {"Total Reserved", FIELD_RESERVED},
    {"Device Type", FIELD_DEVICE_TYPE},
    {"Device Id", FIELD_DEVICE_ID},
};

struct trace_events *trace_events_new(struct trace *t)
{
    struct trace_events *e = mem_zalloc(sizeof *e);

    if (e)
        e->t = t;
    return e;
}

void trace_events_free(struct trace_events *e)
{
    size_t i;

    for (i = 0; e && i < TRACE_FIELDS; i++)
        str_free(&e->event.text[i]);
    mem_free(e);
}

bool trace_events_found(const struct trace_events *e)
{
    return e->found;
}

static int field_of(const char *key, bool arg)
{
    size_t i;

    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((keys[i].field >= FIELD_ARG) == arg &&
            strcmp(keys[i].key, key) == 0)
            return (int)keys[i].field;
    return -1;
}

static bool is_scalar(const struct json_token *k)
{
    return k->kind == JSON_STRING || k->kind == JSON_NUMBER ||
           k->kind == JSON_TRUE || k->kind == JSON_FALSE;
}

static int corrupt(const struct trace_events *e, const struct json_token *k,
                   const char *what, struct err *err)
{
    return err_set(err, ERR_CORRUPT,
                   "'%s' is no trace: event %llu at offset "
                   "%llu %s",
                   e->t->path, (unsigned long long)e->event.index,
                   (unsigned long long)k->offset, what);
}

static int take_key(struct trace_events *e, const struct json_token *k,
                    bool arg)
{
    struct trace_raw *event = &e->event;

    e->field = field_of(k->text, arg);
    e->in_args = e->in_args && arg;
    if (e->field < 0)
        return 0;
    if (event->have & 1u << e->field)
        trace_fault(&e->t->faults, &e->t->arena, RULE_JSON,
                    "event %llu: the key '%s' stands twice, again at offset "
                    "%llu",
                    (unsigned long long)event->index, k->text,
                    (unsigned long long)k->offset);
    event->have &= ~(1u << e->field);
    if (e->field == FIELD_ARGS)
        event->have |= 1u << e->field;
    return 0;
}

static int take_value(struct trace_events *e, const struct json_token *k,
                      struct err *err)
{
    struct str *to;

    if (e->field < 0 || e->field == FIELD_ARGS || !is_scalar(k))
        return 0;
    if (k->cut)
        return corrupt(e, k, "has a text of more than 65,536 bytes", err);
    to = &e->event.text[e->field];
    str_clear(to);
    str_addn(to, k->text, k->len);
    if (to->failed)
        return trace_no_memory(e->t, err);
    e->event.have |= 1u << e->field;
    return 0;
}

static int begin_or_end(struct trace_events *e, const struct json_token *k,
                        struct err *err)
{
    if (k->kind == JSON_OBJECT) {
        e->event.offset = k->offset;
        e->event.have = 0;
        e->field = -1;
        e->in_args = false;
        return 0;
    }
    if (k->kind != JSON_END)
        return corrupt(e, k, "is not an object", err);
    e->t->n_events++;
    e->field = -1;
    if (e->t->n_events > UINT32_MAX)
        return corrupt(e, k, "is one more than can be counted", err);
    if (trace_keep_event(e->t, &e->event, err) != 0)
        return err->code;
    e->event.index++;
    return 0;
}

static int in_events(struct trace_events *e, const struct json_token *k,
                     struct err *err)
{
    if (k->depth == e->base)
        return begin_or_end(e, k, err);
    if (k->depth == e->base + 1) {
        if (k->kind == JSON_KEY)
            return take_key(e, k, false);
        if (k->kind == JSON_OBJECT)
            e->in_args = e->field == FIELD_ARGS;
        return take_value(e, k, err);
    }
    if (k->depth != e->base + 2 || !e->in_args)
        return 0;
    return k->kind == JSON_KEY ? take_key(e, k, true) : take_value(e, k, err);
}

static const char *copy(struct trace_events *e, const char *text,
                        struct err *err)
{
    const char *s = arena_strndup(&e->t->arena, text, strnlen(text, 400));

    if (!s)
        (void)trace_no_memory(e->t, err);
    else if (strstr(s, "SIMULATED"))
        e->t->simulated = true;
    return s;
}

static int add_fact(struct trace_events *e, const char *key, const char *value,
                    struct err *err)
{
    struct trace_fact *f = &e->t->fact[e->t->n_facts];

    if (e->t->n_facts == TRACE_FACTS_MAX)
        return 0;
    f->key = copy(e, key, err);
    f->value = f->key ? copy(e, value, err) : NULL;
    if (!f->value)
        return ERR_NOMEM;
    e->t->n_facts++;
    return 0;
}

static const char *value_text(const struct json_token *k)
{
    return k->kind == JSON_TRUE    ? "true"
           : k->kind == JSON_FALSE ? "false"
                                   : k->text;
}

/* A device is an object of the list deviceProperties. */
static int in_devices(struct trace_events *e, const struct json_token *k,
                      struct err *err)
{
    struct trace *t = e->t;
    struct trace_fact *d;

    if (k->kind == JSON_OBJECT && k->depth == 2 &&
        t->n_devices < TRACE_DEVICES_MAX) {
        d = &t->device[t->n_devices++];
        d->key = d->value = "";
    }
    if (k->depth != 3 || t->n_devices == 0)
        return 0;
    d = &t->device[t->n_devices - 1];
    if (k->kind == JSON_KEY)
        e->field = strcmp(k->text, "id") == 0     ? 0
                   : strcmp(k->text, "name") == 0 ? 1
                                                  : -1;
    else if (is_scalar(k) && e->field == 0)
        d->key = copy(e, k->text, err);
    else if (is_scalar(k) && e->field == 1)
        d->value = copy(e, k->text, err);
    return d->key && d->value ? 0 : ERR_NOMEM;
}

static int in_distributed(struct trace_events *e, const struct json_token *k,
                          struct err *err)
{
    if (k->depth != 2)
        return 0;
    if (k->kind == JSON_KEY) {
        size_t n = strnlen(k->text, sizeof e->key - 1);

        memcpy(e->key, k->text, n);
        e->key[n] = '\0';
        return 0;
    }
    return is_scalar(k) ? add_fact(e, e->key, value_text(k), err) : 0;
}

static enum section section_of(const char *key)
{
    return strcmp(key, "traceEvents") == 0        ? EVENTS
           : strcmp(key, "deviceProperties") == 0 ? DEVICES
           : strcmp(key, "distributedInfo") == 0  ? DISTRIBUTED
                                                  : ELSEWHERE;
}

static int begin_events(struct trace_events *e, size_t base, struct err *err)
{
    (void)err;
    if (e->found)
        trace_fault(&e->t->faults, &e->t->arena, RULE_JSON,
                    "the key 'traceEvents' stands twice");
    e->found = true;
    e->base = base;
    return 0;
}

/* A key of the outermost object, or its value. */
static int at_top(struct trace_events *e, const struct json_token *k,
                  struct err *err)
{
    if (k->kind == JSON_KEY) {
        size_t n = strnlen(k->text, sizeof e->key - 1);

        memcpy(e->key, k->text, n);
        e->key[n] = '\0';
        e->section = section_of(e->key);
        return 0;
    }
    if (e->section == EVENTS && k->kind == JSON_ARRAY)
        return begin_events(e, 2, err);
    if (e->section == EVENTS && k->kind != JSON_END)
        return err_set(err, ERR_CORRUPT,
                       "'%s' is no trace: traceEvents at offset %llu is not an "
                       "array",
                       e->t->path, (unsigned long long)k->offset);
    return is_scalar(k) ? add_fact(e, e->key, value_text(k), err) : 0;
}

int trace_events_take(void *user, const struct json_token *k, struct err *err)
{
    struct trace_events *e = user;

    if (k->depth == 0) {
        if (k->kind == JSON_ARRAY) {
            e->t->bare = true;
            e->section = EVENTS;
            return begin_events(e, 1, err);
        }
        return 0;
    }
    if (k->depth == 1 && !e->t->bare)
        return at_top(e, k, err);
    switch (e->section) {
    case EVENTS:
        return in_events(e, k, err);
    case DEVICES:
        return in_devices(e, k, err);
    case DISTRIBUTED:
        return in_distributed(e, k, err);
    case ELSEWHERE:
        break;
    }
    return 0;
}
