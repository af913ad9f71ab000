/* For the files of the trace writer. */
#ifndef PIPELINE_TRACE_WRITE_PARTS_H
#define PIPELINE_TRACE_WRITE_PARTS_H

#include "pipeline/trace_text.h"
#include "pipeline/trace_write.h"

struct pl_trace_writer {
    struct pl_trace_text out;
    int64_t base, pid;
    const char *path;                 /* of out */
    int64_t n_ops;                    /* Ev Idx of the next */
    bool any;                         /* an event was written */
    const struct nn_device_info *gpu; /* borrowed; NULL: none */
};

void trace_begin_event(struct pl_trace_writer *w);
void trace_add_key(struct pl_trace_text *o, const char *key);
/* ns as us, three decimals: nothing is rounded. */
void trace_add_us(struct pl_trace_text *o, int64_t ns);
/* , "key": "text"; nothing of a text that is NULL or "". */
void trace_add_label(struct pl_trace_text *o, const char *key,
                     const char *text);
/* , "pid": ..., "tid": ..., "ts": ... */
void trace_add_place(struct pl_trace_writer *w, int64_t pid, int64_t tid,
                     int64_t begin);

/* The list deviceProperties; and what made it, as keys of the top. */
void trace_add_gpu(struct pl_trace_text *o, const struct nn_device_info *gpu);
void trace_add_versions(struct pl_trace_text *o,
                        const struct nn_device_info *gpu);

#endif
