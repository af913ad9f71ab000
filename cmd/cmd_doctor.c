#include "cmd/cmd.h"

int cmd_doctor(struct cmd_opts *o)
{
    struct str text = {0};

    if (o->n_words > 1)
        return cmd_usage_error(NULL, "'doctor' takes no word, but got '%s'",
                               o->word[1]);
    if (o->json)
        pl_doctor_json(&text);
    else
        pl_doctor(&text);
    return cmd_put(&text, EXIT_OK);
}
