/* The tables and pictures that an autograd stage makes of its program. */
#include "pipeline/recipe.h"

#define AT(m) offsetof(struct pl_program_column, m)
static const struct pl_field column_fields[] = {
    {.name = "name",
     .type = PL_T_STRING,
     .offset = AT(name),
     .flags = PL_F_REQUIRED,
     .help = "a value of the program",
     .example = "z"},
    {.name = "as",
     .type = PL_T_STRING,
     .offset = AT(as),
     .help = "what it is called (its name unless said)"},
};
const struct pl_schema pl_program_column_schema = {
    .name = "column",
    .help = "a value of the program, as it is shown",
    PL_FIELDS(column_fields),
    .size = sizeof(struct pl_program_column),
    .short_key = "name",
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

#define AT(m) offsetof(struct pl_program_plot, m)
static const struct pl_field plot_fields[] = {
    {.name = "x",
     .type = PL_T_STRING,
     .offset = AT(x),
     .flags = PL_F_REQUIRED,
     .help = "the vector of the program that runs along the picture",
     .example = "z"},
    {.name = "y",
     .type = PL_T_LIST,
     .elem = PL_T_STRUCT,
     .sub = &pl_program_column_schema,
     .offset = AT(y),
     .flags = PL_F_REQUIRED | PL_F_ONE,
     .help = "vectors as long as x, or numbers, a line each; points are joined "
             "in their order, and one that is inf or nan is a cross at the "
             "frame",
     .example = "[stable, {name: naive, as: log(1 + exp(z))}]"},
    {.name = "title",
     .type = PL_T_STRING,
     .offset = AT(title),
     .help = "above the picture (its name unless said)"},
    {.name = "x_label",
     .type = PL_T_STRING,
     .offset = AT(x_label),
     .help = "below the picture (the name of x unless said)"},
    {.name = "y_label",
     .type = PL_T_STRING,
     .offset = AT(y_label),
     .help = "beside the picture"},
};
const struct pl_schema pl_program_plot_schema = {
    .name = "plot",
    .help = "a picture of the program's vectors",
    PL_FIELDS(plot_fields),
    .size = sizeof(struct pl_program_plot),
    .name_offset = AT(name),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT
