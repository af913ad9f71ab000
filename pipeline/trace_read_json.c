#include "pipeline/trace_read_json.h"

#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/num.h"
#include "pipeline/trace_read_number.h"

/* Inside of which token the next byte is. */
enum lexing { IN_GAP, IN_TEXT, IN_ESCAPE, IN_HEX, IN_NUMBER, IN_WORD };

/* What may come next. */
enum due { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END, NOTHING };

static const char *const due_text[] = {
    [VALUE] = "a value",
    [VALUE_OR_END] = "a value or ']'",
    [KEY] = "a key",
    [KEY_OR_END] = "a key or '}'",
    [COLON] = "':'",
    [COMMA_OR_END] = "',' or the end of what is open",
    [NOTHING] = "the end of the file",
};

enum { REPLACEMENT = 0xfffd };

struct json_reader {
    const char *path;
    int (*take)(void *user, const struct json_token *t, struct err *err);
    void *user;
    uint64_t offset; /* of the byte at hand */
    uint64_t start;  /* of the token at hand */
    enum lexing in;
    enum due due;
    size_t depth;
    bool is_object[JSON_DEPTH_MAX];
    bool after_comma;
    /* UTF-8: bytes that are still to come, and the bounds of the next one. */
    unsigned utf_left;
    unsigned char utf_low, utf_high;
    /* \u: digits that are still to come, their value, and a high surrogate
     * that waits for its other half. */
    unsigned hex_left, hex, high;
    const char *forgiven;
    uint64_t forgiven_at;
    size_t len;
    bool cut;
    char text[JSON_TEXT_MAX + 1];
};

struct json_reader *json_reader_new(const char *path,
                                    int (*take)(void *user,
                                                const struct json_token *t,
                                                struct err *err),
                                    void *user)
{
    struct json_reader *r = mem_zalloc(sizeof *r);

    if (r) {
        r->path = path;
        r->take = take;
        r->user = user;
        r->due = VALUE;
    }
    return r;
}

void json_reader_free(struct json_reader *r)
{
    mem_free(r);
}

const char *json_forgiven(const struct json_reader *r, uint64_t *offset)
{
    *offset = r->forgiven_at;
    return r->forgiven;
}

static void forgive(struct json_reader *r, const char *what)
{
    if (!r->forgiven) {
        r->forgiven = what;
        r->forgiven_at = r->offset;
    }
}

static int bad(const struct json_reader *r, const char *what, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "'%s' is not JSON at offset %llu: %s",
                   r->path, (unsigned long long)r->offset, what);
}

static int unexpected(const struct json_reader *r, unsigned char c,
                      const char *due, struct err *err)
{
    char what[120];

    if (c > ' ' && c < 0x7f)
        (void)snprintf(what, sizeof what, "expected %s, found '%c'", due, c);
    else
        (void)snprintf(what, sizeof what, "expected %s, found the byte %02x",
                       due, c);
    return bad(r, what, err);
}

static int tell(struct json_reader *r, enum json_kind kind, struct err *err)
{
    struct json_token t = {.kind = kind,
                           .text = r->text,
                           .len = r->len,
                           .cut = r->cut,
                           .offset = r->start,
                           .depth = r->depth};

    r->text[r->len] = '\0';
    return r->take(r->user, &t, err);
}

static void clear_text(struct json_reader *r)
{
    r->len = 0;
    r->cut = false;
}

static void keep(struct json_reader *r, const void *bytes, size_t n)
{
    size_t room = JSON_TEXT_MAX - r->len;

    if (n > room) {
        r->cut = true;
        n = room;
    }
    memcpy(r->text + r->len, bytes, n);
    r->len += n;
}

static void keep_char(struct json_reader *r, unsigned cp)
{
    unsigned char b[4];
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4, i;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (i = n; i-- > 1; cp >>= 6)
        b[i] = (unsigned char)(0x80 | (cp & 0x3f));
    b[0] = (unsigned char)(lead[n] | cp);
    keep(r, b, n);
}

/* A high surrogate that no low one followed. */
static void drop_high(struct json_reader *r)
{
    if (r->high)
        keep_char(r, REPLACEMENT);
    r->high = 0;
}

/* What is due after a whole value. */
static void value_done(struct json_reader *r)
{
    r->due = r->depth ? COMMA_OR_END : NOTHING;
    r->after_comma = false;
}

static int text_done(struct json_reader *r, struct err *err)
{
    bool key = r->due == KEY || r->due == KEY_OR_END;

    drop_high(r);
    r->in = IN_GAP;
    if (key)
        r->due = COLON;
    else
        value_done(r);
    return tell(r, key ? JSON_KEY : JSON_STRING, err);
}

