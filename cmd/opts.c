#include "cmd/opts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const color_names[] = {"auto", "always", "never", NULL};
static const char *const progress_names[] = {"auto", "bar", "plain", "none",
                                             NULL};

enum {
    PLANNING = CMD_RUN | CMD_PLAN | CMD_STATUS,
    RUNNING = CMD_RUN | CMD_FETCH,
    RESULTS = PLANNING | CMD_FETCH | CMD_CLEAN,
    LOADING = RESULTS | CMD_CHECK | CMD_SHOW | CMD_GRAPH,
    THREADS_MAX = 1024
};

#define AT(field) offsetof(struct cmd_opts, field)

const struct opt opt_table[] = {
    {0, "device", "DEVICE", OPT_TEXT, AT(pl.device), 0, PLANNING, NULL,
     "auto, cpu, cuda or cuda:N (auto: a GPU if there is one)"},
    {0, "numerics", "HOW", OPT_TEXT, AT(pl.numerics), 0, PLANNING | CMD_SHOW,
     NULL, "of all stages on a GPU: fast, strict (the CPU's bits) or tf32"},
    {0, "threads", "N", OPT_COUNT, AT(pl.threads), 0, PLANNING, NULL,
     "threads of the CPU (all cores); the numbers do not depend on it"},
    {0, "out", "DIR", OPT_TEXT, AT(pl.out), 0, RESULTS, NULL,
     "the folder of results (out)"},
    {'S', "set", "PATH=VALUE", OPT_LIST, AT(set), 0, LOADING, NULL,
     "the same as PATH=VALUE as a word"},
    {0, "only", "STAGE", OPT_LIST, AT(pl.only), 0, PLANNING | CMD_GRAPH, NULL,
     "these stages, and those that they need; patterns such as 'step@*'"},
    {0, "from", "STAGE", OPT_LIST, AT(pl.from), 0, PLANNING | CMD_GRAPH, NULL,
     "these stages, all that build on them, and those that they need"},
    {0, "force", "STAGE", OPT_FORCE, AT(pl.force), AT(pl.force_all),
     CMD_RUN | CMD_PLAN, NULL, "run again what is up to date"},
    {0, "fresh", NULL, OPT_FLAG, AT(pl.fresh), 0, CMD_RUN | CMD_PLAN, NULL,
     "begin interrupted stages anew instead of resuming them"},
    {'n', "dry-run", NULL, OPT_FLAG, AT(dry_run), 0, RUNNING | CMD_CLEAN, NULL,
     "only say what would be done"},
    {'j', "jobs", "N", OPT_COUNT, AT(pl.jobs), 0, RUNNING, NULL,
     "stages at once (1); those that use the device run alone"},
    {'k', "keep-going", NULL, OPT_FLAG, AT(pl.keep_going), 0, RUNNING, NULL,
     "after a failure go on with what does not need the failed stage"},
    {0, "mirror", "PLACE", OPT_TEXT, AT(pl.mirror), 0, RUNNING, NULL,
     "a folder or http(s) address to fetch from first ($PIPELINE_MIRROR)"},
    {0, "cacert", "FILE", OPT_TEXT, AT(pl.cacert), 0, RUNNING, NULL,
     "certificates that https addresses must be signed by"},
    {0, "offline", NULL, OPT_FLAG, AT(pl.offline), 0, RUNNING, NULL,
     "fetch from folders and the cache only"},
    {0, "locked", "FILE", OPT_OPTIONAL, AT(pl.lock_to), AT(pl.locked), CMD_RUN,
     NULL, "fail where config or results differ from FILE (the lock file)"},
    {0, "wait", NULL, OPT_FLAG, AT(pl.wait), 0, RUNNING, NULL,
     "wait while another run holds the results"},
    {0, "check", NULL, OPT_FLAG, AT(check), 0, PLANNING | CMD_FETCH, NULL,
     "run nothing; exit with 6 if a stage would run"},
    {0, "json", NULL, OPT_FLAG, AT(json), 0,
     PLANNING | CMD_FETCH | CMD_CHECK | CMD_DOCTOR | CMD_TRACE, NULL,
     "one JSON text on standard output, all else on standard error"},
    {0, "dot", NULL, OPT_FLAG, AT(dot), 0, CMD_GRAPH, NULL,
     "for Graphviz: | dot -Tsvg"},
    {0, "mermaid", NULL, OPT_FLAG, AT(mermaid), 0, CMD_GRAPH, NULL,
     "for Markdown that draws Mermaid"},
    {0, "history", NULL, OPT_FLAG, AT(history), 0, CMD_CLEAN, NULL,
     "remove only what later runs replaced (.runs)"},
    {0, "cache", NULL, OPT_FLAG, AT(cache), 0, CMD_CLEAN, NULL,
     "remove the downloads of all experiments"},
    {0, "validate", NULL, OPT_FLAG, AT(validate), 0, CMD_TRACE, NULL,
     "check the trace by every rule; exit with 1 if one is broken"},
    {0, "port", "N", OPT_TEXT, AT(port), 0, CMD_VIEW, NULL,
     "not 9001 (0: any that is free); Perfetto fetches from no other port"},
    {0, "untrusted", NULL, OPT_FLAG, AT(pl.untrusted), 0, LOADING, NULL,
     "refuse what a stranger's file must not ask for (`help check`)"},
    {'q', "quiet", NULL, OPT_FLAG, AT(quiet), 0, CMD_ALL, NULL,
     "only results and errors"},
    {'v', "verbose", NULL, OPT_FLAG, AT(verbose), 0, CMD_ALL, NULL,
     "also times, all that makes a stage run again, and where in the program "
     "an error arose"},
    {0, "color", "WHEN", OPT_CHOICE, AT(color), 0, CMD_ALL, color_names,
     "auto, always or never"},
    {0, "progress", "HOW", OPT_CHOICE, AT(progress), 0, RUNNING, progress_names,
     "auto, bar, plain (a line now and then) or none"},
    {'h', "help", NULL, OPT_FLAG, AT(help), 0, CMD_ALL, NULL,
     "this text, or that of the command"},
    {'V', "version", NULL, OPT_FLAG, AT(version), 0, CMD_ALL, NULL,
     "the program's version"},
    {.name = NULL},
};

