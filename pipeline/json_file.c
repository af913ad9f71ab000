#include "pipeline/json_file.h"

#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"

enum { JSON_FILE_MAX = 64 * 1024 * 1024 };

int pl_json_read(json_t **out, const char *path, struct err *err)
{
    json_error_t why;
    char *text;
    size_t len;
    int rc;

    *out = NULL;
    rc = io_read_file(&text, &len, path, JSON_FILE_MAX, err);
    if (rc != 0)
        return rc;
    *out = json_loadb(text, len, 0, &why);
    mem_free(text);
    if (json_is_object(*out))
        return 0;
    rc = err_set(err, ERR_CORRUPT, "'%s' is not a JSON object: line %d: %s",
                 path, *out ? 1 : why.line, *out ? "not an object" : why.text);
    json_decref(*out);
    *out = NULL;
    return rc;
}

int pl_json_write(json_t *root, const char *path, struct err *err)
{
    struct str s = {0};
    char *text = NULL;
    int rc;

    if (root)
        text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(root);
    if (text)
        str_addf(&s, "%s\n", text);
    free(text); /* jansson's own */
    if (!s.text || s.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory writing '%s'", path);
    else
        rc = io_write_file(path, s.text, s.len, err);
    str_free(&s);
    return rc;
}

void pl_json_add_text(struct str *s, const char *text)
{
    str_addc(s, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            str_addf(s, "\\%c", c);
        else if (c < 0x20)
            str_addf(s, "\\u%04x", c);
        else
            str_addc(s, (char)c);
    }
    str_addc(s, '"');
}

const char *pl_json_text(const json_t *object, const char *key,
                         const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : otherwise;
}

double pl_json_number(const json_t *object, const char *key, double otherwise)
{
    const json_t *v = json_object_get(object, key);

    return json_is_number(v) ? json_number_value(v) : otherwise;
}
