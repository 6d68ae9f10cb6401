"""A keyword spotter in C++, in the form in which projects write one.

A header has quantized weights as macros, written by a script from float weights; a class has the
buffers and calls the layers.
"""

import numpy as np

from qemu_nn.ir.formats import compute_dec_bit

#: Layers: name -> shape of the weights in Keras' order (HWIO, or [inputs, outputs]).
SHAPES = {
    "conv1": (5, 4, 1, 6),
    "conv2": (4, 3, 6, 8),
    "dense1": (48, 16),
    "dense2": (16, 10),
}

#: Fraction bits of the input and of each layer's output.
FRACTIONS = {"input": 5, "conv1": 3, "conv2": 2, "dense1": 2, "dense2": 2}

_SIZES = """
#define CONV1_IN_X 10
#define CONV1_IN_Y 20
#define CONV1_IN_CH 1
#define CONV1_OUT_CH 6
#define CONV1_KERNEL_X 4
#define CONV1_KERNEL_Y 5
#define CONV1_STRIDE_X 1
#define CONV1_STRIDE_Y 2
#define CONV1_OUT_X (CONV1_IN_X - CONV1_KERNEL_X + 1)
#define CONV1_OUT_Y ((CONV1_IN_Y - CONV1_KERNEL_Y) / CONV1_STRIDE_Y + 1)
#define CONV2_OUT_CH 8
#define CONV2_KERNEL_X 3
#define CONV2_KERNEL_Y 4
#define CONV2_STRIDE_X 3
#define CONV2_STRIDE_Y 2
#define CONV2_OUT_X 2
#define CONV2_OUT_Y 3
#define DENSE1_INPUT_DIM (CONV2_OUT_X * CONV2_OUT_Y * CONV2_OUT_CH)
#define DENSE1_OUTPUT_DIM 16
#define DENSE2_OUTPUT_DIM 10
"""

CLASS = """
#ifndef CNN_H
#define CNN_H
#include "arm_math.h"
#include "model/kws_cmsis_nn.h"
class CNN {
 public:
  CNN();
  void run_nn(q7_t *in_data, q7_t *out_data);
 private:
  q7_t *scratch, *buffer1, *buffer2;
  q15_t *buffer3;
  static q7_t const conv1_wt[];
  static q7_t const conv1_bias[CONV1_OUT_CH];
};
#endif
"""

