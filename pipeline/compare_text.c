#include "pipeline/compare_text.h"

#include <math.h>
#include <string.h>

#include "pipeline/number.h"

void pl_add_figure(struct str *s, double v)
{
    if (isfinite(v) && v == floor(v) && fabs(v) < 1e15)
        pl_add_number(s, v, 0, true);
    else
        pl_add_digits(s, v, 3);
}

void pl_add_times(struct str *s, double ratio)
{
    pl_add_figure(s, ratio);
    str_add(s, " times");
}

enum { LONG_NAME = 56 };

/* Bytes of a name before the parameters, which stand outside of < >. */
static size_t without_parameters(const char *name)
{
    size_t i;
    int depth = 0;

    for (i = 0; name[i]; i++) {
        if (name[i] == '<')
            depth++;
        else if (name[i] == '>' && depth > 0)
            depth--;
        else if (name[i] == '(' && depth == 0 && i > 0)
            break;
    }
    return i;
}

/* Whether a name says nothing without its first argument: "Kernel2<...>". */
static bool is_wrapper(const char *name, size_t len)
{
    return (len >= 6 && strncmp(name + len - 6, "Kernel", 6) == 0) ||
           (len >= 7 && strncmp(name + len - 7, "Kernel2", 7) == 0);
}

void pl_add_kernel_name(struct str *s, const char *name)
{
    size_t len, head;

    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    if (strncmp(name, "Mem", 3) == 0) { /* "Memcpy HtoD (Pageable -> ...)" */
        str_add(s, name);
        return;
    }
    len = without_parameters(name);
    head = strcspn(name, "<");
    if (len <= LONG_NAME || head >= len) {
        str_addn(s, name, len);
        return;
    }
    if (is_wrapper(name, head)) {
        const char *inner = name + head + 1;

        str_addn(s, name, head + 1);
        str_addn(s, inner, strcspn(inner, "<,>"));
    } else {
        str_addn(s, name, head + 1);
    }
    str_add(s, "...>");
}
