#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/opts.h"

static void add_overview(struct str *s)
{
    const struct cmd *c;

    str_add(s, "pipeline runs deep-learning experiments that a YAML file "
               "describes.\n\n"
               "usage: pipeline COMMAND [OPTION ...] [WORD ...]\n\n"
               "commands:\n");
    for (c = cmd_table; c->name; c++)
        str_addf(s, "  %-8s %s\n", c->name, c->help);
    str_add(s, "\noptions:\n");
    opts_help(s, CMD_ALL);
    str_add(s, "\nstage kinds (`pipeline help KIND` has their keys):\n");
    pl_help_kinds(s);
    str_add(s, "\nexit status: 0 all well, 1 an expectation failed, 2 config "
               "or usage,\n3 a stage failed, 4 download or verification, 5 "
               "locked, 6 --check found\nwork to do, 7 no such device, "
               "130 and 143 interrupted\n");
}

static void add_command(struct str *s, const struct cmd *c)
{
    str_addf(s, "pipeline %s: %s\n\nusage: pipeline %s [OPTION ...] %s\n",
             c->name, c->help, c->name, c->words);
    if (c->more)
        str_addf(s, "\n%s\n", c->more);
    str_add(s, "\noptions:\n");
    opts_help(s, c->bit);
}

static int print(const struct str *s)
{
    if (s->failed || !s->text) {
        (void)fputs("error: out of memory\n", stderr);
        return EXIT_STAGE;
    }
    (void)fputs(s->text, stdout);
    return EXIT_OK;
}

static int unknown_word(const char *word, const char *nearest)
{
    const char *names[16];
    size_t n;

    for (n = 0; cmd_table[n].name && n < 15; n++)
        names[n] = cmd_table[n].name;
    if (nearest)
        names[n++] = nearest;
    return cmd_unknown("command, stage kind or key", word, names, n);
}

/* `pipeline help WORD`, `pipeline COMMAND --help`, `pipeline --help`. */
int cmd_help(struct cmd_opts *o)
{
    const char *word = NULL, *nearest = NULL;
    struct str s = {0};
    int status = EXIT_OK;

    if (o->n_words > 0)
        word = o->word[strcmp(o->word[0], "help") == 0 ? 1 : 0];
    if (!word)
        add_overview(&s);
    else if (cmd_find(word))
        add_command(&s, cmd_find(word));
    else if (!pl_help(word, &s, &nearest))
        status = unknown_word(word, nearest);
    if (status == EXIT_OK)
        status = print(&s);
    str_free(&s);
    return status;
}
