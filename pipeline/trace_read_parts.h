/* What the files of the trace reader share. */
#ifndef PIPELINE_TRACE_READ_PARTS_H
#define PIPELINE_TRACE_READ_PARTS_H

#include "nn/base/str.h"
#include "pipeline/trace_read.h"
#include "pipeline/trace_read_json.h"

/* What is read of an event; those from FIELD_ARG on stand in its args. */
enum trace_field {
    FIELD_PH,
    FIELD_CAT,
    FIELD_NAME,
    FIELD_PID,
    FIELD_TID,
    FIELD_TS,
    FIELD_DUR,
    FIELD_ID,
    FIELD_ARGS, /* has no value of its own */
    FIELD_ARG,
    FIELD_ARG_NAME = FIELD_ARG,
    FIELD_CORRELATION,
    FIELD_STREAM,
    FIELD_DEVICE,
    FIELD_SYNC_KIND,
    FIELD_WAIT_RECORD,
    FIELD_ALLOCATED,
    FIELD_RESERVED,
    FIELD_DEVICE_TYPE,
    FIELD_DEVICE_ID,
    TRACE_FIELDS
};

/* An event as it stands in the text. */
struct trace_raw {
    uint64_t index, offset;
    uint32_t have;                 /* a bit for each field that is there */
    struct str text[TRACE_FIELDS]; /* of numbers as they are written */
};

/* Reads tokens of JSON into t; user is a struct trace_events. */
struct trace_events;
struct trace_events *trace_events_new(struct trace *t); /* NULL: no memory */
void trace_events_free(struct trace_events *e);         /* NULL is fine */
int trace_events_take(void *user, const struct json_token *token,
                      struct err *err);
/* Whether the list of events was there. */
bool trace_events_found(const struct trace_events *e);

/* Keeps what is of use of an event. */
int trace_keep_event(struct trace *t, const struct trace_raw *e,
                     struct err *err);

/* Adds to t->slice. */
int trace_add_slice(struct trace *t, const struct trace_slice *s,
                    struct err *err);

/* Sorts what was kept, without the slices that are still open. */
void trace_sort(struct trace *t);

/* A text's number in names. */
int trace_intern(struct trace *t, uint32_t *out, const char *name,
                 struct err *err);

int trace_no_memory(const struct trace *t, struct err *err);

#endif
