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
