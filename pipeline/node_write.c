#include "pipeline/node_write.h"

#include <string.h>

#include "pipeline/url.h"

/* Texts that mean the same with and without quotes around them stay bare. */
static bool is_bare(const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
    static const char *const nulls[] = {"null", "Null", "NULL"};
    size_t len = strlen(text), i;

    if (len == 0 || strspn(text, safe) != len ||
        strspn(text, "-.") == len) /* "-", "---", "..." */
        return false;
    for (i = 0; i < sizeof nulls / sizeof *nulls; i++)
        if (strcmp(text, nulls[i]) == 0)
            return false;
    return true;
}

/* references: `${` stays one; else it is made a text. */
static void add_escaped(struct str *out, const char *text, bool references)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c == '\n')
            str_add(out, "\\n");
        else if (c == '\t')
            str_add(out, "\\t");
        else if (c < ' ' || c == 0x7f)
            str_addf(out, "\\x%02x", c);
        else if (c == '$' && text[1] == '{' && !references)
            str_add(out, "$$");
        else
            str_addc(out, (char)c);
    }
}

void pl_write_text(struct str *out, const char *text, bool quoted)
{
    if (!quoted && is_bare(text)) {
        str_add(out, text);
        return;
    }
    str_addc(out, '"');
    add_escaped(out, text, false);
    str_addc(out, '"');
}

/* An address goes without its password, which a record must not keep. (One
 * from the environment stays the reference that it is, and works again.) */
static void write_plain(struct str *out, const struct pl_node *node)
{
    struct str shown = {0};

    if (!strstr(node->text, "://")) {
        pl_write_text(out, node->text, node->quoted);
        return;
    }
    pl_url_mask(&shown, node->text);
    if (shown.failed)
        out->failed = true;
    else
        pl_write_text(out, shown.text, node->quoted);
    str_free(&shown);
}

static void write_scalar(struct str *out, const struct pl_node *node)
{
    if (!node->written && !node->pending) {
        write_plain(out, node);
        return;
    }
    str_addc(out, '"');
    add_escaped(out, node->written ? node->written : node->text, true);
    str_addc(out, '"');
}

void pl_write_flow(struct str *out, const struct pl_node *node)
{
    bool map = node->kind == PL_MAP;
    size_t i;

    if (node->kind == PL_NULL) {
        str_add(out, "null");
        return;
    }
    if (node->kind == PL_SCALAR) {
        write_scalar(out, node);
        return;
    }
    str_addc(out, map ? '{' : '[');
    for (i = 0; i < node->n; i++) {
        if (i)
            str_add(out, ", ");
        if (map) {
            pl_write_text(out, node->pairs[i].key, false);
            str_add(out, ": ");
        }
        pl_write_flow(out, map ? node->pairs[i].value : node->items[i]);
    }
    str_addc(out, map ? '}' : ']');
}

/* A list of maps: one in a line. */
static void write_rows(struct str *out, const struct pl_node *seq, int indent)
{
    size_t i;

    str_addc(out, '\n');
    for (i = 0; i < seq->n; i++) {
        str_addf(out, "%*s- ", indent, "");
        pl_write_flow(out, seq->items[i]);
        str_addc(out, '\n');
    }
}

void pl_write_block(struct str *out, const struct pl_node *node, int indent)
{
    size_t i;

    if (node->kind == PL_SEQ && node->n > 0 && node->items[0]->kind == PL_MAP) {
        write_rows(out, node, indent);
        return;
    }
    if (node->kind != PL_MAP || node->n == 0) {
        str_addc(out, ' ');
        pl_write_flow(out, node);
        str_addc(out, '\n');
        return;
    }
    str_addc(out, '\n');
    for (i = 0; i < node->n; i++) {
        str_addf(out, "%*s", indent, "");
        pl_write_text(out, node->pairs[i].key, false);
        str_addc(out, ':');
        pl_write_block(out, node->pairs[i].value, indent + 2);
    }
}
