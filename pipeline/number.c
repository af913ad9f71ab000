#include "pipeline/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

static void add_whole(struct str *s, int64_t n, bool comma)
{
    char digits[24];
    int i, len = snprintf(digits, sizeof digits, "%" PRId64, n);

    for (i = 0; i < len; i++) {
        if (comma && i > 0 && (len - i) % 3 == 0)
            str_addc(s, ',');
        str_addc(s, digits[i]);
    }
}

void pl_add_number(struct str *s, double v, int decimals, bool comma)
{
    int64_t unit = 1, n;
    int i;

    for (i = 0; i < decimals; i++)
        unit *= 10;
    n = llround(fabs(v) * (double)unit);
    if (v < 0 && n != 0)
        str_addc(s, '-');
    add_whole(s, n / unit, comma);
    if (decimals > 0)
        str_addf(s, ".%0*" PRId64, decimals, n % unit);
}

enum { MOST_DECIMALS = 12 };

void pl_add_digits(struct str *s, double v, int digits)
{
    int decimals;

    if (!isfinite(v)) {
        str_addc(s, '-');
        return;
    }
    decimals = v != 0 ? digits - 1 - (int)floor(log10(fabs(v))) : 0;
    if (decimals > MOST_DECIMALS || fabs(v) >= 1e15)
        str_addf(s, "%.*e", digits - 1, v);
    else
        pl_add_number(s, v, decimals < 0 ? 0 : decimals, true);
}

void pl_add_setting(struct str *s, double v)
{
    if (isfinite(v) && v == floor(v) && fabs(v) < 1e15)
        pl_add_number(s, v, 0, true);
    else
        pl_add_digits(s, v, 6);
}