static const struct opt *find_long(const char *name, size_t len)
{
    const struct opt *p;

    for (p = opt_table; p->name; p++)
        if (strlen(p->name) == len && strncmp(p->name, name, len) == 0)
            return p;
    return NULL;
}

static const struct opt *find_short(char letter)
{
    const struct opt *p;

    for (p = opt_table; p->name; p++)
        if (letter != '\0' && p->letter == letter)
            return p;
    return NULL;
}

static int unknown_long(const char *name, size_t len)
{
    const char *names[sizeof opt_table / sizeof *opt_table];
    char word[64], dashed[120];
    const char *near;
    size_t n;

    for (n = 0; opt_table[n].name; n++)
        names[n] = opt_table[n].name;
    (void)snprintf(word, sizeof word, "%.*s", (int)len, name);
    near = pl_nearest(word, names, n);
    (void)snprintf(dashed, sizeof dashed, "did you mean '--%s'?",
                   near ? near : "");
    if (!near)
        (void)snprintf(dashed, sizeof dashed,
                       "a value of the file is set as %s=VALUE", word);
    return cmd_usage_error(dashed, "unknown option '--%s'", word);
}

/* Appends to a list whose array is never written through. */
static bool append(struct arena *a, struct pl_texts *list, const char *value)
{
    const char **item = arena_array(a, list->n + 1, sizeof *item);

    if (!item)
        return false;
    if (list->n)
        memcpy(item, list->item, list->n * sizeof *item);
    item[list->n] = value;
    list->item = item;
    list->n++;
    return true;
}

static int set_count(int *out, const struct opt *p, const char *value)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(value, &end, 10);
    if (end == value || *end || errno || n < 1 || n > THREADS_MAX)
        return cmd_usage_error(NULL,
                               "--%s must be a number from 1 to %d, not '%s'",
                               p->name, THREADS_MAX, value);
    *out = (int)n;
    return 0;
}

static int set_choice(int *out, const struct opt *p, const char *value)
{
    int i;

    for (i = 0; p->choices[i]; i++) {
        if (strcmp(p->choices[i], value) == 0) {
            *out = i;
            return 0;
        }
    }
    return cmd_usage_error(NULL, "--%s takes %s, not '%s'", p->name, p->help,
                           value);
}

/* --force, --force=STAGE: the value stands behind "=" or is none. */
static bool value_is_optional(const struct opt *p)
{
    return p->kind == OPT_FORCE || p->kind == OPT_OPTIONAL;
}

