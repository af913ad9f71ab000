/* The table of the stage kind compare. */
#include <stddef.h>

#include "pipeline/compare.h"

static const char *const shows[] = {"times", "kernels", "memory", "curves",
                                    NULL};

#define AT(m) offsetof(struct pl_compare_with, m)
static const struct pl_field compare_fields[] = {
    {.name = "from",
     .type = PL_T_LIST,
     .elem = PL_T_STAGE,
     .offset = AT(from),
     .flags = PL_F_REQUIRED | PL_F_ONE | PL_F_GROUP,
     .help = "the stages that are compared, two or more; one with a matrix "
             "stands for all its cells",
     .example = "step"},
    {.name = "show",
     .type = PL_T_ENUM,
     .offset = AT(show),
     .def = "times",
     .choices = shows,
     .help = "of profile stages: step times over a setting (times), the "
             "kernels of each operator, on the CPU the operators (kernels), "
             "bytes by category (memory); of train stages: their curves, with "
             "runs that differ in the seed alone as one mean (curves)"},
    {.name = "x",
     .type = PL_T_STRING,
     .offset = AT(x),
     .def = "batch_size",
     .help = "times: the setting of the stages that the times stand over",
     .example = "batch_size"},
};
const struct pl_schema pl_compare_schema = {
    .name = "compare",
    .help = "compares what stages left",
    PL_FIELDS(compare_fields),
    .size = sizeof(struct pl_compare_with),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT
