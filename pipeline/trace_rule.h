/* The rules that a trace is checked by, and what broke them. */
#ifndef PIPELINE_TRACE_RULE_H
#define PIPELINE_TRACE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/arena.h"

enum trace_rule {
    RULE_JSON,
    RULE_TS,
    RULE_DUR,
    RULE_NESTING,
    RULE_LAUNCH,
    RULE_GPU_OP,
    RULE_FLOW,
    RULE_CAUSALITY,
    RULE_STREAM_SYNC,
    RULE_WAIT,
    RULE_STEPS,
    RULE_PHASES,
    RULE_PHASE_OF,
    RULE_KERNELS,
    TRACE_RULES
};

enum { TRACE_FAULTS_MAX = 20 }; /* told of each rule; all are counted */

/* The short name of a rule, and what it asks for. */
struct trace_rule_text {
    const char *id, *text;
};
extern const struct trace_rule_text trace_rule_text[TRACE_RULES];

struct trace_faults {
    const char *text[TRACE_RULES][TRACE_FAULTS_MAX];
    uint64_t broken[TRACE_RULES];
    uint64_t checked[TRACE_RULES]; /* how often there was something to check */
    bool failed;                   /* out of memory happened */
};

/* Counts a fault, and keeps what fmt says of it. */
void trace_fault(struct trace_faults *f, struct arena *a, enum trace_rule rule,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