/* The first byte of a character of more than one, by the table of RFC 3629. */
static int utf8_begin(struct json_reader *r, unsigned char c, struct err *err)
{
    r->utf_low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    r->utf_high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (c >= 0xc2 && c <= 0xdf)
        r->utf_left = 1;
    else if (c >= 0xe0 && c <= 0xef)
        r->utf_left = 2;
    else if (c >= 0xf0 && c <= 0xf4)
        r->utf_left = 3;
    else
        return bad(r, "a text that is not UTF-8", err);
    keep(r, &c, 1);
    return 0;
}

static int utf8_next(struct json_reader *r, unsigned char c, struct err *err)
{
    if (c < r->utf_low || c > r->utf_high)
        return bad(r, "a text that is not UTF-8", err);
    r->utf_low = 0x80;
    r->utf_high = 0xbf;
    r->utf_left--;
    keep(r, &c, 1);
    return 0;
}

/* A byte of a text that is not one of the plain ones, see plain_run. */
static int in_text(struct json_reader *r, unsigned char c, struct err *err)
{
    if (r->utf_left)
        return utf8_next(r, c, err);
    if (c == '\\') {
        r->in = IN_ESCAPE;
        return 0;
    }
    if (c == '"')
        return text_done(r, err);
    drop_high(r);
    if (c < ' ')
        return bad(r, "a control character in a text", err);
    if (c >= 0x80)
        return utf8_begin(r, c, err);
    keep(r, &c, 1);
    return 0;
}

static int in_escape(struct json_reader *r, unsigned char c, struct err *err)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = c ? strchr(from, c) : NULL;

    if (c == 'u') {
        r->in = IN_HEX;
        r->hex_left = 4;
        r->hex = 0;
        return 0;
    }
    if (!at)
        return unexpected(r, c, "an escape such as \\n or \\u00e9", err);
    drop_high(r);
    keep(r, &to[at - from], 1);
    r->in = IN_TEXT;
    return 0;
}

static void hex_done(struct json_reader *r)
{
    unsigned v = r->hex;
    bool low = v >= 0xdc00 && v <= 0xdfff;

    r->in = IN_TEXT;
    if (low && r->high) {
        keep_char(r, 0x10000 + ((r->high - 0xd800) << 10) + (v - 0xdc00));
        r->high = 0;
        return;
    }
    drop_high(r);
    if (v >= 0xd800 && v <= 0xdbff)
        r->high = v;
    else
        keep_char(r, low || v == 0 ? (unsigned)REPLACEMENT : v);
}

static int in_hex(struct json_reader *r, unsigned char c, struct err *err)
{
    unsigned digit;

    if (c >= '0' && c <= '9')
        digit = c - (unsigned)'0';
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        digit = (c | 0x20u) - 'a' + 10u;
    else
        return unexpected(r, c, "four hexadecimal digits", err);
    r->hex = r->hex << 4 | digit;
    if (--r->hex_left == 0)
        hex_done(r);
    return 0;
}

