/* The bytes of a YAML file, and its syntax errors in words that help. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/utf8.h"
#include "pipeline/yaml.h"

/* NULL: the character may stand in a file. */
static const char *refusal(uint32_t cp)
{
    if (cp == 0)
        return "the character NUL is not allowed";
    if (cp == 0x85 || cp == 0x2028 || cp == 0x2029)
        return "a Unicode line separator is not allowed";
    if (cp == 0xfeff)
        return "a byte order mark is allowed at the start of a file only";
    if ((cp < ' ' && cp != '\t' && cp != '\n' && cp != '\r') ||
        (cp >= 0x7f && cp < 0xa0) || cp == 0xfffe || cp == 0xffff)
        return "control characters are not allowed";
    return NULL;
}

static bool refuse_utf16(const struct pl_file *file, struct pl_loc loc,
                         struct pl_diag *d)
{
    const unsigned char *p = (const unsigned char *)file->text;

    if (file->len < 2 ||
        !((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
        return false;
    pl_diag_error(d, loc, "the file is in UTF-16; it must be in UTF-8");
    pl_diag_help(d, "save it again as UTF-8 in your editor");
    return true;
}

bool pl_yaml_check_text(const struct pl_file *file, struct pl_diag *d)
{
    struct pl_loc loc = {file, 1, 1, 1};
    const char *p = file->text, *end = p + file->len;

    if (refuse_utf16(file, loc, d))
        return false;
    while (p < end) {
        uint32_t cp = 0;
        size_t len = utf8_decode(p, (size_t)(end - p), &cp);
        const char *why = len ? refusal(cp) : "these bytes are not UTF-8";

        if (why) {
            pl_diag_error(d, loc, "%s (byte 0x%02x)", why, (unsigned char)*p);
            return false;
        }
        loc.col++;
        if (cp == '\n' || (cp == '\r' && (p + 1 == end || p[1] != '\n'))) {
            loc.line++;
            loc.col = 1;
        }
        p += len;
    }
    return true;
}

/* Whether the rest of the line at p holds text. */
static bool line_has(const char *p, const char *text)
{
    size_t len = strlen(text);

    for (; *p && *p != '\n' && *p != '\r'; p++)
        if (strncmp(p, text, len) == 0)
            return true;
    return false;
}

struct rule {
    const char *problem; /* how libyaml's message begins */
    const char *at;      /* what stands at the place, or NULL */
    const char *in_line; /* what the line holds, or NULL */
    const char *msg;     /* NULL: libyaml's own */
    const char *help;
    bool at_begin;
};

static const struct rule rules[] = {
    {"found character that cannot start any token", "\t", NULL,
     "a tab is used for indentation", "use spaces", false},
    {"found a tab character", NULL, NULL, "a tab is used for indentation",
     "use spaces", false},
    {"found character that cannot start any token", NULL, NULL,
     "a text cannot begin with this character", "put it in quotes", false},
    {"found unknown escape character", NULL, "\\$",
     "'\\$' is not an escape of YAML", "for a literal ${ write $${", false},
    {"found unknown escape character", NULL, NULL, NULL,
     "in double quotes a backslash is written \\\\; single quotes take it as "
     "it is",
     false},
    {"did not find expected ',' or", NULL, "${", NULL,
     "inside [ ] and { } put a reference in quotes: \"${vars.x}\"", false},
    {"did not find expected ',' or", NULL, NULL, NULL,
     "a comma or a closing bracket is missing", false},
    {"did not find expected node content", NULL, "${", NULL,
     "inside [ ] and { } put a reference in quotes: \"${vars.x}\"", false},
    {"did not find expected node content", NULL, NULL, "a value is due here",
     "a text that begins with one of , ] } needs quotes", false},
    {"did not find expected comment or line break", NULL, NULL,
     "'>' and '|' begin a text of several lines",
     "to compare, write 'gt: 0.97'; to mean the text, put it in quotes", false},
    {"mapping values are not allowed", NULL, NULL,
     "':' begins a value where none can stand",
     "is the line indented as its neighbours? a text with ': ' needs quotes",
     false},
    {"could not find expected ':'", NULL, NULL, "this line is no 'key: value'",
     NULL, true},
    {"did not find expected key", NULL, NULL, "a key is due here",
     "is the line indented as its neighbours?", false},
    {"found unexpected ':'", NULL, NULL, "':' cannot stand here",
     "write a blank behind it", false},
    {"found incompatible YAML document", NULL, NULL,
     "this is another version of YAML", "remove the line", false},
    {"did not find expected '-' indicator", NULL, NULL,
     "an item '- ...' is due here", "is the line indented as its neighbours?",
     false},
    {"block sequence entries are not allowed", NULL, NULL,
     "a list cannot begin here", "begin it on a line of its own", false},
    {"found unexpected end of stream", NULL, NULL,
     "these quotes are not closed", NULL, true},
    {"found unexpected document indicator", NULL, NULL,
     "these quotes are not closed", NULL, true},
    {"did not find expected <document start>", NULL, NULL,
     "text follows that belongs to nothing",
     "is the line indented as its neighbours?", false},
};

struct pl_yaml_advice pl_yaml_advise(const char *problem, const char *line,
                                     const char *whole)
{
    struct pl_yaml_advice a = {problem, NULL, false};
    size_t i;

    for (i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *r = &rules[i];

        if (strncmp(problem, r->problem, strlen(r->problem)) != 0 ||
            (r->at && strncmp(line, r->at, strlen(r->at)) != 0) ||
            (r->in_line && !line_has(whole, r->in_line)))
            continue;
        if (r->msg)
            a.msg = r->msg;
        a.help = r->help;
        a.at_begin = r->at_begin;
        break;
    }
    return a;
}
