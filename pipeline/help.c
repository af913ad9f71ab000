/* What the tables say about stage kinds and keys. */
#include "pipeline/pipeline.h"

#include <math.h>
#include <string.h>

#include "pipeline/config_load.h"
#include "pipeline/dataset.h"
#include "pipeline/metric_names.h"
#include "pipeline/model_build.h"
#include "pipeline/operator.h"
#include "pipeline/scalar.h"
#include "pipeline/schema.h"
#include "pipeline/stage.h"

enum { LINE = 78 };

static const char *const type_name[] = {
    [PL_T_BOOL] = "true or false",
    [PL_T_INT] = "an integer",
    [PL_T_NUMBER] = "a number",
    [PL_T_STRING] = "a text",
    [PL_T_PATH] = "a path, relative to the file",
    [PL_T_PLACE] = "a path, relative to the file, or an http(s) address",
    [PL_T_DURATION] = "a duration: 90, 90s, 15m, 2h",
    [PL_T_SIZE] = "a size: 4096, 16KiB, 4GiB",
    [PL_T_SHA256] = "64 hexadecimal digits",
    [PL_T_DATASET] = "the name of a data set",
    [PL_T_MODEL] = "the name of a model",
    [PL_T_STAGE] = "the name of a stage",
    [PL_T_OPERATOR] = "the name of an own operator",
    [PL_T_STRUCT] = "a map",
    [PL_T_LIST] = "a list",
    [PL_T_NAMED] = "a map of names",
    [PL_T_NODE] = "any value",
};

static void add_type(struct str *out, const struct pl_field *f)
{
    size_t i;

    if (f->type == PL_T_ENUM || (f->type == PL_T_STRING && f->choices)) {
        for (i = 0; f->choices[i]; i++)
            str_addf(out, "%s%s", i ? " | " : "", f->choices[i]);
        str_add(out, f->own ? " | an own operator" : "");
        return;
    }
    if (f->type == PL_T_NODE && f->example && strchr("{[", f->example[0])) {
        str_add(out, f->example[0] == '{' ? "a map" : "a list");
        return;
    }
    if ((size_t)f->type < sizeof type_name / sizeof *type_name &&
        type_name[f->type])
        str_add(out, type_name[f->type]);
    if (f->min >= f->max) /* no bounds, or one value: the example has it */
        return;
    str_add(out, f->flags & PL_F_OPEN_MIN ? ", above " : ", from ");
    scalar_add(out, f->min);
    if (isfinite(f->max)) {
        str_add(out, " to ");
        scalar_add(out, f->max);
    } else if (!(f->flags & PL_F_OPEN_MIN))
        str_add(out, " on");
}

/* Whether the default is a value, and not a number that says "not given". */
static bool has_default(const struct pl_field *f)
{
    double v;

    if (!f->def)
        return false;
    if ((f->min == 0 && f->max == 0) || scalar_double(f->def, &v) != SCALAR_OK)
        return true;
    return v >= f->min && v <= f->max &&
           !((f->flags & PL_F_OPEN_MIN) && v <= f->min);
}

/* One key: its name in full, what it takes, and what it is for. */
static void add_field(struct str *out, const char *prefix,
                      const struct pl_field *f)
{
    str_addf(out, "  %s%s: ", prefix, f->name);
    add_type(out, f);
    if (f->flags & PL_F_REQUIRED)
        str_add(out, " (required)");
    else if (has_default(f))
        str_addf(out, " (default %s)", f->def);
    if (f->when)
        str_addf(out, " (with type %s)", f->when);
    str_addc(out, '\n');
    if (f->help)
        str_addf(out, "      %s\n", f->help);
    if (f->example)
        str_addf(out, "      example: %s: %s\n", f->name, f->example);
}

enum { PREFIX_MAX = 96 };

static bool step_into(char inner[PREFIX_MAX], const char *prefix,
                      const struct pl_field *f)
{
    size_t n = strlen(prefix) + strlen(f->name) + 2;
    struct str s = {0};

    if (!f->sub || n > PREFIX_MAX)
        return false;
    str_addf(&s, "%s%s.", prefix, f->name);
    if (!s.failed)
        memcpy(inner, s.text, n);
    str_free(&s);
    return !s.failed;
}

