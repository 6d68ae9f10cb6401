/* Variables and branches of TensorFlow Lite Micro, of elements of `width` bytes.
 *
 *   read_variable    out = in[0], a variable
 *   assign_variable  in[0], a variable, = in[1], and so is out
 *   choose           out = in[1] if in[0] is not 0, else in[2]; in[0] is one byte: IF, whose branches
 *                    are both computed
 *
 * Ranges: length at least 1, width 1, 2, 4 or 8; at most 2^31 - 1 bytes.
 * In place: no. Scratch: none. Of all cores. */
#ifndef QN_S_CONTROL_H
#define QN_S_CONTROL_H

#include "../affine.h"
#include "kernels.h"

#endif
