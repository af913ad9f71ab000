/* Checks traces by the rules of pipeline/trace_rule.h. */
#ifndef PIPELINE_TRACE_CHECK_H
#define PIPELINE_TRACE_CHECK_H

#include "nn/base/prof.h"
#include "nn/base/str.h"
#include "pipeline/trace_read.h"
#include "pipeline/trace_steps.h"

/* What the trace is of, where that is known. */
struct trace_schedule {
    struct prof_schedule schedule;
    int64_t n_steps; /* that the run had */
};

/* Adds what breaks a rule to t->faults. schedule may be NULL: then steps must
 * be numbered one by one, or in cycles of equal length. 0 whatever is found;
 * ERR_NOMEM. */
int pl_trace_check(struct trace *t, const struct trace_schedule *schedule,
                   struct err *err);
/* How many faults there are in all. */
uint64_t pl_trace_broken(const struct trace *t);

/* All at once for a file, with a report on every rule. A file that cannot be
 * taken apart breaks "json", and the report says why. *broken: the faults in
 * all. ERR_IO, ERR_NOMEM. */
int pl_trace_check_file(struct str *report, uint64_t *broken, const char *path,
                        const struct trace_schedule *schedule, bool json,
                        struct err *err);

/* For the files of the checker: "event 7 at offset 1200 'name'". */
struct trace_place {
    char text[280];
};
const char *trace_place(struct trace_place *p, const struct trace *t,
                        const struct trace_slice *s);
void trace_check_links(struct trace *t, const struct trace_steps *s);
int trace_check_flows(struct trace *t, struct err *err);
void trace_check_waits(struct trace *t, const struct trace_steps *s);
void trace_check_steps(struct trace *t, const struct trace_steps *s,
                       const struct trace_schedule *schedule);
int trace_check_phases(struct trace *t, const struct trace_steps *s,
                       struct err *err);

#endif
