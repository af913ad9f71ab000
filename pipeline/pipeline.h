/* All that cmd/ sees: open a job, plan it, run it, ask about it. */
#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "nn/base/str.h"

#define PL_VERSION "0.1.0"

struct pl_texts {
    const char *const *item;
    size_t n;
};

/* What the command line asks. Zero-initialise; texts are borrowed. */
struct pl_opts {
    const char *file;
    struct pl_texts overrides; /* "a.b=v", "lr=0.01", "~a.b" */
    const char *out;           /* NULL: "out" */
    const char *device;        /* NULL: "auto" */
    int threads;               /* 0: all the cores this process may use */
    const char *numerics;      /* of all stages on a GPU; NULL: the file's */
    struct pl_texts only;      /* patterns of stage ids: these, and needs */
    struct pl_texts from;      /* these and what builds on them, and needs */
    struct pl_texts force;     /* these run again whatever their state */
    bool force_all;
    bool fresh;          /* unfinished stages begin anew */
    bool untrusted;      /* refuse what a stranger's file must not ask for */
    bool keep_going;     /* go on with what does not need the failed stage */
    const char *kind;    /* only stages of this kind, and needs; NULL: all */
    bool offline;        /* fetch from folders and the cache only */
    const char *mirror;  /* tried first; NULL: $PIPELINE_MIRROR, if any */
    const char *cacert;  /* a file of certificates; NULL: the system's */
    bool wait;           /* for a run that holds the results, not ERR_LOCKED */
    int jobs;            /* stages at once; 0: 1 */
    bool locked;         /* ERR_CORRUPT where config or results differ from */
    const char *lock_to; /* this file; NULL: out/<name>/pipeline.lock.json */
};

/* A checked config and the options that it is to be run with. */
struct pl_job;

/* Loads and checks opts->file; opts must outlive the job. End with
 * pl_job_free, which *out wants after ERR_CONFIG too when it is not NULL:
 * then pl_job_mistakes has the messages and *err only sums them up. */
int pl_job_open(struct pl_job **out, const struct pl_opts *opts,
                struct err *err);
void pl_job_free(struct pl_job *job); /* NULL is fine */

/* The mistakes in the file as they are shown; colour: ANSI escapes. */
void pl_job_mistakes(const struct pl_job *job, struct str *out, bool colour);
/* The same, in the same order, as JSON objects, separated by commas: {"file":
 * ..., "line": ..., "column": ..., "length": ..., "message": ..., "help":
 * [...]}. */
void pl_job_mistakes_json(const struct pl_job *job, struct str *out);
/* A text as JSON, in quotes. */
void pl_text_json(const char *text, struct str *out);
const char *pl_job_name(const struct pl_job *job);
const char *pl_job_recipe(const struct pl_job *job); /* "" without vars */
const char *pl_job_dir(const struct pl_job *job);    /* out/<name> */
size_t pl_job_stages(const struct pl_job *job);
/* The merged config as YAML. */
void pl_job_resolved(const struct pl_job *job, struct str *out);

enum pl_action {
    PL_UP_TO_DATE,
    PL_RUN,
    PL_MAY_RUN, /* if a stage that it needs, and that runs first, changes */
    PL_SKIP     /* a stage that it needs failed, or is to fail */
};

/* What the folder of a stage holds. */
enum pl_state {
    PL_STATE_MISSING,
    PL_STATE_DONE,
    PL_STATE_STALE,       /* whole, of other content or damaged */
    PL_STATE_INTERRUPTED, /* begun, not ended */
    PL_STATE_FAILED
};

/* A file that a stage left. */
struct pl_artifact {
    const char *name; /* below the stage's folder */
    unsigned long long bytes;
    const char *sha256;
};

struct pl_step {
    const char *stage, *kind;
    enum pl_action action;
    enum pl_state state;
    /* "with.epochs 5 -> 10, and 1 more"; "" when up to date, or "failed as
     * expected". */
    const char *reason;
    const char *changes; /* of several all in full, a line each; or "" */
    /* What the folder holds when the state is DONE or STALE. */
    const struct pl_artifact *artifact;
    size_t n_artifacts;
};

/* What a run would do now, in order; reads only. */
struct pl_plan {
    struct pl_step *step;
    size_t n;
    char holder[200]; /* "pid 12 on host since ..." if a run is under way */
    struct arena arena;
};
/* *out is the caller's (pl_plan_free). ERR_CONFIG if an option names a stage
 * that is not there. */
int pl_plan_make(struct pl_plan **out, const struct pl_job *job,
                 struct err *err);
void pl_plan_free(struct pl_plan *plan);         /* NULL is fine */
size_t pl_plan_work(const struct pl_plan *plan); /* steps that would run */
/* The plan as one JSON object: what stands there, and what would be done. */
void pl_plan_json(const struct pl_plan *plan, const struct pl_job *job,
                  struct str *out);

enum pl_graph_form { PL_GRAPH_TEXT, PL_GRAPH_DOT, PL_GRAPH_MERMAID };
/* The selected stages and which needs which. */
void pl_graph(const struct pl_job *job, enum pl_graph_form form,
              struct str *out);

/* How far a stage's work is. */
struct pl_progress {
    const char *text;   /* what stands in front: "epoch 2/5  loss 0.1234" */
    double done, total; /* in units; total 0: unknown */
    const char *unit;   /* "step", "B" */
};

