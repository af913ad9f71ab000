#include "pipeline/metrics.h"

#include <math.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/json_file.h"
#include "pipeline/scalar.h"

static struct pl_metric_value *find(const struct pl_metrics *m,
                                    const char *name)
{
    size_t i = name_index_find(&m->names, name);

    return i == NAME_NONE ? NULL : &m->item[i];
}

static struct pl_metric_value *append(struct pl_metrics *m, const char *name)
{
    struct pl_metric_value *p;
    size_t cap;

    if (!m->item || m->n == m->cap) {
        cap = m->cap ? m->cap * 2 : 16;
        p = mem_grow(m->item, cap, sizeof *p);
        if (!p)
            return NULL;
        m->item = p;
        m->cap = cap;
    }
    p = &m->item[m->n];
    p->name = mem_strdup(name);
    if (!p->name || !name_index_add(&m->names, p->name)) {
        mem_free(p->name);
        return NULL;
    }
    m->n++;
    return p;
}

void pl_metrics_set(struct pl_metrics *m, const char *name, double value)
{
    struct pl_metric_value *p = find(m, name);

    if (!p)
        p = append(m, name);
    if (!p)
        m->failed = true;
    else
        p->value = isfinite(value) ? value : NAN;
}

const double *pl_metrics_get(const struct pl_metrics *m, const char *name)
{
    const struct pl_metric_value *p = find(m, name);

    return p ? &p->value : NULL;
}

void pl_metrics_clear(struct pl_metrics *m)
{
    size_t i;

    for (i = 0; i < m->n; i++)
        mem_free(m->item[i].name);
    mem_free(m->item);
    name_index_free(&m->names);
    memset(m, 0, sizeof *m);
}

int pl_metrics_write(const struct pl_metrics *m, const char *path,
                     struct err *err)
{
    struct str s = {0};
    size_t i;
    int rc;

    str_add(&s, "{");
    for (i = 0; i < m->n; i++) {
        str_add(&s, i ? ",\n  " : "\n  ");
        pl_json_add_text(&s, m->item[i].name);
        str_add(&s, ": ");
        if (isfinite(m->item[i].value))
            scalar_add(&s, m->item[i].value);
        else
            str_add(&s, "null");
    }
    str_add(&s, m->n ? "\n}\n" : "}\n");
    if (s.failed || m->failed)
        rc = err_set(err, ERR_NOMEM, "out of memory writing '%s'", path);
    else
        rc = io_write_file(path, s.text, s.len, err);
    str_free(&s);
    return rc;
}

int pl_metrics_read(struct pl_metrics *m, const char *path, struct err *err)
{
    const char *key;
    json_t *root, *value;
    int rc = pl_json_read(&root, path, err);

    if (rc != 0)
        return rc;
    json_object_foreach(root, key, value)
    {
        if (json_is_null(value))
            pl_metrics_set(m, key, NAN);
        else if (json_is_number(value))
            pl_metrics_set(m, key, json_number_value(value));
        else
            rc =
                err_set(err, ERR_CORRUPT,
                        "'%s': \"%s\" is neither a number nor null", path, key);
    }
    json_decref(root);
    if (rc == 0 && m->failed)
        rc = err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
    return rc;
}
