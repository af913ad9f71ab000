#include "cmd/cmd.h"

/* What is wrong with a file that was named is a mistake of the command line. */
static int failed(const struct cmd_opts *o, const struct err *err)
{
    cmd_print_error(o, err);
    return err->code == ERR_IO || err->code == ERR_CORRUPT
               ? EXIT_USAGE
               : cmd_exit_status(err);
}

int cmd_trace(struct cmd_opts *o)
{
    unsigned long long broken = 0;
    struct str text = {0};
    struct err err = {0};
    int rc;

    if (o->n_words < 2)
        return cmd_usage_error("`pipeline help trace` says more",
                               "no trace to read");
    if (o->n_words > (o->validate ? 2 : 3))
        return cmd_usage_error(NULL, "one trace too many: '%s'",
                               o->word[o->validate ? 2 : 3]);
    if (o->validate)
        rc = pl_trace_validate(&text, &broken, o->word[1], o->json, &err);
    else if (o->n_words == 3)
        rc = pl_trace_compare(&text, o->word[1], o->word[2], o->json, &err);
    else
        rc = pl_trace_report(&text, o->word[1], o->json, &err);
    if (rc != 0) {
        str_free(&text);
        return failed(o, &err);
    }
    return cmd_put(&text, broken ? EXIT_EXPECTATION : EXIT_OK);
}