SOURCE = """
#include "cnn.h"
#include "arm_nnfunctions.h"
#include "board_support_package.h"

q7_t const CNN::conv1_wt[] = CONV1_WEIGHT;
q7_t const CNN::conv1_bias[CONV1_OUT_CH] = CONV1_BIAS;
static const q7_t conv2_wt[CONV1_OUT_CH * CONV2_KERNEL_X * CONV2_KERNEL_Y * CONV2_OUT_CH] =
    CONV2_WEIGHT;
static const q7_t conv2_bias[CONV2_OUT_CH] = CONV2_BIAS;
static const q7_t dense1_wt[] = DENSE1_WEIGHT, dense1_bias[] = DENSE1_BIAS;
static const q7_t dense2_wt[] = DENSE2_WEIGHT, dense2_bias[] = DENSE2_BIAS;

CNN::CNN() {
  scratch = new q7_t[1024 + 512];
  buffer1 = scratch;
  buffer2 = buffer1 + CONV1_OUT_X * CONV1_OUT_Y * CONV1_OUT_CH;
  buffer3 = (q15_t *)&scratch[1024];
}

static void dense(q7_t *from, const q7_t *weights, int inputs, int outputs, int bias_shift,
                  int out_shift, const q7_t *bias, q7_t *to, q15_t *vector) {
  arm_fully_connected_q7(from, weights, inputs, outputs, bias_shift, out_shift, bias, to, vector);
}

void CNN::run_nn(q7_t *in_data, q7_t *out_data) {
  arm_convolve_HWC_q7_basic_nonsquare(
      in_data, CONV1_IN_X, CONV1_IN_Y, CONV1_IN_CH, conv1_wt, CONV1_OUT_CH, CONV1_KERNEL_X,
      CONV1_KERNEL_Y, 0, 0, CONV1_STRIDE_X, CONV1_STRIDE_Y, conv1_bias, CONV1_BIAS_SHIFT,
      CONV1_OUT_SHIFT, buffer1, CONV1_OUT_X, CONV1_OUT_Y, buffer3, NULL);
  arm_relu_q7(buffer1, CONV1_OUT_X * CONV1_OUT_Y * CONV1_OUT_CH);
  if (arm_convolve_HWC_q7_basic_nonsquare(
          buffer1, CONV1_OUT_X, CONV1_OUT_Y, CONV1_OUT_CH, conv2_wt, CONV2_OUT_CH, CONV2_KERNEL_X,
          CONV2_KERNEL_Y, 0, 0, CONV2_STRIDE_X, CONV2_STRIDE_Y, conv2_bias, CONV2_BIAS_SHIFT,
          CONV2_OUT_SHIFT, buffer2, CONV2_OUT_X, CONV2_OUT_Y, buffer3, NULL) != ARM_MATH_SUCCESS) {
    board_reset();
    return;
  }
  arm_relu_q7(buffer2, CONV2_OUT_X * CONV2_OUT_Y * CONV2_OUT_CH);
  dense(buffer2, dense1_wt, DENSE1_INPUT_DIM, DENSE1_OUTPUT_DIM, DENSE1_BIAS_SHIFT,
        DENSE1_OUT_SHIFT, dense1_bias, buffer1, buffer3);
  arm_relu_q7(buffer1, DENSE1_OUTPUT_DIM);
  dense(buffer1, dense2_wt, DENSE1_OUTPUT_DIM, DENSE2_OUTPUT_DIM, DENSE2_BIAS_SHIFT,
        DENSE2_OUT_SHIFT, dense2_bias, out_data, buffer3);
}
"""


def float_weights():
    """Return weights and bias of each layer as Keras has them."""
    rng = np.random.default_rng(1)
    return {
        name: (rng.normal(0, 0.3, shape), rng.normal(0, 0.5, shape[-1]))
        for name, shape in SHAPES.items()
    }


def quantize(weights):
    """Return layer -> integers of weights and bias in the device's order, and both shifts.

    The fraction bits of an array are 7 - ceil(log2(max|x|)); its axes go from HWIO to OHWI, or
    from [inputs, outputs] to [outputs, inputs].
    """
    found, before = {}, FRACTIONS["input"]
    for name, (kernel, bias) in weights.items():
        bits = [compute_dec_bit(np.abs(values).max()) for values in (kernel, bias)]
        order = (3, 0, 1, 2) if kernel.ndim == 4 else (1, 0)
        integers = np.clip(np.round(kernel.transpose(order) * 2.0 ** bits[0]), -128, 127)
        bias_shift = before + bits[0] - bits[1]
        moved = np.clip(np.round(bias * 2.0 ** (bits[1] + min(bias_shift, 0))), -128, 127)
        out_shift = before + bits[0] - FRACTIONS[name]
        arrays = integers.astype(np.int8), moved.astype(np.int8)
        found[name] = (*arrays, max(bias_shift, 0), out_shift)
        before = FRACTIONS[name]
    return found


def make_header(layers):
    """Return the header that the project's script writes."""
    lines = [_SIZES]
    for name, (kernel, bias, bias_shift, out_shift) in layers.items():
        for what, values in (("WEIGHT", kernel), ("BIAS", bias)):
            numbers = ", ".join(map(str, values.ravel().tolist()))
            lines.append(f"#define {name.upper()}_{what} {{{numbers}}}")
        lines.append(f"#define {name.upper()}_BIAS_SHIFT {bias_shift}")
        lines.append(f"#define {name.upper()}_OUT_SHIFT {out_shift}")
    return "\n".join(lines) + "\n"


def write_project(folder, layers):
    """Write the project; return its source."""
    (folder / "inc" / "model").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "inc" / "model" / "kws_cmsis_nn.h").write_text(make_header(layers))
    (folder / "inc" / "cnn.h").write_text(CLASS)
    source = folder / "src" / "cnn.cpp"
    source.write_text(SOURCE)
    return source
