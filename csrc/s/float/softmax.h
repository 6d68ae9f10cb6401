/* SOFTMAX and LOG_SOFTMAX of TensorFlow Lite Micro, of float32, row by row:
 *
 *   largest = the maximum of a row and of the least float32; e_i = exp((in_i - largest) * beta)
 *   softmax      out_i = e_i / sum        log_softmax  out_i = (in_i - largest) - log(sum), beta = 1
 *
 * sum: of e_0, e_1, ... in turn. Each step is one of single precision, rounded; exp and log are
 * rounded once from the exact value (common/real.h).
 * Axes: [num_rows][row_size]. Ranges: num_rows 0..2^28, row_size 1..2^28, 2^28 elements at most;
 * is_log 0 or 1, without which beta_bits is not read. In place: yes. Scratch: none. All cores and
 * both roundings give the same bits; those of a NaN are not promised. */
#ifndef QN_S_FLOAT_SOFTMAX_H
#define QN_S_FLOAT_SOFTMAX_H

#include <float.h>

#include "../../common/real.h"
#include "../affine.h"
#include "kernels.h"

#endif
