#include "nn/operands.h"

#include <stdio.h>
#include <string.h>

/* Whether t is what the letter asks for. *type is the float type of the call
 * so far, -1 before the first. */
static bool operand_fits(char letter, const struct nn_tensor *t, int *type)
{
    if (!t)
        return false;
    if (letter == 'x')
        return true;
    if (letter != 'w' && letter != 'p' && t->layout != NN_ROWS)
        return false;
    if (letter == 'r')
        return true;
    if (letter == 'l')
        return t->dtype == NN_I64;
    if (letter == 'i')
        return t->dtype == NN_I32;
    if (letter == 's' || letter == 'p')
        return t->dtype == NN_F32;
    if (t->dtype != NN_F32 && t->dtype != NN_F64)
        return false;
    if (*type < 0)
        *type = (int)t->dtype;
    return *type == (int)t->dtype;
}

/* Matches n tensors with the letters at *s up to '>' or the end. */
static bool operands_fit(const char **s, struct nn_tensor *const *t, int n,
                         int *type)
{
    bool optional = false;
    int i = 0;

    for (; **s && **s != '>'; (*s)++) {
        if (**s == '[') {
            optional = true;
            continue;
        }
        if (i == n) {
            if (!optional)
                return false;
            continue;
        }
        if (!operand_fits(**s, t[i++], type))
            return false;
    }
    return i == n;
}

bool nn_operands_fit(const struct nn_call *call, const char *operands)
{
    const char *s = operands;
    int type = -1;

    if (!operands_fit(&s, call->in, call->n_in, &type))
        return false;
    s++; /* '>' */
    return operands_fit(&s, call->out, call->n_out, &type);
}

/* ", float32 (128, 10)" for each operand, appended to buf. */
static void append_operands(char *buf, size_t size, struct nn_tensor *const *t,
                            int n)
{
    char shape[96];

    for (int i = 0; i < n; i++) {
        size_t used = strlen(buf);

        (void)snprintf(buf + used, size - used, "%s%s %s%s", i > 0 ? ", " : "",
                       nn_dtype_name(t[i]->dtype),
                       nn_shape_text(&t[i]->shape, shape, sizeof shape),
                       t[i]->layout == NN_WEIGHT ? " weight" : "");
    }
}

const char *nn_operands_text(const struct nn_call *call, char *buf, size_t size)
{
    size_t used;

    buf[0] = '\0';
    append_operands(buf, size, call->in, call->n_in);
    used = strlen(buf);
    (void)snprintf(buf + used, size - used, "%s-> ", used ? " " : "");
    append_operands(buf, size, call->out, call->n_out);
    return buf;
}
