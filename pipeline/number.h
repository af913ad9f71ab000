/* Numbers as a person reads them, the same in every locale. */
#ifndef PIPELINE_NUMBER_H
#define PIPELINE_NUMBER_H

#include <stdbool.h>

#include "nn/base/str.h"

/* v with that many decimals (0 to 12); thousands are parted where comma says
 * so ("50,890"). |v| * 10^decimals < 9e18. "-0" is "0". */
void pl_add_number(struct str *s, double v, int decimals, bool comma);
/* v with that many significant digits, thousands parted, whole digits never
 * dropped: "0.0262", "1,677", "-" if it is not finite. */
void pl_add_digits(struct str *s, double v, int digits);
/* A setting: a whole number as it is ("2,048"), any other with six digits. */
void pl_add_setting(struct str *s, double v);

#endif
