#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/opts.h"

const struct cmd cmd_table[] = {
    {"run", CMD_RUN, "FILE [PATH=VALUE ...]",
     "run what is not up to date, and judge the results",
     "PATH=VALUE overrides a value of the file (stages.train.with.lr=0.01);\n"
     "a bare name is one of `vars` (lr=0.01); ~PATH removes a key.",
     cmd_run},
    {"plan", CMD_PLAN, "FILE [PATH=VALUE ...]",
     "say what a run would do, and why", "Nothing is written.", cmd_plan},
    {"check", CMD_CHECK, "FILE ... [PATH=VALUE ...]",
     "check configs and run nothing",
     "Every mistake is reported with its place. Exit status 2 if there is one.",
     cmd_check},
    {"show", CMD_SHOW, "FILE [PATH=VALUE ...]", "print the merged config",
     "After extends, vars, defaults and the command line. `pipeline run` "
     "takes\n"
     "it again.",
     cmd_show},
    {"status", CMD_STATUS, "FILE [PATH=VALUE ...]",
     "say what the results folder holds",
     "A line a stage: done, stale, interrupted, failed, running or missing; "
     "-v\n"
     "lists the files of each. Nothing is written.",
     cmd_status},
    {"graph", CMD_GRAPH, "FILE [PATH=VALUE ...]", "say which stage needs which",
     "Text, or with --dot and --mermaid what those tools draw.", cmd_graph},
    {"fetch", CMD_FETCH, "FILE [PATH=VALUE ...]",
     "bring the data sets into the cache, and run nothing else",
     "What is there already is not fetched again.", cmd_fetch},
    {"clean", CMD_CLEAN, "[FILE] [PATH=VALUE ...]",
     "remove the results of an experiment, or the cache",
     "Removes what runs wrote, never what a link points to; files that no run\n"
     "made stay and are named. --cache alone needs no FILE.",
     cmd_clean},
    {"schema", CMD_SCHEMA, "", "print the file's JSON Schema, for editors",
     "An editor with a YAML language server takes it from a first line\n"
     "# yaml-language-server: $schema=pipeline.schema.json",
     cmd_schema},
    {"trace", CMD_TRACE, "FILE [FILE]",
     "say what a profiler's trace holds, or compare two",
     "FILE is JSON of torch.profiler's kind (Kineto, Chrome), ours or "
     "another's,\n"
     "plain or gzipped. --validate checks it by the rules of the format "
     "instead\n"
     "and exits with 1 if one is broken.",
     cmd_trace},
    {"view", CMD_VIEW, "[PATH]",
     "show results in a browser, and traces in Perfetto",
     "PATH is a trace, or a folder: out, or any below it. It is served on "
     "127.0.0.1,\nto this machine alone, until Ctrl-C; the links to open are "
     "printed. Links and\nnames that begin with a dot are not served.",
     cmd_view},
    {"doctor", CMD_DOCTOR, "",
     "say what this machine has, GPUs above all, and why not",
     "What `--device auto` would take stands in the last line. A GPU is opened "
     "for\na moment.",
     cmd_doctor},
    {"version", CMD_VERSION, "", "print the version", NULL, cmd_version},
    {"help", CMD_HELP, "[COMMAND | KIND | KEY]",
     "explain a command, a stage kind or a key of the file", NULL, cmd_help},
    {.name = NULL},
};

const struct cmd *cmd_find(const char *name)
{
    const struct cmd *c;

    for (c = cmd_table; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

int cmd_usage_error(const char *help, const char *fmt, ...)
{
    va_list ap;

    (void)fputs("error: ", stderr);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
    if (help)
        (void)fprintf(stderr, "  = help: %s\n", help);
    return EXIT_USAGE;
}

int cmd_unknown(const char *what, const char *word, const char *const *names,
                size_t n)
{
    const char *near = pl_nearest(word, names, n);
    char help[120];

    (void)snprintf(help, sizeof help, "did you mean '%s'?", near ? near : "");
    return cmd_usage_error(near ? help : "`pipeline help` lists them",
                           "unknown %s '%s'", what, word);
}

static int unknown_command(const char *word)
{
    const char *names[sizeof cmd_table / sizeof *cmd_table];
    size_t n;

    for (n = 0; cmd_table[n].name; n++)
        names[n] = cmd_table[n].name;
    return cmd_unknown("command", word, names, n);
}

static int dispatch(struct cmd_opts *o, int argc, char **argv)
{
    const struct cmd *c;
    int rc;

    if (o->n_words == 0) {
        if (o->version)
            return cmd_version(o);
        if (o->help)
            return cmd_help(o);
        return cmd_usage_error("`pipeline help` lists the commands",
                               "no command");
    }
    c = cmd_find(o->word[0]);
    if (!c)
        return unknown_command(o->word[0]);
    if (o->help && c->bit != CMD_HELP)
        return cmd_help(o);
    rc = opts_check(c, argc, argv);
    return rc != 0 ? rc : c->run(o);
}

/* A result that could not be written is no success. */
static int close_stdout(int status)
{
    bool bad = ferror(stdout) != 0;

    if (fclose(stdout) == 0 && !bad)
        return status;
    perror("error: cannot write to standard output");
    return status == EXIT_OK ? EXIT_STAGE : status;
}

/* A standard stream that is closed would lend its number to the next file that
 * is opened. It gets one on which every read or write fails instead. */
static void occupy_standard_files(void)
{
    int fd;

    for (fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    struct cmd_opts o;
    int status;

    occupy_standard_files();
    /* A closed pipe is a failed write, seen by close_stdout. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    status = opts_parse(&o, argc, argv);
    if (status == 0)
        status = dispatch(&o, argc, argv);
    opts_free(&o);
    return close_stdout(status);
}