/* What a run tells while it goes. All functions are required. */
struct pl_ui {
    void *user;
    void (*begin)(void *user, const char *device, const char *recipe);
    void (*step)(void *user, const struct pl_step *step);
    void (*say)(void *user, const char *line); /* a result */
    void (*log)(void *user, const char *line); /* about the work */
    void (*progress)(void *user, const char *stage,
                     const struct pl_progress *p);
    void (*ended)(void *user, const char *stage, double seconds);
    void (*failed)(void *user, const char *stage, const struct err *err);
    /* True once the user wants to stop: the step is finished and saved. Called
     * often. */
    bool (*stopping)(void *user);
};

enum pl_outcome {
    PL_PASSED,
    PL_FAILED,
    PL_NOT_ASSESSED, /* the device it wants is not there, or simulated */
    PL_BY_HAND       /* graded by a person */
};

/* One expectation and how it went. */
struct pl_verdict {
    const char *stage;
    const char *expectation; /* "test.accuracy > 0.97" */
    const char *measured;    /* "0.9786", or why there is none */
    const char *why;         /* the config's `why`, or NULL */
    const char *visibility;  /* to the student: "visible", "hidden", ... */
    double points, of;
    enum pl_outcome outcome;
};

/* One stage and how it went. */
struct pl_done {
    struct pl_step step;
    double seconds;    /* that it took; 0 unless it ran to its end */
    const char *error; /* NULL: none */
};

struct pl_result {
    struct pl_done *done; /* in order; not those that were not come to */
    size_t n_done;
    struct pl_verdict *verdict;
    size_t n_verdicts;
    size_t n_failed_expectations;
    double points, of; /* of what was assessed */
    size_t n_run, n_up_to_date, n_failed, n_skipped;
    bool began; /* false: it ended before the first stage */
    struct arena arena;
};

/* Runs what is not up to date. 0 if every stage is whole in the end, whatever
 * the expectations say; else the first failure's code: of a stage if
 * res->n_failed is not 0 (ui->failed has told it), ERR_LOCKED, ERR_DEVICE,
 * ERR_CONFIG or ERR_IO before the first one, ERR_INTERRUPTED when
 * ui->stopping said so. *res is always to be ended by pl_result_free. */
int pl_run(struct pl_job *job, const struct pl_ui *ui, struct pl_result *res,
           struct err *err);
void pl_result_free(struct pl_result *res);
/* The result as one JSON object. status: the exit status to tell; err: what
 * ended the run, or NULL. */
void pl_result_json(const struct pl_result *res, const struct pl_job *job,
                    int status, const struct err *err, struct str *out);

enum pl_clean_what {
    PL_CLEAN_ALL,     /* out/<name> */
    PL_CLEAN_HISTORY, /* out/<name>/.runs */
    PL_CLEAN_CACHE    /* downloads; needs no job */
};
struct pl_clean_opts {
    enum pl_clean_what what;
    bool dry; /* only tell */
    /* "removed out/q2/train (12 files, 1.5 MB)", "kept ...". */
    void (*tell)(void *user, const char *line);
    void *user;
};
/* Removes what the program wrote and nothing else: no link is followed, and
 * what it does not know stays and is told. ERR_LOCKED if a run or a download
 * is under way. */
int pl_clean(const struct pl_job *job, const struct pl_clean_opts *opts,
             struct err *err);

/* What `pipeline help WORD` says about a stage kind or a key of the config.
 * False: WORD is neither, and *nearest is the nearest one or NULL. */
bool pl_help(const char *word, struct str *out, const char **nearest);
/* JSON Schema (draft-07) of the file, for editors. */
void pl_json_schema(struct str *out);
/* The stage kinds, a line each. */
void pl_help_kinds(struct str *out);

/* What this machine has that a run could use, and why not what it lacks: a
 * line each, or one JSON object. */
void pl_doctor(struct str *out);
void pl_doctor_json(struct str *out);

/* What a trace of torch.profiler's kind says in short; what two say side by
 * side; which rules of the format it breaks, and how often in all. As text or
 * as one JSON object. ERR_IO; ERR_CORRUPT: no trace (which pl_trace_validate
 * counts as broken). */
int pl_trace_report(struct str *out, const char *path, bool json,
                    struct err *err);
int pl_trace_compare(struct str *out, const char *a, const char *b, bool json,
                     struct err *err);
int pl_trace_validate(struct str *out, unsigned long long *broken,
                      const char *path, bool json, struct err *err);

/* Serves files to a browser on this machine, until it is closed. */
struct pl_view;
/* The one port of 127.0.0.1 from which the page of ui.perfetto.dev may fetch:
 * its Content Security Policy names it. */
enum { PL_VIEW_PORT = 9001 };
/* path: a file, or a folder with all that is below it but links and names that
 * begin with a dot; it must outlive the server. port: 0: any that is free.
 * *out is the caller's (pl_view_close). ERR_LOCKED: the port is taken; ERR_IO:
 * path cannot be read. */
int pl_view_open(struct pl_view **out, const char *path, int port,
                 struct err *err);
void pl_view_close(struct pl_view *v); /* NULL is fine */
int pl_view_port(const struct pl_view *v);
/* Adds the address of the folder's page, or of the file. */
void pl_view_link(const struct pl_view *v, struct str *out);
/* Adds the link that opens the file in Perfetto's page. False: path is a folder
 * (whose page has such links), or the port is not PL_VIEW_PORT. */
bool pl_view_perfetto(const struct pl_view *v, struct str *out);

/* The nearest of names to a mistyped word, or NULL. */
const char *pl_nearest(const char *word, const char *const *names, size_t n);

#endif
