#include "pipeline/expect_tensor.h"

#include <math.h>
#include <string.h>

#include "pipeline/scalar.h"

enum { SHOWN = 4 };

/* The rest of an element's name, ".0.1"; NULL: it is none of name's. */
static const char *element(const char *item, const char *name)
{
    size_t n = strlen(name);
    const char *rest = item + n;

    if (strncmp(item, name, n) != 0 || *rest != '.')
        return NULL;
    return rest[strspn(rest, ".0123456789")] == '\0' ? rest : NULL;
}

/* The next element of name from item i on; values->n: there is none. */
static size_t next(const struct pl_metrics *values, const char *name, size_t i)
{
    while (i < values->n && !element(values->item[i].name, name))
        i++;
    return i;
}

bool pl_expect_is_tensor(const struct pl_metrics *values, const char *name)
{
    return next(values, name, 0) < values->n;
}

static size_t count(const struct pl_metrics *values, const char *name)
{
    size_t n = 0, i;

    for (i = next(values, name, 0); i < values->n;
         i = next(values, name, i + 1))
        n++;
    return n;
}

static void show(struct str *s, const struct pl_metrics *values,
                 const char *name)
{
    size_t n = 0, i;

    str_addc(s, '[');
    for (i = next(values, name, 0); i < values->n;
         i = next(values, name, i + 1)) {
        if (n++ == SHOWN) {
            str_add(s, ", ...");
            break;
        }
        str_add(s, n > 1 ? ", " : "");
        if (isfinite(values->item[i].value))
            scalar_add(s, values->item[i].value);
        else
            str_add(s, "null");
    }
    str_addc(s, ']');
}

static void show_fault(struct str *s, const char *at, double a, double b)
{
    str_addf(s, "; element %s: ", at + 1);
    if (isfinite(a))
        scalar_add(s, a);
    else
        str_add(s, "null");
    str_add(s, " beside ");
    if (isfinite(b))
        scalar_add(s, b);
    else
        str_add(s, "null");
}

/* What element number k, called at, is judged against. false: there is no
 * such element there. */
static bool bound_of(const struct pl_expect *e, const struct pl_metrics *values,
                     size_t k, const char *at, size_t *other, double *out)
{
    if (e->relation != PL_REL_CLOSE_TO) {
        *out = e->n_bounds ? e->bounds[k] : e->bound;
        return true;
    }
    *other = next(values, e->other, k ? *other + 1 : 0);
    if (*other == values->n ||
        strcmp(element(values->item[*other].name, e->other), at) != 0)
        return false;
    *out = values->item[*other].value;
    return true;
}

static bool same_count(struct str *measured, const struct pl_expect *e,
                       const struct pl_metrics *values)
{
    size_t n = count(values, e->value), m = n;

    if (e->relation == PL_REL_CLOSE_TO)
        m = count(values, e->other);
    else if (e->n_bounds)
        m = e->n_bounds;
    if (m != n)
        str_addf(measured, "; %zu numbers beside %zu", n, m);
    return m == n;
}

bool pl_expect_tensor(struct str *measured, const struct pl_expect *e,
                      const struct pl_metrics *values,
                      bool (*holds)(const struct pl_expect *e, double a,
                                    double b))
{
    size_t i, k = 0, other = 0;

    show(measured, values, e->value);
    if (!same_count(measured, e, values))
        return false;
    for (i = next(values, e->value, 0); i < values->n;
         i = next(values, e->value, i + 1)) {
        const char *at = element(values->item[i].name, e->value);
        double a = values->item[i].value, b;

        if (!bound_of(e, values, k++, at, &other, &b)) {
            str_addf(measured, "; the shape of %s is another one", e->other);
            return false;
        }
        if (!isfinite(a) || !isfinite(b) || !holds(e, a, b)) {
            show_fault(measured, at, a, b);
            return false;
        }
    }
    return true;
}
