/* The tables as JSON Schema (draft-07), for editors. What extends, defaults
 * and the command line may supply cannot be required there, and names that
 * must exist cannot be asked for: the program checks more. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "pipeline/config_load.h"
#include "pipeline/dataset.h"
#include "pipeline/json_file.h"
#include "pipeline/model_build.h"
#include "pipeline/operator.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage.h"

/* See define(). */
#define REFERENCE "{\"$ref\": \"#/definitions/reference\"}"
#define NAME "^[A-Za-z][A-Za-z0-9_-]{0,63}$"

static json_t *parse(const char *text)
{
    return json_loads(text, 0, NULL);
}

static json_t *any_of(json_t *a, json_t *b)
{
    return json_pack("{s[oo]}", "anyOf", a, b);
}

static json_t *or_reference(json_t *schema)
{
    return any_of(schema, parse(REFERENCE));
}

static json_t *see(const char *name)
{
    struct str s = {0};
    json_t *out;

    str_addf(&s, "#/definitions/%s", name);
    out = json_pack("{ss}", "$ref", s.failed ? NULL : s.text);
    str_free(&s);
    return out;
}

static json_t *words(const char *const *list)
{
    json_t *out = json_array();
    size_t i;

    for (i = 0; list[i]; i++)
        (void)json_array_append_new(out, json_string(list[i]));
    return out;
}

/* --- values --- */

/* A whole number is written as one. */
static json_t *number(double v)
{
    return v == floor(v) && fabs(v) < 9e15 ? json_integer((json_int_t)v)
                                           : json_real(v);
}

static json_t *bounded(const struct pl_field *f, const char *type)
{
    json_t *out = json_pack("{ss}", "type", type);

    if (f->min == 0 && f->max == 0)
        return out;
    if (isfinite(f->min))
        (void)json_object_set_new(
            out, f->flags & PL_F_OPEN_MIN ? "exclusiveMinimum" : "minimum",
            number(f->min));
    if (isfinite(f->max))
        (void)json_object_set_new(
            out, f->flags & PL_F_OPEN_MAX ? "exclusiveMaximum" : "maximum",
            number(f->max));
    return out;
}

/* A number, or one with a unit. */
static json_t *with_unit(const struct pl_field *f, enum pl_type type)
{
    bool size = type == PL_T_SIZE;
    const char *units = size ? "^[0-9]+(B|[KMG]iB)$"
                             : "^[0-9.]+([eE][-+]?[0-9]+)?(ms|s|m|h|d)$";

    return any_of(bounded(f, size ? "integer" : "number"),
                  json_pack("{ssss}", "type", "string", "pattern", units));
}

static json_t *scalar(const struct pl_field *f, enum pl_type type)
{
    switch (type) {
    case PL_T_BOOL:
        return parse("{\"type\": \"boolean\"}");
    case PL_T_INT:
        return bounded(f, "integer");
    case PL_T_NUMBER:
        return bounded(f, "number");
    case PL_T_DURATION:
    case PL_T_SIZE:
        return with_unit(f, type);
    case PL_T_SHA256:
        return parse("{\"type\": \"string\", "
                     "\"pattern\": \"^[0-9A-Fa-f]{64}$\"}");
    case PL_T_ENUM:
        if (f->own) /* the name of an operator of the file */
            return any_of(
                json_pack("{so}", "enum", words(f->choices)),
                json_pack("{ssss}", "type", "string", "pattern", NAME));
        return json_pack("{so}", "enum", words(f->choices));
    case PL_T_PATH:
        return parse("{\"type\": \"string\", \"minLength\": 1, "
                     "\"not\": {\"pattern\": \"://\"}}");
    case PL_T_PLACE:
        return parse("{\"type\": \"string\", \"minLength\": 1, "
                     "\"pattern\": \"^https?://|^(?!.*://)\"}");
    case PL_T_NODE:
        return json_object();
    default: /* an unquoted 5 is a text where a text is due */
        if (type == PL_T_STRING && f->choices)
            return json_pack("{so}", "enum", words(f->choices));
        return parse("{\"type\": [\"string\", \"number\", \"boolean\"]}");
    }
}

/* --- tables --- */

static json_t *table(json_t *defs, const struct pl_schema *schema, bool whole);

/* A map of a table, or its short form; the table goes to defs. */
static json_t *sub_table(json_t *defs, const struct pl_schema *schema,
                         bool whole)
{
    const struct pl_field *f;

    if (!json_object_get(defs, schema->name))
        (void)json_object_set_new(defs, schema->name,
                                  table(defs, schema, whole));
    if (!schema->short_key)
        return see(schema->name);
    f = pl_schema_field(schema, schema->short_key);
    return any_of(see(schema->name), scalar(f, f->type));
}

