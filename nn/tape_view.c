/* Views that are made of reshapes. */
#include "nn/tape.h"

int nn_tape_squeeze(struct nn_tape *tape, struct nn_tensor *x, int axis,
                    struct nn_tensor **out, struct err *err)
{
    struct nn_shape s = nn_shape0();
    char text[96];
    int i;

    *out = NULL;
    if (axis != NN_AXIS_ALL &&
        (axis < 0 || axis >= x->shape.ndim || x->shape.dim[axis] != 1))
        return err_set(err, ERR_SHAPE,
                       "squeeze: axis %d of %s is not there or not 1", axis,
                       nn_shape_text(&x->shape, text, sizeof text));
    for (i = 0; i < x->shape.ndim; i++)
        if (axis == NN_AXIS_ALL ? x->shape.dim[i] != 1 : i != axis)
            s.dim[s.ndim++] = x->shape.dim[i];
    return nn_tape_reshape(tape, x, &s, out, err);
}
