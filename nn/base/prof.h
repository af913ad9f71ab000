/* What a run did and when: spans of time, kept by each thread for itself. A
 * recorder that is not there costs its callers one branch. */
#ifndef NN_BASE_PROF_H
#define NN_BASE_PROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"

/* In the order of nesting: an earlier one may enclose a later one. */
enum prof_kind { PROF_STEP, PROF_PHASE, PROF_NOTE, PROF_OP };

struct prof_span {
    int64_t begin, end; /* ns since 1970, end >= begin */
    const char *name;   /* borrowed, as arg is: both outlive the recorder */
    const void *arg;    /* of an OP its struct nn_call; NULL: none */
    int64_t step;       /* the step at hand */
    int64_t id;         /* prof_id; 0: it has none */
    int32_t tid;        /* of the operating system */
    enum prof_kind kind;
};

/* As torch.profiler.schedule: of each wait + warmup + active steps behind the
 * first skip_first, the last `active` are recorded; repeat cycles, 0: as many
 * as there are steps for. active 0: all that come after wait and warmup. */
struct prof_schedule {
    int64_t skip_first, wait, warmup, active, repeat;
};
enum prof_state { PROF_IDLE, PROF_WARMUP, PROF_ACTIVE };
enum prof_state prof_schedule_at(const struct prof_schedule *s, int64_t step);

struct prof;

/* At most most_spans are kept, and of at most PROF_THREADS threads; what is
 * more is counted. ERR_NOMEM. */
enum { PROF_THREADS = 64 };
int prof_new(struct prof **out, const struct prof_schedule *schedule,
             size_t most_spans, struct err *err);
void prof_free(struct prof *p); /* NULL is fine */

/* Now, in ns of CLOCK_REALTIME as it ran when p was made: setting the clock
 * afterwards moves no span against another. */
int64_t prof_now(const struct prof *p);
/* Before the first step: from now on the time is CLOCK_REALTIME itself, by
 * which a device's own records go; setting it would tear the two apart. */
void prof_device_clock(struct prof *p);

/* Around each step, by one thread; steps count from 0. In warm-up and before
 * each step, outside of its span, memory is made ready: twice what a step took
 * so far, 4096 spans at the least. */
void prof_step_begin(struct prof *p);
void prof_step_end(struct prof *p);

/* Whether spans are kept at the moment; without it the rest does nothing. */
bool prof_active(const struct prof *p);
/* A phase begins, and ends where another one does, or with the step; the same
 * name (pointer) goes on with the one at hand. NULL: none from now on. Of the
 * thread of the steps alone. */
void prof_phase(struct prof *p, const char *name, int64_t now);
/* Any thread, without a lock. kind is PROF_NOTE or PROF_OP. */
void prof_add(struct prof *p, enum prof_kind kind, const char *name,
              const void *arg, int64_t begin, int64_t end);
/* A number, above 0, for a span that begins now: what is given to a device
 * meanwhile is recorded under it. prof_add_as adds the span by that number. Of
 * the thread of the steps alone. */
int64_t prof_id(struct prof *p);
void prof_add_as(struct prof *p, enum prof_kind kind, const char *name,
                 const void *arg, int64_t begin, int64_t end, int64_t id);
/* A copy of size bytes that lives as long as p; NULL: no memory. Of the thread
 * of the steps alone. */
void *prof_keep(struct prof *p, const void *data, size_t size);

/* Spans that found no room. */
uint64_t prof_lost(const struct prof *p);
/* All spans by thread, then time, what encloses before what is enclosed. The
 * array is the caller's (mem_free), the spans are p's. No thread may record
 * meanwhile. ERR_NOMEM. */
int prof_spans(const struct prof *p, const struct prof_span ***out, size_t *n,
               struct err *err);

#endif
