/* memory_events.csv.gz: all of a run's memory record, for stages that compare.
 * Rows, each named by its first field, in this order and no others:
 *
 *   memory,1
 *   run,LABEL,DEVICE
 *   steps,FIRST,STEPS,CALLS A STEP,BEGIN NS,END NS,TIMED (0 or 1)
 *   bytes,PADDING,HELD,WORKSPACE,RESIDENT
 *   counts,TENSORS,EVENTS,SPANS
 *   tensor,NAME,SHAPE ("256x784", "" for one number),DTYPE,KIND,BYTES
 *   event,NS,TENSOR,ACTION,STEP,CALL,PHASE
 *   span,STEP,PHASE,FIRST CALL,CALLS,BEGIN NS,END NS
 *
 * KIND, ACTION and PHASE are the names of nn/step_memory.h and nn/op.h; the
 * phase of what was there before is "". */
#ifndef PIPELINE_MEMORY_FILE_H
#define PIPELINE_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/memory_timeline.h"

struct pl_memory_file {
    struct nn_step_memory *memory;
    struct str label, device;
    int64_t workspace, resident;
};

/* The file's contents, not packed. Out of memory is out->failed. */
void pl_memory_csv(const struct pl_memory_run *run, const char *device,
                   struct str *out);

/* Reads len bytes of contents that name calls. *out is zeroed first and the
 * caller's (pl_memory_file_free), on failure empty. ERR_CORRUPT names the line:
 * a row that is missing, cut short or too many, a number or name that cannot
 * be, a tensor that dies before it is born. ERR_NOMEM. */
int pl_memory_csv_read(struct pl_memory_file *out, const char *text, size_t len,
                       const char *name, struct err *err);
/* The same of a packed file. ERR_CONFIG: it is not there; ERR_CORRUPT: it is
 * no whole gzip file. */
int pl_memory_file_read(struct pl_memory_file *out, const char *path,
                        struct err *err);
void pl_memory_file_free(struct pl_memory_file *f);

#endif
