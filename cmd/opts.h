/* One table of options: it drives parsing and help. */
#ifndef CMD_OPTS_H
#define CMD_OPTS_H

#include "cmd/cmd.h"
#include "nn/base/str.h"

enum opt_kind {
    OPT_FLAG,     /* bool */
    OPT_TEXT,     /* const char * */
    OPT_COUNT,    /* int from 1 on */
    OPT_CHOICE,   /* int, index into choices */
    OPT_LIST,     /* struct pl_texts; may be given again */
    OPT_OPTIONAL, /* const char *, NULL without =VALUE; and the bool at all */
    OPT_FORCE     /* struct pl_texts, or without =VALUE the bool at all */
};

struct opt {
    char letter; /* of the short form, or 0 */
    const char *name;
    const char *arg; /* "DIR"; NULL: takes none */
    enum opt_kind kind;
    size_t offset; /* in struct cmd_opts */
    size_t all;    /* OPT_OPTIONAL, OPT_FORCE */
    unsigned commands;
    const char *const *choices; /* OPT_CHOICE, NULL-terminated */
    const char *help;
};

extern const struct opt opt_table[]; /* ends with a row without a name */

/* Takes argv apart. Options may stand anywhere before "--". 0, or the exit
 * status after a mistake, which is printed. End with opts_free either way. */
int opts_parse(struct cmd_opts *o, int argc, char **argv);
void opts_free(struct cmd_opts *o);
/* Whether each option that was given is one of command c's. 0 or EXIT_USAGE. */
int opts_check(const struct cmd *c, int argc, char **argv);

/* The options of the commands whose bits are set, a line each. */
void opts_help(struct str *out, unsigned commands);

#endif
