#include "pipeline/chart_svg.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "pipeline/number.h"
#include "pipeline/utf8.h"

/* No CSS variables: renderers outside browsers do not know them. The colours
 * of series have a contrast of 3:1 or more against the background and stay
 * apart for colour-blind readers (after Okabe and Ito, 2008). */
static const char style[] =
    "<style>\n"
    ".pl-chart text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,"
    "Helvetica,Arial,\"DejaVu Sans\",sans-serif;font-size:13px;fill:#1f2328}\n"
    ".pl-chart .bg{fill:#fff}\n"
    ".pl-chart .title{font-size:15px;font-weight:600}\n"
    ".pl-chart .soft{fill:#59636e}\n"
    ".pl-chart .grid{stroke:#e4e7eb}\n"
    ".pl-chart .axis{stroke:#8c959f}\n"
    ".pl-chart .line{fill:none;stroke-width:2;stroke-linejoin:round;"
    "stroke-linecap:round}\n"
    ".pl-chart .pale{fill:none;stroke-width:1;stroke-linejoin:round;"
    "stroke-opacity:.35}\n"
    ".pl-chart .guide{fill:none;stroke:#6e7781;stroke-width:1.5;"
    "stroke-dasharray:5 5}\n"
    ".pl-chart .band{fill-opacity:.16;stroke:none}\n"
    ".pl-chart .bar{fill:none;stroke-width:1.5}\n"
    ".pl-chart text.mark{font-size:64px;font-weight:700;fill:#8c959f;"
    "fill-opacity:.28}\n"
    ".pl-chart .cross{fill:none;stroke-width:1.8;stroke-linecap:round}\n"
    ".pl-chart .d1{stroke-dasharray:7 4;stroke-linecap:butt}\n"
    ".pl-chart .d2{stroke-dasharray:2 3;stroke-linecap:butt}\n"
    ".pl-chart .d3{stroke-dasharray:9 3 2 3;stroke-linecap:butt}\n"
    ".pl-chart .heat{fill:#08519c}\n"
    ".pl-chart .dark{fill:#fff}\n"
    ".pl-chart .faint{fill:#a3abb5}\n"
    ".pl-chart .s0{stroke:#0072b2}.pl-chart .f0{fill:#0072b2}\n"
    ".pl-chart .s1{stroke:#d55e00}.pl-chart .f1{fill:#d55e00}\n"
    ".pl-chart .s2{stroke:#00875f}.pl-chart .f2{fill:#00875f}\n"
    ".pl-chart .s3{stroke:#b0559a}.pl-chart .f3{fill:#b0559a}\n"
    ".pl-chart .s4{stroke:#946c00}.pl-chart .f4{fill:#946c00}\n"
    ".pl-chart .s5{stroke:#5c6670}.pl-chart .f5{fill:#5c6670}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".pl-chart text{fill:#e6edf3}\n"
    ".pl-chart .bg{fill:#0d1117}\n"
    ".pl-chart .soft{fill:#9da7b1}\n"
    ".pl-chart .grid{stroke:#262c34}\n"
    ".pl-chart .axis{stroke:#6e7681}\n"
    ".pl-chart .heat{fill:#6aa8f0}\n"
    ".pl-chart .guide{stroke:#9da7b1}\n"
    ".pl-chart .band{fill-opacity:.24}\n"
    ".pl-chart .dark{fill:#0d1117}\n"
    ".pl-chart .faint{fill:#5d6670}\n"
    ".pl-chart .s0{stroke:#56b4e9}.pl-chart .f0{fill:#56b4e9}\n"
    ".pl-chart .s1{stroke:#f0883e}.pl-chart .f1{fill:#f0883e}\n"
    ".pl-chart .s2{stroke:#3fcf9b}.pl-chart .f2{fill:#3fcf9b}\n"
    ".pl-chart .s3{stroke:#e89ac7}.pl-chart .f3{fill:#e89ac7}\n"
    ".pl-chart .s4{stroke:#e3b341}.pl-chart .f4{fill:#e3b341}\n"
    ".pl-chart .s5{stroke:#b0b8c0}.pl-chart .f5{fill:#b0b8c0}\n"
    "}\n"
    "</style>\n";

/* ---- numbers ---- */

static void add_hundredths(struct str *s, double v)
{
    int64_t n = llround(v * 100);
    int decimals = n % 100 == 0 ? 0 : n % 10 == 0 ? 1 : 2;

    pl_add_number(s, v, decimals, false);
}

void svg_add_xy(struct str *s, double x, double y)
{
    add_hundredths(s, x);
    str_addc(s, ',');
    add_hundredths(s, y);
}

void svg_add_attr(struct str *s, const char *name, double v)
{
    str_addf(s, " %s=\"", name);
    add_hundredths(s, v);
    str_addc(s, '"');
}

/* ---- characters ---- */

/* Bytes of the character at p that XML can hold, n > 0 bytes left; 0: none. */
static size_t char_len(const char *p, size_t n)
{
    uint32_t cp;
    size_t len = utf8_decode(p, n, &cp);

    return len > 0 && (cp == 0xfffe || cp == 0xffff) ? 0 : len;
}

void svg_add_escaped(struct str *s, const char *text, size_t n)
{
    size_t i, len;

    for (i = 0; i < n; i += len ? len : 1) {
        char one[2] = {text[i], '\0'};

        len = char_len(text + i, n - i);
        if (len == 0)
            str_add(s, "\xef\xbf\xbd"); /* U+FFFD */
        else if (len > 1)
            str_addn(s, text + i, len);
        else if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            str_addc(s, ' ');
        else
            str_add_xml(s, one);
    }
}

/* In ems, after DejaVu Sans: the common fonts are narrower. */
static double char_width(const char *p, size_t len)
{
    if (len > 2)
        return 1.0; /* up to ideographs */
    if (len == 2)
        return 0.65;
    if (strchr("il|'.,:;j ", *p))
        return 0.34;
    if (strchr("()[]{}/\\-frtI!\"", *p))
        return 0.42;
    if (strchr("mwMWO@%QG+=<>~_", *p))
        return 0.92;
    return *p >= 'A' && *p <= 'Z' ? 0.72 : 0.64;
}

double svg_width(const char *text, size_t n, double size)
{
    double w = 0;
    size_t i, len;

    for (i = 0; i < n; i += len) {
        len = char_len(text + i, n - i);
        len = len ? len : 1;
        w += char_width(text + i, len) * size;
    }
    return w;
}

size_t svg_fit(const char *text, size_t n, double size, double width)
{
    double w = 0;
    size_t i, len;

    for (i = 0; i < n; i += len) {
        len = char_len(text + i, n - i);
        len = len ? len : 1;
        w += char_width(text + i, len) * size;
        if (w > width)
            break;
    }
    return i < n ? i : n;
}

/* ---- text ---- */

void svg_add_text(struct str *s, const struct svg_place *at, const char *text)
{
    size_t n = strlen(text), fit = n;

    if (at->width > 0 && svg_width(text, n, SVG_TEXT) > at->width)
        fit = svg_fit(text, n, SVG_TEXT, at->width - SVG_TEXT);
    str_add(s, "<text");
    if (at->upwards) {
        str_add(s, " transform=\"translate(");
        svg_add_xy(s, at->x, at->y);
        str_add(s, ") rotate(-90)\"");
    } else {
        svg_add_attr(s, "x", at->x);
        svg_add_attr(s, "y", at->y);
    }
    if (strcmp(at->anchor, "start") != 0)
        str_addf(s, " text-anchor=\"%s\"", at->anchor);
    if (at->class)
        str_addf(s, " class=\"%s\"", at->class);
    str_addc(s, '>');
    svg_add_escaped(s, text, fit);
    if (fit < n)
        str_add(s, "\xe2\x80\xa6"); /* an ellipsis */
    str_add(s, "</text>\n");
}

/* The bytes of the next line: up to the last space that fits, or as much of a
 * single word as fits; never 0 while text is left. */
static size_t line_len(const char *text, size_t n, double size, double width)
{
    size_t fit = svg_fit(text, n, size, width), end = fit;

    if (fit == n)
        return n;
    while (end > 0 && text[end] != ' ')
        end--;
    if (end > 0)
        return end;
    end = char_len(text, n);
    return fit > 0 ? fit : end > 0 ? end : 1;
}

void svg_wrap(struct svg_lines *out, const char *text, double size,
              double width)
{
    size_t at = 0, n = strlen(text), len;

    out->n = 0;
    while (at < n && out->n < SVG_MAX_LINES) {
        len = line_len(text + at, n - at, size, width);
        out->begin[out->n] = at;
        out->len[out->n++] = len;
        at += len;
        while (at < n && text[at] == ' ')
            at++;
    }
    out->cut = at < n;
}

/* Bold letters are wider. */
static const double title_size = SVG_TITLE * 1.1, title_line = 21;

/* The narrowest lines that are no more in number: no word stands alone. */
static void wrap_evenly(struct svg_lines *out, const char *title, double width)
{
    struct svg_lines narrower;

    svg_wrap(out, title, title_size, width);
    while (width > title_size) {
        svg_wrap(&narrower, title, title_size, width);
        if (narrower.n > out->n || narrower.cut != out->cut)
            return;
        *out = narrower;
        width -= title_size / 2;
    }
}

double svg_title_height(const char *title, double width)
{
    struct svg_lines lines;

    svg_wrap(&lines, title ? title : "", title_size, width);
    return (double)lines.n * title_line;
}

double svg_add_title(struct str *s, const char *title, double x, double y,
                     double width)
{
    struct svg_lines lines;
    size_t i;

    title = title ? title : "";
    wrap_evenly(&lines, title, width);
    for (i = 0; i < lines.n; i++) {
        str_add(s, "<text class=\"title\" text-anchor=\"middle\"");
        svg_add_attr(s, "x", x);
        svg_add_attr(s, "y", y + title_line * (double)i + SVG_TITLE);
        str_addc(s, '>');
        svg_add_escaped(s, title + lines.begin[i], lines.len[i]);
        if (lines.cut && i + 1 == lines.n)
            str_add(s, "\xe2\x80\xa6"); /* an ellipsis */
        str_add(s, "</text>\n");
    }
    return (double)lines.n * title_line;
}

void svg_begin(struct str *s, double width, double height, const char *title,
               const char *desc)
{
    str_add(s, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"pl-chart\" "
               "role=\"img\"");
    svg_add_attr(s, "width", width);
    svg_add_attr(s, "height", height);
    str_add(s, " viewBox=\"0 0 ");
    add_hundredths(s, width);
    str_addc(s, ' ');
    add_hundredths(s, height);
    str_add(s, "\">\n<title>");
    svg_add_escaped(s, title ? title : "", title ? strlen(title) : 0);
    str_add(s, "</title>\n<desc>");
    svg_add_escaped(s, desc, strlen(desc));
    str_add(s, "</desc>\n");
    str_add(s, style);
    str_add(s, "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
}
