/* The pieces that every picture is made of. Lengths are in pixels. */
#ifndef PIPELINE_CHART_SVG_H
#define PIPELINE_CHART_SVG_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/str.h"

enum {
    SVG_TEXT = 13, /* font sizes */
    SVG_TITLE = 15,
    SVG_COLOURS = 6, /* classes s0 .. s5 (stroke), f0 .. f5 (fill) */
    SVG_DASHES = 4,  /* classes d0 .. d3, d0 is solid */
    SVG_MAX_LINES = 4
};

void svg_add_xy(struct str *s, double x, double y); /* "12.5,40" */
/* name="v" with a space before it, in hundredths. */
void svg_add_attr(struct str *s, const char *name, double v);

/* Opens the picture: size, style, title and description for screen readers,
 * background. It is ended by "</svg>". */
void svg_begin(struct str *s, double width, double height, const char *title,
               const char *desc);

/* n bytes of text, escaped; bytes that are not UTF-8 and control characters
 * are replaced. */
void svg_add_escaped(struct str *s, const char *text, size_t n);

/* About how wide a text is drawn, on the wide side: fonts differ. */
double svg_width(const char *text, size_t n, double size);
/* Bytes of text that fit into width, whole characters. */
size_t svg_fit(const char *text, size_t n, double size, double width);

/* One line of text at its baseline. anchor: "start", "middle", "end". class:
 * space-separated names of the style in chart_svg.c. */
struct svg_place {
    double x, y;
    const char *anchor, *class;
    double width; /* > 0: what does not fit is cut, with an ellipsis */
    bool upwards; /* turned by 90 degrees, read from below */
};
void svg_add_text(struct str *s, const struct svg_place *at, const char *text);

/* A title as lines that fit into width; SVG_MAX_LINES at most. */
struct svg_lines {
    size_t n;
    size_t begin[SVG_MAX_LINES], len[SVG_MAX_LINES]; /* into the text */
    bool cut;                                        /* text is left over */
};
void svg_wrap(struct svg_lines *out, const char *text, double size,
              double width);
/* The title's lines, of even length, from y down, centred at x; returns the
 * height taken. */
double svg_add_title(struct str *s, const char *title, double x, double y,
                     double width);
double svg_title_height(const char *title, double width);

#endif