/* An object with these properties and no others. */
static json_t *closed(json_t *properties)
{
    return json_pack("{sssosb}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

static json_t *named(json_t *defs, const struct pl_field *f, bool whole)
{
    json_t *each = json_object();
    size_t i;

    if (!f->choices) {
        json_decref(each);
        return json_pack("{sss{ss}so}", "type", "object", "propertyNames",
                         "pattern", NAME, "additionalProperties",
                         sub_table(defs, f->sub, whole));
    }
    for (i = 0; f->choices[i]; i++)
        (void)json_object_set_new(each, f->choices[i],
                                  or_reference(sub_table(defs, f->sub, whole)));
    return closed(each);
}

static json_t *list(json_t *defs, const struct pl_field *f)
{
    json_t *item =
        or_reference(f->elem == PL_T_STRUCT ? sub_table(defs, f->sub, true)
                                            : scalar(f, f->elem));
    json_t *out = json_pack("{sssO}", "type", "array", "items", item);

    if (f->flags & PL_F_ONE)
        out = any_of(out, json_incref(item));
    json_decref(item);
    return out;
}

/* What a field takes; whole: nothing is inherited below it. */
static json_t *field(json_t *defs, const struct pl_field *f, bool whole)
{
    json_t *out;

    if (f->type == PL_T_STRUCT)
        out = sub_table(defs, f->sub, whole);
    else if (f->type == PL_T_NAMED)
        out = named(defs, f, whole);
    else if (f->type == PL_T_LIST)
        out = list(defs, f);
    else
        out = scalar(f, f->type);
    if (f->type != PL_T_NODE)
        out = or_reference(out);
    if (f->help)
        (void)json_object_set_new(out, "description", json_string(f->help));
    return out;
}

/* With this `type`: what does not apply is not there, what it needs is. */
static json_t *for_type(const struct pl_schema *schema, const char *type,
                        bool whole)
{
    json_t *no = json_object(), *due = json_array();
    size_t i;

    for (i = 0; i < schema->n_fields; i++) {
        const struct pl_field *f = &schema->fields[i];

        if (!pl_field_applies(f->when, type))
            (void)json_object_set_new(no, f->name, json_false());
        else if (whole && f->when && (f->flags & PL_F_REQUIRED))
            (void)json_array_append_new(due, json_string(f->name));
    }
    return json_pack("{s{s{s{ss}}s[s]}s{soso}}", "if", "properties", "type",
                     "const", type, "required", "type", "then", "properties",
                     no, "required", due);
}

static void add_types(json_t *out, const struct pl_schema *schema, bool whole)
{
    const struct pl_field *type = pl_schema_field(schema, "type");
    json_t *all = json_array();
    bool any = false;
    size_t i;

    for (i = 0; i < schema->n_fields; i++)
        any = any || schema->fields[i].when;
    for (i = 0; any && type && type->choices[i]; i++)
        (void)json_array_append_new(all,
                                    for_type(schema, type->choices[i], whole));
    if (any)
        (void)json_object_set(out, "allOf", all);
    json_decref(all);
}

static json_t *table(json_t *defs, const struct pl_schema *schema, bool whole)
{
    json_t *properties = json_object(), *due = json_array();
    json_t *out;
    size_t i;

    for (i = 0; i < schema->n_fields; i++) {
        const struct pl_field *f = &schema->fields[i];

        (void)json_object_set_new(properties, f->name, field(defs, f, whole));
        if (whole && !f->when && (f->flags & PL_F_REQUIRED))
            (void)json_array_append_new(due, json_string(f->name));
    }
    out = json_pack("{sssssosb}", "type", "object", "description", schema->help,
                    "properties", properties, "additionalProperties", 0);
    if (json_array_size(due) > 0)
        (void)json_object_set(out, "required", due);
    json_decref(due);
    add_types(out, schema, whole);
    return out;
}

/* --- what no table says --- */

/* One subject, one relation, and what a person grades has neither. An error is
 * both. */
static json_t *expectation(json_t *defs)
{
    static const char rules[] =
        "[{\"if\": {\"properties\": {\"manual\": {\"const\": true}},"
        " \"required\": [\"manual\"]},"
        " \"then\": {\"required\": [\"text\"], \"properties\": {"
        "  \"metric\": false, \"value\": false, \"file\": false,"
        "  \"column\": false, \"gt\": false, \"ge\": false, \"lt\": false,"
        "  \"le\": false, \"eq\": false, \"close\": false,"
        "  \"close_to\": false, \"exists\": false, \"order\": false,"
        "  \"same_as\": false, \"atol\": false, \"rtol\": false}},"
        " \"else\": {\"properties\": {\"text\": false,"
        "  \"exists\": {\"const\": true}}, \"allOf\": ["
        "  {\"oneOf\": [{\"required\": [\"metric\"]},"
        "   {\"required\": [\"value\"]}, {\"required\": [\"file\"]},"
        "   {\"required\": [\"error\"]}]},"
        "  {\"oneOf\": [{\"required\": [\"gt\"]}, {\"required\": [\"ge\"]},"
        "   {\"required\": [\"lt\"]}, {\"required\": [\"le\"]},"
        "   {\"required\": [\"eq\"]}, {\"required\": [\"close\"]},"
        "   {\"required\": [\"close_to\"]}, {\"required\": [\"exists\"]},"
        "   {\"required\": [\"order\"]}, {\"required\": [\"same_as\"]},"
        "   {\"required\": [\"error\"]}]}]}},"
        " {\"if\": {\"required\": [\"error\"]},"
        " \"then\": {\"properties\": {\"error\": {\"minLength\": 1}},"
        "  \"propertyNames\": {\"enum\":"
        "   [\"error\", \"points\", \"why\", \"visibility\"]}}},"
        " {\"if\": {\"anyOf\": [{\"required\": [\"atol\"]},"
        "  {\"required\": [\"rtol\"]}]},"
        " \"then\": {\"anyOf\": [{\"required\": [\"close\"]},"
        "  {\"required\": [\"close_to\"]}, {\"required\": [\"manual\"]}]}}]";
    json_t *out = table(defs, &pl_expect_schema, true);

    (void)json_object_set_new(
        out, "dependencies",
        parse("{\"column\": [\"file\"], \"order\": [\"column\"],"
              " \"exists\": [\"file\"], \"same_as\": [\"file\"]}"));
    (void)json_object_set_new(out, "allOf", parse(rules));
    return out;
}

/* Adds to choices what a kind's field takes, unless it is there. */
static void add_choice(json_t *choices, json_t *schema)
{
    size_t i;

    for (i = 0; i < json_array_size(choices); i++)
        if (json_equal(json_array_get(choices, i), schema))
            break;
    if (i == json_array_size(choices))
        (void)json_array_append(choices, schema);
    json_decref(schema);
}

/* The fields of all kinds: each takes what it takes in one of them. */
static json_t *any_kind(json_t *defs)
{
    json_t *out = json_object(), *same;
    size_t i, k;

    for (i = 0; pl_stage_kinds[i]; i++) {
        const struct pl_schema *with = pl_stage_kinds[i]->with;

        for (k = 0; k < with->n_fields; k++) {
            const struct pl_field *f = &with->fields[k];

            same = json_object_get(out, f->name);
            if (!same)
                (void)json_object_set_new(out, f->name,
                                          json_pack("{s[]}", "anyOf"));
            same = json_object_get(json_object_get(out, f->name), "anyOf");
            add_choice(same, field(defs, f, false));
        }
    }
    return out;
}

/* What one kind or another takes, and kinds. */
static json_t *defaults(json_t *defs)
{
    json_t *properties = any_kind(defs);
    size_t i;

    for (i = 0; pl_stage_kinds[i]; i++)
        (void)json_object_set_new(properties, pl_stage_kinds[i]->name,
                                  or_reference(see(pl_stage_kinds[i]->name)));
    return closed(properties);
}

/* A list of values for each field, and for paths into one. */
static json_t *matrix(json_t *defs)
{
    static const char list[] =
        "{\"type\": \"array\", \"minItems\": 1, \"uniqueItems\": true,"
        " \"items\": {\"not\": {\"type\": \"null\"}}}";
    json_t *out =
        parse("{\"type\": \"object\", \"minProperties\": 1,"
              " \"description\": \"lists of values for keys of with\","
              " \"additionalProperties\": false, \"properties\": {"
              "  \"name\": {\"type\": [\"string\", \"number\", \"boolean\"]},"
              "  \"include\": {\"type\": \"array\","
              "   \"items\": {\"type\": \"object\"}},"
              "  \"exclude\": {\"type\": \"array\","
              "   \"items\": {\"type\": \"object\"}}}}");
    json_t *properties = json_object_get(out, "properties");
    json_t *fields = any_kind(defs), *each;
    const char *name;

    json_object_foreach(fields, name, each)
    {
        json_t *values = parse(list);

        (void)json_object_set(values, "items", each);
        (void)json_object_set_new(properties, name, or_reference(values));
    }
    (void)json_object_set_new(
        out, "patternProperties",
        json_pack("{so}", "[.]", or_reference(parse(list))));
    json_decref(fields);
    return out;
}

/* `with` by the kind that `uses` names. */
static json_t *stage(json_t *defs)
{
    json_t *out = table(defs, &pl_stage_schema, false), *all = json_array();
    json_t *properties = json_object_get(out, "properties");
    json_t *uses = json_array();
    size_t i;

    for (i = 0; pl_stage_kinds[i]; i++) {
        const char *name = pl_stage_kinds[i]->name;

        (void)json_array_append_new(uses, json_string(name));
        (void)json_array_append_new(
            all, json_pack("{s{s{s{ss}}s[s]}s{s{so}}}", "if", "properties",
                           "uses", "const", name, "required", "uses", "then",
                           "properties", "with", see(name)));
    }
    (void)json_array_append_new(
        all, json_pack("{s{s{s[s]}}s{s{so}}}", "if", "not", "required", "uses",
                       "then", "properties", "with", see("any_kind")));
    (void)json_object_set_new(properties, "uses",
                              or_reference(json_pack("{so}", "enum", uses)));
    (void)json_object_set_new(properties, "with",
                              or_reference(parse("{\"type\": \"object\"}")));
    (void)json_object_set_new(properties, "matrix", see("matrix"));
    (void)json_object_set_new(
        properties, "expect",
        or_reference(json_pack("{sss{s[oo]}}", "type", "array", "items",
                               "anyOf", see("expectation"), parse(REFERENCE))));
    (void)json_object_set_new(out, "allOf", all);
    return out;
}

/* A map of names to what each must be. */
static json_t *map_of(json_t *each)
{
    return json_pack("{sss{ss}so}", "type", "object", "propertyNames",
                     "pattern", NAME, "additionalProperties", each);
}

static json_t *top(json_t *defs)
{
    json_t *out = table(defs, &pl_top_schema, false);
    json_t *p = json_object_get(out, "properties");

    (void)json_object_set_new(p, "version", parse("{\"const\": 1}"));
    (void)json_object_set_new(
        p, "name",
        any_of(json_pack("{ssss}", "type", "string", "pattern", NAME),
               parse(REFERENCE)));
    (void)json_object_set_new(
        p, "imports",
        map_of(parse("{\"type\": \"string\", \"minLength\": 1,"
                     " \"not\": {\"pattern\": \"[$][{]\"}}")));
    (void)json_object_set_new(p, "vars", map_of(json_object()));
    (void)json_object_set_new(p, "defaults", or_reference(defaults(defs)));
    (void)json_object_set_new(p, "datasets", map_of(see("dataset")));
    (void)json_object_set_new(p, "models", map_of(see("model")));
    (void)json_object_set_new(p, "operators", map_of(see("operator")));
    (void)json_object_set_new(p, "stages", map_of(see("stage")));
    (void)json_object_set_new(out, "patternProperties", parse("{\"^x-\": {}}"));
    return out;
}

/* Fills defs with every table by its name. */
static void define(json_t *defs)
{
    size_t i;

    /* a text with a reference in it can become anything */
    (void)json_object_set_new(defs, "reference",
                              parse("{\"type\": \"string\","
                                    " \"pattern\": \"[$][{]\"}"));
    for (i = 0; pl_stage_kinds[i]; i++)
        (void)json_object_set_new(defs, pl_stage_kinds[i]->name,
                                  table(defs, pl_stage_kinds[i]->with, false));
    (void)json_object_set_new(defs, "any_kind", closed(any_kind(defs)));
    (void)json_object_set_new(defs, "dataset",
                              table(defs, &pl_dataset_schema, false));
    (void)json_object_set_new(defs, "model",
                              table(defs, &pl_model_schema, false));
    (void)json_object_set_new(defs, "operator",
                              table(defs, &pl_operator_schema, false));
    (void)json_object_set_new(defs, "expectation", expectation(defs));
    (void)json_object_set_new(defs, "matrix", or_reference(matrix(defs)));
    (void)json_object_set_new(defs, "stage", stage(defs));
}

static int add_text(const char *text, size_t n, void *user)
{
    str_addn(user, text, n);
    return 0;
}

void pl_json_schema(struct str *out)
{
    json_t *root = json_pack("{ssss}", "$schema",
                             "http://json-schema.org/draft-07/schema#", "title",
                             "An experiment of pipeline");

    json_t *defs = json_object();

    define(defs);
    if (!root || json_object_update_new(root, top(defs)) != 0 ||
        json_object_set_new(root, "definitions", defs) != 0 ||
        json_dump_callback(root, add_text, out,
                           JSON_INDENT(1) | JSON_REAL_PRECISION(15)) != 0)
        out->failed = true;
    str_addc(out, '\n');
    json_decref(root);
}
