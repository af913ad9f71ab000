/* The command line: commands, options, exit statuses. */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "pipeline/pipeline.h"

enum cmd_exit {
    EXIT_OK = 0,
    EXIT_EXPECTATION = 1,
    EXIT_USAGE = 2, /* config or command line */
    EXIT_STAGE = 3,
    EXIT_FETCH = 4,
    EXIT_LOCKED = 5,
    EXIT_WORK_LEFT = 6, /* --check found work to do */
    EXIT_NO_DEVICE = 7,
    EXIT_SIGNAL = 128 /* + the signal's number */
};

enum cmd_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum cmd_progress {
    PROGRESS_AUTO,
    PROGRESS_BAR,
    PROGRESS_PLAIN,
    PROGRESS_NONE
};

/* The command line, taken apart. */
struct cmd_opts {
    struct pl_opts pl; /* file and overrides come from words */
    const char **word; /* what is no option, the command's name first */
    size_t n_words;
    struct pl_texts set; /* -S: more overrides */
    bool quiet, verbose, dry_run, check, json, help, version;
    bool dot, mermaid;   /* graph */
    bool history, cache; /* clean */
    bool validate;       /* trace */
    const char *port;    /* view; NULL: Perfetto's */
    int color;           /* enum cmd_color */
    int progress;        /* enum cmd_progress */
    struct arena arena;
};

struct cmd {
    const char *name;
    unsigned bit;      /* for the option table */
    const char *words; /* "FILE [PATH=VALUE ...]" */
    const char *help;  /* one line */
    const char *more;  /* a paragraph for `pipeline help NAME` */
    int (*run)(struct cmd_opts *o);
};

enum {
    CMD_RUN = 1,
    CMD_PLAN = 2,
    CMD_CHECK = 4,
    CMD_SHOW = 8,
    CMD_STATUS = 16,
    CMD_VERSION = 32,
    CMD_HELP = 64,
    CMD_GRAPH = 128,
    CMD_FETCH = 256,
    CMD_CLEAN = 512,
    CMD_SCHEMA = 1024,
    CMD_DOCTOR = 2048,
    CMD_TRACE = 4096,
    CMD_VIEW = 8192,
    CMD_ALL = 16383
};

extern const struct cmd cmd_table[]; /* ends with a row without a name */
const struct cmd *cmd_find(const char *name);

int cmd_run(struct cmd_opts *o);
int cmd_plan(struct cmd_opts *o);
int cmd_check(struct cmd_opts *o);
int cmd_show(struct cmd_opts *o);
int cmd_status(struct cmd_opts *o);
int cmd_graph(struct cmd_opts *o);
int cmd_fetch(struct cmd_opts *o);
int cmd_clean(struct cmd_opts *o);
int cmd_schema(struct cmd_opts *o);
int cmd_doctor(struct cmd_opts *o);
int cmd_trace(struct cmd_opts *o);
int cmd_view(struct cmd_opts *o);
int cmd_version(struct cmd_opts *o);
int cmd_help(struct cmd_opts *o);

/* Prints "error: ..." to stderr, with a help line unless help is NULL, and
 * returns EXIT_USAGE. */
int cmd_usage_error(const char *help, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "error: unknown WHAT 'word'" with the nearest of names. */
int cmd_unknown(const char *what, const char *word, const char *const *names,
                size_t n);
/* Prints an error as "at: error: message". */
void cmd_print_error(const struct cmd_opts *o, const struct err *err);
/* The exit status for an error outside a stage. */
int cmd_exit_status(const struct err *err);

/* Ends a text that is a command's result: prints it to stdout, or says that
 * there was no memory for it. Returns status, or EXIT_STAGE. */
int cmd_put(struct str *text, int status);

/* Opens the job that words 1 and on describe; prints what is wrong and sets
 * *status otherwise. *out is the caller's (pl_job_free). */
bool cmd_open_job(struct pl_job **out, struct cmd_opts *o, int *status);
/* Whether the exactly one FILE is there; says so otherwise. */
bool cmd_take_file(struct cmd_opts *o);
/* The words from first on, and what -S gave, are overrides. */
bool cmd_take_overrides(struct cmd_opts *o, size_t first);

#endif