static int word_done(struct json_reader *r, struct err *err)
{
    static const struct {
        const char *text;
        enum json_kind kind;
    } word[] = {
        {"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL}};
    size_t i;

    for (i = 0; i < sizeof word / sizeof *word; i++) {
        if (strcmp(r->text, word[i].text) == 0) {
            clear_text(r);
            return tell(r, word[i].kind, err);
        }
    }
    return err_set(err, ERR_CORRUPT,
                   "'%s' is not JSON at offset %llu: '%.40s' is no value",
                   r->path, (unsigned long long)r->start, r->text);
}

/* A number or a word ends where something else begins. */
static int bare_done(struct json_reader *r, struct err *err)
{
    bool number = r->in == IN_NUMBER;

    r->text[r->len] = '\0';
    r->in = IN_GAP;
    value_done(r);
    if (!number)
        return word_done(r, err);
    if (!trace_is_number(r->text))
        return err_set(err, ERR_CORRUPT,
                       "'%s' is not JSON at offset %llu: '%.40s' is no number",
                       r->path, (unsigned long long)r->start, r->text);
    return tell(r, JSON_NUMBER, err);
}

static bool is_letter(unsigned char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool in_number(unsigned char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' ||
           is_letter(c);
}

static int open_container(struct json_reader *r, bool object, struct err *err)
{
    int rc;

    if (r->depth == JSON_DEPTH_MAX)
        return bad(r, "nested deeper than 512", err);
    clear_text(r);
    rc = tell(r, object ? JSON_OBJECT : JSON_ARRAY, err);
    r->is_object[r->depth++] = object;
    r->due = object ? KEY_OR_END : VALUE_OR_END;
    r->after_comma = false;
    return rc;
}

static int close_container(struct json_reader *r, struct err *err)
{
    if (r->after_comma)
        forgive(r, "a comma behind the last element of an array");
    r->depth--;
    value_done(r);
    clear_text(r);
    return tell(r, JSON_END, err);
}

static int begin_value(struct json_reader *r, unsigned char c, struct err *err)
{
    if (c == '{' || c == '[')
        return open_container(r, c == '{', err);
    if (c == '"')
        r->in = IN_TEXT;
    else if (c == '-' || (c >= '0' && c <= '9'))
        r->in = IN_NUMBER;
    else if (is_letter(c))
        r->in = IN_WORD;
    else
        return unexpected(r, c, due_text[r->due], err);
    clear_text(r);
    if (c != '"')
        keep(r, &c, 1);
    return 0;
}

static bool may_end(const struct json_reader *r, unsigned char c)
{
    bool object;

    if ((c != ']' && c != '}') || r->depth == 0)
        return false;
    object = r->is_object[r->depth - 1];
    if (object != (c == '}'))
        return false;
    return r->due == COMMA_OR_END ||
           r->due == (object ? KEY_OR_END : VALUE_OR_END) ||
           (!object && r->after_comma);
}

static int in_gap(struct json_reader *r, unsigned char c, struct err *err)
{
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
        return 0;
    r->start = r->offset;
    if (may_end(r, c))
        return close_container(r, err);
    if (r->due == VALUE || r->due == VALUE_OR_END)
        return begin_value(r, c, err);
    if ((r->due == KEY || r->due == KEY_OR_END) && c == '"')
        return begin_value(r, c, err);
    if (r->due == COLON && c == ':') {
        r->due = VALUE;
        return 0;
    }
    if (r->due == COMMA_OR_END && c == ',') {
        r->after_comma = !r->is_object[r->depth - 1];
        r->due = r->after_comma ? VALUE : KEY;
        return 0;
    }
    return unexpected(r, c, due_text[r->due], err);
}

static int in_bare(struct json_reader *r, unsigned char c, struct err *err)
{
    int rc;

    if (in_number(c)) {
        if (r->len == NUM_MAX_TEXT)
            return bad(r, "a number or word of more than 127 characters", err);
        keep(r, &c, 1);
        return 0;
    }
    rc = bare_done(r, err);
    return rc ? rc : in_gap(r, c, err);
}

/* How many bytes from p on stand for themselves, in a text. */
static size_t plain_run(const unsigned char *p, size_t n)
{
    size_t i = 0;

    while (i < n && p[i] >= ' ' && p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

static int one_byte(struct json_reader *r, unsigned char c, struct err *err)
{
    switch (r->in) {
    case IN_GAP:
        return in_gap(r, c, err);
    case IN_TEXT:
        return in_text(r, c, err);
    case IN_ESCAPE:
        return in_escape(r, c, err);
    case IN_HEX:
        return in_hex(r, c, err);
    case IN_NUMBER:
    case IN_WORD:
        break;
    }
    return in_bare(r, c, err);
}

int json_feed(struct json_reader *r, const void *data, size_t len,
              struct err *err)
{
    const unsigned char *p = data, *end = p + len;
    int rc = 0;

    while (p < end && rc == 0) {
        size_t n = 0;

        if (r->in == IN_TEXT && !r->utf_left && !r->high)
            n = plain_run(p, (size_t)(end - p));
        if (n) {
            keep(r, p, n);
        } else {
            rc = one_byte(r, *p, err);
            n = 1;
        }
        p += n;
        r->offset += n;
    }
    return rc;
}

int json_end(struct json_reader *r, struct err *err)
{
    int rc = 0;

    if (r->in == IN_NUMBER || r->in == IN_WORD)
        rc = bare_done(r, err);
    if (rc != 0)
        return rc;
    if (r->offset == 0)
        return err_set(err, ERR_CORRUPT, "'%s' is empty, not JSON", r->path);
    if (r->depth == 1 && !r->is_object[0] && r->in == IN_GAP) {
        forgive(r, "the array's ']' is missing");
        return 0;
    }
    if (r->due == NOTHING)
        return 0;
    return err_set(err, ERR_CORRUPT,
                   "'%s' is cut short: it ends at offset %llu, where %s is due",
                   r->path, (unsigned long long)r->offset,
                   r->in == IN_GAP ? due_text[r->due] : "the rest of a text");
}
