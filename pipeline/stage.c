#include "pipeline/stage.h"

#include <string.h>

const struct pl_stage_kind *const pl_stage_kinds[] = {
    &pl_kind_fetch,    &pl_kind_summary, &pl_kind_train,   &pl_kind_evaluate,
    &pl_kind_autograd, &pl_kind_profile, &pl_kind_compare, NULL,
};

const struct pl_stage_kind *pl_stage_kind_find(const char *name)
{
    size_t i;

    for (i = 0; pl_stage_kinds[i]; i++)
        if (strcmp(pl_stage_kinds[i]->name, name) == 0)
            return pl_stage_kinds[i];
    return NULL;
}