static void add_fields(struct str *out, const char *prefix,
                       const struct pl_schema *schema)
{
    char inner[PREFIX_MAX];
    size_t i;

    for (i = 0; i < schema->n_fields; i++) {
        add_field(out, prefix, &schema->fields[i]);
        if (step_into(inner, prefix, &schema->fields[i]))
            add_fields(out, inner, schema->fields[i].sub);
    }
}

/* Where keys are looked for: every table with the place it stands at. */
struct search {
    const char *word;
    struct str *out; /* NULL: only the names are collected */
    const char *names[256];
    size_t n_names;
    bool found;
};

static void remember(struct search *s, const char *name)
{
    size_t i;

    for (i = 0; i < s->n_names; i++)
        if (strcmp(s->names[i], name) == 0)
            return;
    if (s->n_names < sizeof s->names / sizeof *s->names)
        s->names[s->n_names++] = name;
}

static void look_in(struct search *s, const char *prefix,
                    const struct pl_schema *schema)
{
    char inner[PREFIX_MAX];
    size_t i;

    for (i = 0; i < schema->n_fields; i++) {
        const struct pl_field *f = &schema->fields[i];

        remember(s, f->name);
        if (strcmp(f->name, s->word) == 0) {
            add_field(s->out, prefix, f);
            s->found = true;
        }
        if (step_into(inner, prefix, f))
            look_in(s, inner, f->sub);
    }
}

static void look_everywhere(struct search *s)
{
    char prefix[PREFIX_MAX];
    size_t i, n;

    for (i = 0; pl_stage_kinds[i]; i++) {
        struct str at = {0};

        str_addf(&at, "%s.with.", pl_stage_kinds[i]->name);
        n = at.failed ? PREFIX_MAX : at.len + 1;
        if (n < PREFIX_MAX) {
            memcpy(prefix, at.text, n);
            look_in(s, prefix, pl_stage_kinds[i]->with);
        }
        str_free(&at);
        remember(s, pl_stage_kinds[i]->name);
    }
    look_in(s, "", &pl_top_schema);
    look_in(s, "stages.NAME.", &pl_stage_schema);
    look_in(s, "stages.NAME.expect.", &pl_expect_schema);
    look_in(s, "datasets.NAME.", &pl_dataset_schema);
    look_in(s, "models.NAME.", &pl_model_schema);
    look_in(s, "operators.NAME.", &pl_operator_schema);
}

/* The names that expectations may be about, as many to a line as fit. */
static void add_metrics(struct str *out, const struct pl_stage_kind *kind)
{
    const char *const *name = pl_metric_table(kind);
    size_t column = 0, len;

    if (!name)
        return;
    str_add(out, "\nmetrics (* stands for what the config or the data calls "
                 "it):");
    for (; *name; name++) {
        len = strlen(*name);
        if (column == 0 || column + 2 + len > LINE) {
            str_add(out, "\n ");
            column = 1;
        }
        str_addf(out, " %s", *name);
        column += 1 + len;
    }
    str_addc(out, '\n');
}

bool pl_help(const char *word, struct str *out, const char **nearest)
{
    const struct pl_stage_kind *kind = pl_stage_kind_find(word);
    const char *dot = strrchr(word, '.');
    struct search s = {.word = dot ? dot + 1 : word, .out = out};

    *nearest = NULL;
    if (kind) {
        str_addf(out, "uses: %s: %s\n\nwith:\n", kind->name, kind->help);
        add_fields(out, "", kind->with);
        add_metrics(out, kind);
        return true;
    }
    look_everywhere(&s);
    if (!s.found)
        *nearest = pl_nearest(s.word, s.names, s.n_names);
    return s.found;
}

void pl_help_kinds(struct str *out)
{
    size_t i;

    for (i = 0; pl_stage_kinds[i]; i++)
        str_addf(out, "  %-9s %s\n", pl_stage_kinds[i]->name,
                 pl_stage_kinds[i]->help);
}
