/* Inputs that are the machine's: how a GPU works, what times hang on. */
#include <string.h>

#include "nn/base/pool.h"
#include "pipeline/config.h"
#include "pipeline/facts.h"
#include "pipeline/inputs.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage.h"

void pl_inputs_gpu(struct pl_inputs *in, const struct pl_stage *s)
{
    const struct pl_schema *with = s->kind->with;
    size_t i;

    for (i = 0; i < with->n_fields; i++) {
        const struct pl_field *f = &with->fields[i];
        int choice;

        if (!(f->flags & PL_F_GPU))
            continue;
        memcpy(&choice, (const char *)s->with + f->offset, sizeof choice);
        pl_inputs_add(in, arena_printf(in->arena, "with.%s", f->name),
                      f->choices[choice]);
    }
}

bool pl_inputs_hold(const struct pl_inputs *was, const struct pl_inputs *now)
{
    size_t i;

    for (i = 0; i < was->n; i++) {
        const char *value = pl_inputs_get(now, was->item[i].key);

        if (!value || strcmp(value, was->item[i].value) != 0)
            return false;
    }
    return true;
}

int pl_inputs_machine(struct pl_inputs *in, const struct pl_opts *opts,
                      struct err *err)
{
    int cores = pool_cores();
    char cpu[PL_HOST_LEN];

    pl_cpu_name(cpu);
    pl_inputs_add(in, "machine.cpu", cpu);
    pl_inputs_add(in, "machine.threads",
                  arena_printf(in->arena, "%d of %d",
                               opts->threads ? opts->threads : cores, cores));
    pl_inputs_add(in, "machine.device", opts->device ? opts->device : "auto");
    if (in->failed)
        return err_set(err, ERR_NOMEM, "out of memory for the machine's facts");
    return 0;
}
