#include "pipeline/reference.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "nn/base/str.h"

/* A file being read: where it stands, for messages. */
struct reader {
    struct arena *arena;
    const char *path;
    size_t index; /* of the case */
    struct err *err;
};

static int bad(const struct reader *r, const char *what)
{
    return err_set(r->err, ERR_CORRUPT, "'%s': case %zu: %s", r->path, r->index,
                   what);
}

static int no_memory(const struct reader *r)
{
    return err_set(r->err, ERR_NOMEM, "out of memory reading '%s'", r->path);
}

static int read_numbers(const struct reader *r, const json_t *list, int64_t n,
                        double **out)
{
    size_t i;

    if (json_is_number(list) && n == 1) { /* a scalar may stand bare */
        *out = arena_alloc(r->arena, sizeof **out);
        if (!*out)
            return no_memory(r);
        **out = json_number_value(list);
        return 0;
    }
    if (!json_is_array(list) || json_array_size(list) != (size_t)n)
        return bad(r, "a list of numbers does not fit its shape");
    *out = arena_array(r->arena, (size_t)n + 1, sizeof **out);
    if (!*out)
        return no_memory(r);
    for (i = 0; i < (size_t)n; i++) {
        const json_t *v = json_array_get(list, i);

        if (!json_is_number(v))
            return bad(r, "a list of numbers holds something else");
        (*out)[i] = json_number_value(v);
    }
    return 0;
}

static int read_shape(const struct reader *r, const json_t *list,
                      struct nn_shape *shape)
{
    size_t i;

    memset(shape, 0, sizeof *shape);
    if (!json_is_array(list) || json_array_size(list) > NN_MAX_DIMS)
        return bad(r, "a shape is missing or too long");
    for (i = 0; i < json_array_size(list); i++)
        shape->dim[shape->ndim++] = json_integer_value(json_array_get(list, i));
    return nn_shape_check(shape, r->err);
}

static int read_tensor(const struct reader *r, const json_t *obj,
                       struct pl_ref_tensor *t)
{
    int rc = read_shape(r, json_object_get(obj, "shape"), &t->shape);

    if (rc != 0)
        return rc;
    return read_numbers(r, json_object_get(obj, "data"),
                        nn_shape_numel(&t->shape), &t->data);
}

static double number_or(const json_t *obj, const char *key, double other)
{
    const json_t *v = json_object_get(obj, key);

    return json_is_number(v) ? json_number_value(v) : other;
}

static enum nn_act read_act(const json_t *attrs)
{
    const char *act = json_string_value(json_object_get(attrs, "act"));

    if (!act)
        return NN_ACT_NONE;
    return strcmp(act, "relu") == 0   ? NN_ACT_RELU
           : strcmp(act, "tanh") == 0 ? NN_ACT_TANH
                                      : NN_ACT_SIGMOID;
}

/* Axes, windows and whatever else is a plain number, and their title. */
static void read_sizes(const json_t *attrs, struct nn_opcase *op,
                       struct str *title)
{
    static const char *const keys[] = {"dim0",   "dim1",   "start",  "stop",
                                       "kernel", "stride", "padding"};
    size_t i;

    op->dim = (int)number_or(attrs, "dim", NN_AXIS_ALL);
    op->dim = (int)number_or(attrs, "dim0", op->dim);
    op->dim2 = (int)number_or(attrs, "dim1", 0);
    op->start = (int64_t)number_or(attrs, "start", 0);
    op->stop = (int64_t)number_or(attrs, "stop", 0);
    op->kernel = (int64_t)number_or(attrs, "kernel", 0);
    op->stride = (int64_t)number_or(attrs, "stride", 0);
    op->padding = (int64_t)number_or(attrs, "padding", 0);
    op->eps = number_or(attrs, "eps", 1e-5);
    if (json_object_get(attrs, "dim"))
        str_addf(title, " dim=%d", op->dim);
    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_object_get(attrs, keys[i]))
            str_addf(title, " %s=%g", keys[i], number_or(attrs, keys[i], 0));
}

/* Settings, and a title that tells this case from its neighbours. */
static int read_attrs(const struct reader *r, const json_t *attrs,
                      struct pl_ref_case *c)
{
    const char *reduction =
        json_string_value(json_object_get(attrs, "reduction"));
    struct str title = {0};

