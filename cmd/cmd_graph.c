#include "cmd/cmd.h"

int cmd_graph(struct cmd_opts *o)
{
    struct pl_job *job;
    struct str text = {0};
    int status = EXIT_OK;

    if (o->dot && o->mermaid)
        return cmd_usage_error(NULL, "--dot and --mermaid: which of the two?");
    if (!cmd_take_file(o))
        return EXIT_USAGE;
    if (!cmd_open_job(&job, o, &status))
        return status;
    pl_graph(job,
             o->dot       ? PL_GRAPH_DOT
             : o->mermaid ? PL_GRAPH_MERMAID
                          : PL_GRAPH_TEXT,
             &text);
    pl_job_free(job);
    return cmd_put(&text, status);
}
