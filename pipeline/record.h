/* stage.json, written last: what a whole stage was made from and what it left.
 * unfinished.json, the same for one that was begun and did not end. */
#ifndef PIPELINE_RECORD_H
#define PIPELINE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/inputs.h"
#include "pipeline/metrics.h"

/* Raised when results of older programs must not be taken for current. */
#define PL_FORMAT "1"

#define PL_WHOLE_FILE "stage.json"
#define PL_UNFINISHED_FILE "unfinished.json"

struct pl_output {
    const char *name; /* below the stage's folder */
    uint64_t bytes;
    char sha256[65];
    /* As the file stood when it was hashed. */
    int64_t mtime_ns, ctime_ns;
    uint64_t inode;
};

struct pl_verdict; /* pipeline/pipeline.h */

struct pl_record {
    const char *state; /* done; running, interrupted, failed */
    const char *kind;
    const char *error;   /* "" unless failed; done: it was to fail so */
    const char *changed; /* done, but this input changed meanwhile; or NULL */
    char fingerprint[65];
    struct pl_inputs inputs;
    struct pl_inputs gpu; /* of results made on one: pl_inputs_gpu */
    struct pl_output *output;
    size_t n_outputs;
    const char *device;  /* "cpu", "cuda" */
    const char *backend; /* "cpu (2 threads, avx2)" */
    const char *started;
    double seconds;
    int64_t written_ns; /* mtime of the file itself, when read */
    /* Written, not read back: */
    const struct pl_metrics *facts;
    const struct pl_verdict *verdict;
    size_t n_verdicts;
};

/* Reads dir/file. False: it is not there or is no record; *why then says
 * "missing" or "damaged". Everything lies in arena. */
bool pl_record_read(struct pl_record *r, const char *dir, const char *file,
                    struct arena *arena, const char **why);
int pl_record_write(const struct pl_record *r, const char *dir,
                    const char *file, struct err *err);

/* Hashes dir/o->name and fills the rest of *o. */
int pl_output_measure(struct pl_output *o, const char *dir, struct err *err);

/* Whether every output stands as recorded; else why says "curve.csv is
 * missing" or "curve.csv was changed". A file whose times, size and inode are
 * the recorded ones is not read again, unless it was written so shortly before
 * the record that a later change could carry the same time. */
bool pl_record_intact(const struct pl_record *r, const char *dir,
                      struct str *why);
/* All that is to be said of them, a line each. */
void pl_record_faults(const struct pl_record *r, const char *dir,
                      struct str *lines);

/* One hash over the names and hashes of the outputs. */
int pl_record_outputs_hash(char hex[65], const struct pl_record *r,
                           struct err *err);

#endif
