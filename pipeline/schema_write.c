/* Walks over filled structs: the canonical text, and references. */
#include <inttypes.h>
#include <string.h>

#include "pipeline/node_write.h"
#include "pipeline/scalar.h"
#include "pipeline/schema.h"
#include "pipeline/schema_value.h"

/* The word of an ENUM, in the struct at in: a choice or an operator's name. */
static const char *choice_word(const struct pl_field *f, int choice,
                               const char *in)
{
    const char *own;

    if (!f->own || f->choices[choice])
        return f->choices[choice];
    memcpy(&own, in + f->own, sizeof own);
    return own;
}

/* The word of the field `type`, or NULL where a table has none. */
static const char *type_word(const struct pl_schema *schema, const char *in)
{
    const struct pl_field *f = pl_schema_field(schema, "type");
    int choice;

    if (!f || f->type != PL_T_ENUM)
        return NULL;
    memcpy(&choice, in + f->offset, sizeof choice);
    return choice_word(f, choice, in);
}

/* Whether f counts in a struct of this type; type NULL: it has none. */
static bool applies(const struct pl_schema *schema, const struct pl_field *f,
                    const char *type)
{
    size_t i;

    if (!type || pl_field_applies(f->when, type))
        return true;
    if (!(f->flags & PL_F_OWN))
        return false;
    f = pl_schema_field(schema, "type");
    for (i = 0; f->choices[i]; i++)
        if (strcmp(f->choices[i], type) == 0)
            return false;
    return true;
}

static int64_t int_at(const char *at)
{
    int64_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

static double double_at(const char *at)
{
    double v;

    memcpy(&v, at, sizeof v);
    return v;
}

static const char *text_at(const char *at)
{
    const char *s;

    memcpy(&s, at, sizeof s);
    return s;
}

/* The struct of a PL_T_STRUCT; NULL: it is behind a pointer and absent. */
static const char *target(const struct pl_field *f, const char *at)
{
    return f->flags & PL_F_POINTER ? text_at(at) : at;
}

/* True if the value can only come from "not given". */
static bool not_given(const struct pl_field *f, const char *at)
{
    double v;

    switch (f->type) {
    case PL_T_INT:
    case PL_T_SIZE:
        v = (double)int_at(at);
        break;
    case PL_T_NUMBER:
    case PL_T_DURATION:
        v = double_at(at);
        break;
    case PL_T_BOOL:
    case PL_T_ENUM:
        return false;
    case PL_T_STRUCT:
        return !target(f, at);
    case PL_T_LIST:
    case PL_T_NAMED:
        return ((const struct pl_list *)(const void *)at)->n == 0;
    default:
        return !text_at(at);
    }
    return (!f->def && v == 0) || !pl_value_within(f, v);
}

static void write_value(const struct pl_field *f, enum pl_type type,
                        const char *at, struct str *out)
{
    int choice;

    switch (type) {
    case PL_T_BOOL:
        str_add(out, *at ? "true" : "false");
        break;
    case PL_T_INT:
    case PL_T_SIZE:
        str_addf(out, "%" PRId64, int_at(at));
        break;
    case PL_T_NUMBER:
    case PL_T_DURATION:
        scalar_add(out, double_at(at));
        break;
    case PL_T_ENUM:
        memcpy(&choice, at, sizeof choice);
        pl_write_text(
            out, choice_word(f, choice, f->own ? at - f->offset : NULL), false);
        break;
    case PL_T_NODE:
        pl_write_flow(out, (const struct pl_node *)(const void *)text_at(at));
        break;
    default:
        pl_write_text(out, text_at(at), true);
    }
}

static void write_elements(const struct pl_field *f, const char *at,
                           struct str *out)
{
    const struct pl_list *list = (const void *)at;
    bool named = f->type == PL_T_NAMED;
    enum pl_type elem = named ? PL_T_STRUCT : f->elem;
    size_t size = pl_type_size(elem, f->sub), i;

    str_addc(out, named ? '{' : '[');
    for (i = 0; i < list->n; i++) {
        const char *p = (const char *)list->items + i * size;

        if (i)
            str_add(out, ", ");
        if (named) {
            pl_write_text(out, text_at(p + f->sub->name_offset), false);
            str_add(out, ": ");
        }
        if (elem == PL_T_STRUCT)
            pl_schema_canonical(f->sub, p, out);
        else
            write_value(f, elem, p, out);
    }
    str_addc(out, named ? '}' : ']');
}

static void write_struct(const struct pl_field *f, const char *at,
                         struct str *out)
{
    const char *in = target(f, at);

    if (in)
        pl_schema_canonical(f->sub, in, out);
}

void pl_schema_canonical(const struct pl_schema *schema, const void *in,
                         struct str *out)
{
    const char *type = type_word(schema, in), *sep = "";
    size_t i;

    str_addc(out, '{');
    for (i = 0; i < schema->n_fields; i++) {
        const struct pl_field *f = &schema->fields[i];
        const char *at = (const char *)in + f->offset;

        if (!applies(schema, f, type) || not_given(f, at))
            continue;
        str_addf(out, "%s%s: ", sep, f->name);
        sep = ", ";
        if (f->type == PL_T_STRUCT)
            write_struct(f, at, out);
        else if (f->type == PL_T_LIST || f->type == PL_T_NAMED)
            write_elements(f, at, out);
        else
            write_value(f, f->type, at, out);
    }
    str_addc(out, '}');
}

static void visit_list(const struct pl_field *f, const char *at,
                       enum pl_type type,
                       void (*fn)(void *user, const char *value), void *user)
{
    const struct pl_list *list = (const void *)at;
    enum pl_type elem = f->type == PL_T_NAMED ? PL_T_STRUCT : f->elem;
    size_t size = pl_type_size(elem, f->sub), i;

    for (i = 0; i < list->n; i++) {
        const char *p = (const char *)list->items + i * size;

        if (elem == PL_T_STRUCT)
            pl_schema_visit(f->sub, p, type, fn, user);
        else if (elem == type && text_at(p))
            fn(user, text_at(p));
    }
}

static void visit_struct(const struct pl_field *f, const char *at,
                         enum pl_type type,
                         void (*fn)(void *user, const char *value), void *user)
{
    const char *in = target(f, at);

    if (in)
        pl_schema_visit(f->sub, in, type, fn, user);
}

void pl_schema_visit(const struct pl_schema *schema, const void *in,
                     enum pl_type type,
                     void (*fn)(void *user, const char *value), void *user)
{
    size_t i;

    for (i = 0; i < schema->n_fields; i++) {
        const struct pl_field *f = &schema->fields[i];
        const char *at = (const char *)in + f->offset;

        if (f->type == PL_T_LIST || f->type == PL_T_NAMED)
            visit_list(f, at, type, fn, user);
        else if (f->type == PL_T_STRUCT)
            visit_struct(f, at, type, fn, user);
        else if (f->type == type && text_at(at))
            fn(user, text_at(at));
        else if (type == PL_T_OPERATOR && f->own &&
                 text_at(at - f->offset + f->own))
            fn(user, text_at(at - f->offset + f->own));
    }
}
