/* Functions that move elements and compute nothing. Of CMSIS-NN: reshaping, concatenation, padding,
 * transposition (arm_reshape_s8, arm_concatenation_s8_x, _y, _z, _w, arm_pad_s8, arm_transpose_s8).
 * Of TensorFlow Lite Micro, for elements of 1, 2, 4 or 8 bytes, of whatever type: constants,
 * broadcasts, joining, padding, transposition, slices, and resizing to the nearest pixel.
 *
 *   copy           out[i] = in[i], total_size elements
 *   concatenation  out = its old content, but for `offset` and the following indices of one axis,
 *                  which are in[0]; in[1] is the old content. Axes [w][z][y][x], so that x is the
 *                  innermost; the axis has output_side elements in out
 *   constant       out[i] = weights[i], length elements
 *   join           out[outer][0 .. inner1 - 1] = in[0], [inner1 .. inner1 + inner2 - 1] = in[1]
 *   pad            out[n][h][w][c] = in[n - pre_n][h - pre_h][w - pre_w][c - pre_c], or pad_value
 *                  where that lies outside in. Of 4 bytes pad_value has the bits of the element; of 8
 *                  it is an integer
 *   transpose      out[i(perm_0)][i(perm_1)]... = in[i(0)][i(1)]...: axis k of out is axis perm_k of
 *                  in. Four axes of arm_transpose_s8, where the sides of axes from num_dims on are 1,
 *                  and nothing looks at their perm_k; six of TensorFlow Lite Micro
 *   slice          out[i0]...[i4] = in[begin_0 + i0 * stride_0]...[begin_4 + i4 * stride_4]
 *   broadcast      out[n][h][w][c] = in[n'][h'][w'][c'], where an axis of in with one element counts 0
 *                  and all others as that of out
 *   resize         out[n][y][x][c] = in[n][near(y)][near(x)][c], near() of elementary.h
 *                  (qn_nearest_neighbor), which computes in float32
 *
 * Axes: slice [input_0]...[input_4] to [output_0]...[output_4], transpose of six axes alike, fewer
 * axes with sides of 1 in front; resize [batches][input_h][input_w][channels] to
 * [batches][output_h][output_w][channels].
 * Ranges: sides 1..2^31 - 1, but for images that are padded, resized, or Arm's, 1..65535; paddings
 * 0..65535; every selected element of a slice inside the input; a side of a broadcast's input 1 or
 * the output's; align_corners and half_pixel_centers 0 or 1; at most 2^31 - 1 bytes in an array.
 * total_size from 0 on.
 * In place: copy, and concatenation with out at its in[1]. Scratch: none.
 * All cores and both roundings give the same bits.
 * Refused of arm_transpose_s8, which then does something else than the formula: two axes in their
 * old order, which it exchanges all the same; on Helium four axes in their old order, of which it
 * exchanges the last two, and exchanging the last two where the last has more than 9362 elements.
 * */
#ifndef QN_S_MOVEMENT_H
#define QN_S_MOVEMENT_H

#include <string.h>

#include "../../common/elementary.h"
#include "../affine.h"
#include "kernels.h"

/* The bytes of an element. */
static inline int s_element(int32_t element, char *why) {
    const int known = element == 1 || element == 2 || element == 4 || element == 8;
    return known ? QN_OK
                 : qn_deny(why, QN_REFUSED, "element must be 1, 2, 4 or 8 bytes, is %ld",
                           (long)element);
}

/* Sides, one after the other, in a range from 1 on. */
static inline int s_sides_to(int32_t most, const char *const *names, const int32_t *sides,
                             int count, char *why) {
    int status = QN_OK;
    for (int i = 0; i < count && status == QN_OK; i++) {
        status = qn_in_range(names[i], sides[i], 1, most, why);
    }
    return status;
}

static inline int s_sides(const char *const *names, const int32_t *sides, int count, char *why) {
    return s_sides_to(INT32_MAX, names, sides, count, why);
}

/* The four of an image. */
static inline int s_image(const char *const *names, const int32_t *sides, char *why) {
    return s_sides_to(UINT16_MAX, names, sides, 4, why);
}

/* The bytes of an array with sides of 1..2^31 - 1, or a sentence and -1. */
static inline int64_t s_moved_bytes(int64_t element, const int32_t *sides, int count,
                                    const char *what, char *why) {
    int64_t elements = s_elements(element, sides, count);
    if (elements < 0) {
        s_too_large(what, why);
    }
    return elements < 0 ? -1 : elements * element;
}

/* The bytes of an input and of an output with such sides. */
static inline int s_moved(int64_t element, const int32_t *in, int ins, const int32_t *out, int outs,
                          qn_sizes *sizes, char *why) {
    sizes->in[0] = s_moved_bytes(element, in, ins, "input", why);
    sizes->out = s_moved_bytes(element, out, outs, "output", why);
    return sizes->in[0] < 0 || sizes->out < 0 ? QN_REFUSED : QN_OK;
}

/* `count` elements of one value: its low bytes. */
static inline void s_fill(void *out, int64_t count, int32_t element, int32_t value) {
    const int64_t wide = value;
    const int32_t word = value;
    const int16_t half = qn_wrap16(value);
    const void *from = element == 8   ? (const void *)&wide
                       : element == 4 ? (const void *)&word
                                      : &half;
    if (element == 1) {
        memset(out, value, (size_t)count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy((char *)out + i * element, from, (size_t)element);
    }
}

#endif
