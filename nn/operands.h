/* The operands of a call in letters, so that a backend's table can say what
 * each operator takes: "fw[f>f". */
#ifndef NN_OPERANDS_H
#define NN_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/op.h"

/* Operands in order, inputs > outputs, '[' before the first optional one:
 *   f  float32 or float64, the same all through the call, plain rows
 *   w  likewise, in either layout
 *   s  float32, plain rows          p  float32, either layout
 *   i  int32, plain rows            l  int64, plain rows
 *   r  any type, plain rows         x  any */
bool nn_operands_fit(const struct nn_call *call, const char *operands);

/* "float32 (128, 10), int32 (128) -> float32 ()", written to buf. */
const char *nn_operands_text(const struct nn_call *call, char *buf,
                             size_t size);

#endif
