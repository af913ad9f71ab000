#include "pipeline/expect_error.h"

#include <string.h>

const char *pl_expected_error(const struct pl_stage *s)
{
    size_t i;

    for (i = 0; i < s->n_expect; i++)
        if (s->expect[i].error)
            return s->expect[i].error;
    return NULL;
}

bool pl_error_expected(const struct pl_stage *s, const char *message)
{
    const char *text = pl_expected_error(s);

    return text && strstr(message, text) != NULL;
}

bool pl_error_counts(int code)
{
    return code != ERR_INTERRUPTED && code != ERR_NOMEM && code != ERR_FETCH;
}

/* How many bytes of text are one of the folders and a slash; the most. */
static size_t folder_at(const char *text, const char *const *dirs, size_t n)
{
    size_t longest = 0, i;

    for (i = 0; i < n; i++) {
        size_t len = dirs[i] ? strlen(dirs[i]) : 0;

        if (len > 1 && len + 1 > longest && strncmp(text, dirs[i], len) == 0 &&
            text[len] == '/')
            longest = len + 1;
    }
    return longest;
}

/* Whether a path can begin behind c. */
static bool is_border(char c)
{
    return c == ' ' || c == '\'' || c == '"' || c == '(' || c == ',';
}

void pl_error_text(struct str *out, const char *message,
                   const char *const *dirs, size_t n)
{
    const char *p = message;

    while (*p) {
        size_t skip =
            p == message || is_border(p[-1]) ? folder_at(p, dirs, n) : 0;

        p += skip;
        if (!skip)
            str_addc(out, *p++);
    }
}
