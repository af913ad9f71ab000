#include <stdio.h>

#include "cmd/cmd.h"

int cmd_schema(struct cmd_opts *o)
{
    struct str text = {0};
    int status = EXIT_OK;

    (void)o;
    pl_json_schema(&text);
    if (text.failed) {
        (void)fputs("error: out of memory\n", stderr);
        status = EXIT_STAGE;
    } else
        (void)fputs(text.text, stdout);
    str_free(&text);
    return status;
}
