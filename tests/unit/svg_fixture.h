/* Looking at SVG texts. */
#ifndef TESTS_SVG_FIXTURE_H
#define TESTS_SVG_FIXTURE_H

#include <stdlib.h>
#include <string.h>

static inline size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (text = strstr(text, what); text; text = strstr(text + 1, what))
        n++;
    return n;
}

/* Every tag is closed by one of its name, in the right order. */
static inline void expect_well_formed(const char *xml)
{
    const char *open[16] = {NULL};
    size_t len[16] = {0};
    int depth = 0;

    for (xml = strchr(xml, '<'); xml; xml = strchr(xml + 1, '<')) {
        const char *end = strchr(xml, '>');
        size_t n = strcspn(xml + 1, " />\n");

        assert_non_null(end);
        if (xml[1] == '/') {
            assert_true(depth > 0);
            depth--;
            n = strcspn(xml + 2, ">");
            assert_int_equal(n, len[depth]);
            assert_memory_equal(xml + 2, open[depth], n);
        } else if (end[-1] != '/') {
            assert_true(depth < 16);
            open[depth] = xml + 1;
            len[depth++] = n;
        }
    }
    assert_int_equal(depth, 0);
}

#endif
