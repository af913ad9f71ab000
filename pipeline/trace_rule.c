#include "pipeline/trace_rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/utf8.h"

const struct trace_rule_text trace_rule_text[TRACE_RULES] = {
    [RULE_JSON] = {"json", "the file is strict JSON, no key stands twice"},
    [RULE_TS] = {"ts", "every event has a time, and none is before 0"},
    [RULE_DUR] = {"dur", "every slice has a duration, and none is negative"},
    [RULE_NESTING] = {"nesting", "slices of a row enclose each other or are "
                                 "apart"},
    [RULE_LAUNCH] = {"launch", "every GPU operation has exactly one launch"},
    [RULE_GPU_OP] = {"gpu-op", "every launch has exactly one GPU operation, a "
                               "graph's at least one"},
    [RULE_FLOW] = {"flow", "every flow has both ends, each inside a slice"},
    [RULE_CAUSALITY] = {"causality", "no GPU operation begins before its "
                                     "launch"},
    [RULE_STREAM_SYNC] = {"stream-sync", "no kernel of the stream runs where a "
                                         "Stream Sync begins"},
    [RULE_WAIT] = {"wait", "what waits for an event names an earlier "
                           "cudaEventRecord"},
    [RULE_STEPS] = {"steps", "steps are apart and numbered one by one"},
    [RULE_PHASES] = {"phases", "the phases of a step are not longer than it"},
    [RULE_PHASE_OF] = {"phase-of", "every GPU operation of a step with phases "
                                   "was launched in exactly one"},
    [RULE_KERNELS] = {"kernels", "all steps but the first have equally many "
                                 "kernels"},
};

/* Names come from anywhere: what a terminal would obey, or what was cut in the
 * midst of a character, becomes '?'. */
static void clean(char *text)
{
    size_t left = strlen(text), n, len;
    uint32_t cp;

    for (; left > 0; text += n, left -= n) {
        len = utf8_decode(text, left, &cp);
        n = len ? len : 1;
        if (len == 0 || cp < ' ' || (cp >= 0x7f && cp < 0xa0))
            memset(text, '?', n);
    }
}

void trace_fault(struct trace_faults *f, struct arena *a, enum trace_rule rule,
                 const char *fmt, ...)
{
    char text[640];
    uint64_t n = f->broken[rule]++;
    va_list ap;

    if (n >= TRACE_FAULTS_MAX)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    clean(text);
    f->text[rule][n] = arena_strdup(a, text);
    f->failed = f->failed || !f->text[rule][n];
}