/* value is NULL where an option was given without one. */
static int set(struct cmd_opts *o, const struct opt *p, const char *value)
{
    char *at = (char *)o + p->offset;
    const bool yes = true;

    if (!value && p->kind != OPT_FLAG && !value_is_optional(p))
        return cmd_usage_error(NULL, "--%s wants a value: --%s=%s", p->name,
                               p->name, p->arg);
    switch (p->kind) {
    case OPT_FLAG:
        memcpy(at, &yes, sizeof yes);
        return 0;
    case OPT_TEXT:
        memcpy(at, &value, sizeof value);
        return 0;
    case OPT_COUNT:
        return set_count((int *)(void *)at, p, value);
    case OPT_CHOICE:
        return set_choice((int *)(void *)at, p, value);
    case OPT_OPTIONAL:
        memcpy((char *)o + p->all, &yes, sizeof yes);
        memcpy(at, &value, sizeof value);
        return 0;
    case OPT_FORCE:
        if (!value) {
            memcpy((char *)o + p->all, &yes, sizeof yes);
            return 0;
        }
        break;
    case OPT_LIST:
        break;
    }
    if (!append(&o->arena, (struct pl_texts *)(void *)at, value))
        return cmd_usage_error(NULL, "out of memory");
    return 0;
}

/* The option at argv[*i], with its value, which may be the next word. */
static int take_long(struct cmd_opts *o, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    const struct opt *p = find_long(name, len);

    if (!p)
        return unknown_long(name, len);
    if (!p->arg && value)
        return cmd_usage_error(NULL, "--%s takes no value", p->name);
    if (p->arg && !value_is_optional(p) && !value && *i + 1 < argc)
        value = argv[++*i];
    return set(o, p, value);
}

/* One or more letters; behind one that takes a value the rest of the word is
 * that value, or the next word. */
static int take_short(struct cmd_opts *o, int argc, char **argv, int *i)
{
    const char *letters = argv[*i] + 1;
    int rc = 0;

    for (; rc == 0 && *letters; letters++) {
        const struct opt *p = find_short(*letters);

        if (!p)
            return cmd_usage_error(NULL, "unknown option '-%c'", *letters);
        if (!p->arg) {
            rc = set(o, p, NULL);
            continue;
        }
        if (letters[1])
            return set(o, p, letters + 1);
        return set(o, p, *i + 1 < argc ? argv[++*i] : NULL);
    }
    return rc;
}

int opts_parse(struct cmd_opts *o, int argc, char **argv)
{
    bool only_words = false;
    int i, rc = 0;

    memset(o, 0, sizeof *o);
    o->word = arena_array(&o->arena, (size_t)argc + 1, sizeof *o->word);
    if (!o->word)
        return cmd_usage_error(NULL, "out of memory");
    for (i = 1; rc == 0 && i < argc; i++) {
        if (only_words || argv[i][0] != '-' || argv[i][1] == '\0')
            o->word[o->n_words++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_words = true;
        else if (argv[i][1] == '-')
            rc = take_long(o, argc, argv, &i);
        else
            rc = take_short(o, argc, argv, &i);
    }
    return rc;
}

void opts_free(struct cmd_opts *o)
{
    arena_free(&o->arena);
}

static int does_not_apply(const struct opt *p, const struct cmd *c)
{
    char help[80];

    (void)snprintf(help, sizeof help, "`pipeline help %s` lists its options",
                   c->name);
    return cmd_usage_error(help, "--%s does not apply to '%s'", p->name,
                           c->name);
}

int opts_check(const struct cmd *c, int argc, char **argv)
{
    int i;

    for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const struct opt *p = NULL;
        const char *letter = argv[i] + 1;

        if (argv[i][0] != '-')
            continue;
        if (argv[i][1] == '-') {
            p = find_long(argv[i] + 2, strcspn(argv[i] + 2, "="));
            if (p && !(p->commands & c->bit))
                return does_not_apply(p, c);
            if (p && p->arg && !value_is_optional(p) && !strchr(argv[i], '='))
                i++;
            continue;
        }
        for (; *letter; letter++) {
            p = find_short(*letter);
            if (p && !(p->commands & c->bit))
                return does_not_apply(p, c);
            if (p && p->arg) {
                i += letter[1] == '\0';
                break;
            }
        }
    }
    return 0;
}

void opts_help(struct str *out, unsigned commands)
{
    const struct opt *p;
    char left[48];

    for (p = opt_table; p->name; p++) {
        if (!(p->commands & commands))
            continue;
        (void)snprintf(left, sizeof left, "%c%c%s --%s%s%s%s",
                       p->letter ? '-' : ' ', p->letter ? p->letter : ' ',
                       p->letter ? "," : " ", p->name,
                       value_is_optional(p) ? "[="
                       : p->arg             ? "="
                                            : "",
                       p->arg ? p->arg : "", value_is_optional(p) ? "]" : "");
        str_addf(out, "  %-23s %s\n", left, p->help);
    }
}