    c->op.sum = reduction && strcmp(reduction, "sum") == 0;
    c->op.label_smoothing = number_or(attrs, "label_smoothing", 0.0);
    c->op.pos_weight = number_or(attrs, "pos_weight", 1.0);
    c->op.exponent = number_or(attrs, "exponent", 1.0);
    c->op.act = read_act(attrs);
    str_add(&title, c->op.op);
    if (json_is_false(json_object_get(attrs, "bias")))
        str_add(&title, " without bias");
    if (c->op.act != NN_ACT_NONE)
        str_addf(&title, " + %s",
                 json_string_value(json_object_get(attrs, "act")));
    if (c->op.sum)
        str_add(&title, " reduction=sum");
    if (c->op.label_smoothing != 0.0)
        str_addf(&title, " label_smoothing=%g", c->op.label_smoothing);
    if (c->op.pos_weight != 1.0)
        str_addf(&title, " pos_weight=%g", c->op.pos_weight);
    if (json_object_get(attrs, "exponent"))
        str_addf(&title, " exponent=%g", c->op.exponent);
    read_sizes(attrs, &c->op, &title);
    c->title = title.failed ? NULL : arena_strdup(r->arena, title.text);
    str_free(&title);
    return c->title ? 0 : no_memory(r);
}

static int read_inputs(const struct reader *r, json_t *obj,
                       struct pl_ref_case *c)
{
    const json_t *grads = json_object_get(obj, "grad");
    const char *name;
    json_t *value;
    int rc = 0;

    json_object_foreach(json_object_get(obj, "in"), name, value)
    {
        struct pl_ref_tensor *t = &c->in[c->n_in];
        const json_t *grad = json_object_get(grads, name);

        if (c->n_in == NN_MAX_IN)
            return bad(r, "too many inputs");
        t->name = arena_strdup(r->arena, name);
        rc = t->name ? read_tensor(r, value, t) : no_memory(r);
        if (rc == 0 && grad)
            rc = read_numbers(r, grad, nn_shape_numel(&t->shape), &t->grad);
        if (rc != 0)
            return rc;
        c->n_in++;
    }
    return 0;
}

static int read_case(const struct reader *r, json_t *obj, struct pl_ref_case *c)
{
    const char *op = json_string_value(json_object_get(obj, "op"));
    int n_in = 0, rc;

    if (!op || !nn_opcase_known(op, &n_in))
        return bad(r, op ? "the operator is not known" : "'op' is missing");
    c->op.op = arena_strdup(r->arena, op);
    if (!c->op.op)
        return no_memory(r);
    rc = read_attrs(r, json_object_get(obj, "attrs"), c);
    if (rc == 0)
        rc = read_inputs(r, obj, c);
    if (rc == 0 && c->n_in != n_in && !(c->n_in == 2 && n_in == 3))
        rc = bad(r, "the number of inputs does not fit the operator");
    if (rc == 0)
        rc = read_tensor(r, json_object_get(obj, "out"), &c->out);
    if (rc == 0)
        rc = read_numbers(r, json_object_get(obj, "grad_out"),
                          nn_shape_numel(&c->out.shape), &c->grad_out);
    return rc;
}

static int read_cases(struct pl_reference *out, struct reader *r,
                      const json_t *root)
{
    const json_t *cases = json_object_get(root, "cases");
    const char *source = json_string_value(json_object_get(root, "reference"));
    int rc = 0;

    if (!json_is_array(cases) || json_array_size(cases) == 0)
        return err_set(r->err, ERR_CORRUPT, "'%s' has no cases", r->path);
    out->source = arena_strdup(r->arena, source ? source : "the reference");
    out->cases =
        arena_array(r->arena, json_array_size(cases) + 1, sizeof *out->cases);
    if (!out->source || !out->cases)
        return no_memory(r);
    for (r->index = 0; rc == 0 && r->index < json_array_size(cases);
         r->index++) {
        rc = read_case(r, json_array_get(cases, r->index),
                       &out->cases[r->index]);
        out->n = r->index + 1;
    }
    return rc;
}

int pl_reference_read(struct pl_reference *out, const char *path,
                      struct err *err)
{
    struct reader r = {&out->arena, path, 0, err};
    json_error_t je;
    json_t *root;
    int rc;

    memset(out, 0, sizeof *out);
    root = json_load_file(path, JSON_REJECT_DUPLICATES, &je);
    if (!root)
        return err_set(err, ERR_CORRUPT, "'%s':%d:%d: %s", path, je.line,
                       je.column, je.text);
    rc = read_cases(out, &r, root);
    json_decref(root);
    if (rc != 0)
        pl_reference_free(out);
    return rc;
}

void pl_reference_free(struct pl_reference *r)
{
    arena_free(&r->arena);
    r->n = 0;
}
