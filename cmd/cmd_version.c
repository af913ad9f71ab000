#include <stdio.h>

#include "cmd/cmd.h"

int cmd_version(struct cmd_opts *o)
{
    (void)o;
    (void)printf("pipeline %s\n", PL_VERSION);
    return EXIT_OK;
}
