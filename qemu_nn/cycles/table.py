"""Functions with instruction counts, and the executions of their parts."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from . import convolve, dense, depthwise, four_bits, legacy, simple, transposed
from .counts import Counter, Counts, Params

_ELEMENTS = ("add", "sub", "mult", "offset")

_LEGACY: dict[str, Counter] = {
    **{
        f"arm_{name}_{t}": simple.elements("blockSize", 4)
        for name in _ELEMENTS
        for t in ("q7", "q15")
    },
    **{f"arm_nn_mult_{t}": simple.elements("blockSize", 4, 2) for t in ("q7", "q15")},
    "arm_q7_to_q15_no_shift": simple.elements("blockSize", 4),
    "arm_q7_to_q15_reordered_no_shift": simple.elements("blockSize", 4),
    "arm_relu_q7": simple.elements("size", 4),
    "arm_relu_q15": simple.elements("size", 2),
    "arm_nn_activations_direct_q7": simple.activation,
    "arm_nn_activations_direct_q15": simple.activation,
    "arm_softmax_q7": simple.softmax(masked=8),
    "arm_softmax_q15": simple.softmax(high=65535, masked=16),
    "arm_softmax_with_batch_q7": simple.softmax(masked=8),
    "arm_avepool_q7_HWC": legacy.pool(True),
    "arm_maxpool_q7_HWC": legacy.pool(False),
    "arm_convolve_1x1_HWC_q7_fast_nonsquare": legacy.convolve(1),
    "arm_convolve_HWC_q15_basic": legacy.convolve_plain_q15,
    "arm_convolve_HWC_q15_fast": legacy.convolve(2),
    "arm_convolve_HWC_q15_fast_nonsquare": legacy.convolve(2),
    "arm_convolve_HWC_q7_RGB": legacy.convolve(1, rgb=True),
    "arm_convolve_HWC_q7_basic": legacy.convolve(1),
    "arm_convolve_HWC_q7_basic_nonsquare": legacy.convolve(1),
    "arm_convolve_HWC_q7_fast": legacy.convolve(1, fast=True),
    "arm_convolve_HWC_q7_fast_nonsquare": legacy.convolve(1, fast=True),
    "arm_depthwise_separable_conv_HWC_q7": legacy.depthwise,
    "arm_depthwise_separable_conv_HWC_q7_nonsquare": legacy.depthwise,
    "arm_fully_connected_q7": legacy.make_dense(True, 2, (4,)),
    "arm_fully_connected_q7_opt": legacy.make_dense(True, 4, (4,)),
    "arm_fully_connected_q15": legacy.make_dense(False, 2, (4,)),
    "arm_fully_connected_q15_opt": legacy.make_dense(False, 4, (2,)),
    "arm_fully_connected_mat_q7_vec_q15": legacy.make_dense(False, 2, (4,)),
    "arm_fully_connected_mat_q7_vec_q15_opt": legacy.make_dense(False, 4, (2,)),
}

_AFFINE: dict[str, Counter] = {
    "arm_convolve_s8": convolve.convolve_s8,
    "arm_convolve_1x1_s8": convolve.convolve_1x1_s8,
    "arm_convolve_1x1_s8_fast": convolve.convolve_1x1_s8_fast,
    "arm_convolve_1_x_n_s8": convolve.convolve_1_x_n_s8,
    "arm_convolve_wrapper_s8": convolve.convolve_wrapper_s8,
    "arm_convolve_s16": convolve.convolve_s16,
    "arm_convolve_wrapper_s16": convolve.convolve_s16,
    "arm_convolve_s4": four_bits.convolve_s4,
    "arm_convolve_even_s4": four_bits.convolve_even_s4,
    "arm_convolve_1x1_s4": four_bits.convolve_1x1_s4,
    "arm_convolve_1x1_s4_fast": four_bits.convolve_1x1_s4_fast,
    "arm_convolve_1_x_n_s4": four_bits.convolve_1_x_n_s4,
    "arm_convolve_wrapper_s4": four_bits.convolve_wrapper_s4,
    "arm_depthwise_conv_s8": depthwise.depthwise_s8,
    "arm_depthwise_conv_s8_opt": depthwise.depthwise_s8_opt,
    "arm_depthwise_conv_3x3_s8": depthwise.depthwise_3x3_s8,
    "arm_depthwise_conv_wrapper_s8": depthwise.depthwise_wrapper_s8,
    "arm_depthwise_conv_s16": depthwise.depthwise_s16,
    "arm_depthwise_conv_fast_s16": depthwise.depthwise_fast_s16,
    "arm_depthwise_conv_wrapper_s16": depthwise.depthwise_wrapper_s16,
    "arm_depthwise_conv_s4": four_bits.depthwise_s4,
    "arm_depthwise_conv_s4_opt": four_bits.depthwise_s4_opt,
    "arm_depthwise_conv_wrapper_s4": four_bits.depthwise_wrapper_s4,
    "arm_transpose_conv_s8": transposed.transpose_s8,
    "arm_transpose_conv_wrapper_s8": transposed.transpose_wrapper_s8,
    "arm_fully_connected_s8": dense.count_dense_one_s8,
    "arm_fully_connected_per_channel_s8": dense.count_dense_each_s8,
    "arm_fully_connected_wrapper_s8": dense.count_dense_wrapper_s8,
    "arm_fully_connected_s16": dense.count_dense_s16,
    "arm_fully_connected_s4": four_bits.count_dense_s4,
    "arm_vector_sum_s8": dense.vector_sum,
    "arm_batch_matmul_s8": dense.matmul_s8,
    "arm_batch_matmul_s16": dense.matmul_s16,
    "arm_svdf_s8": dense.svdf_s8,
    "arm_svdf_state_s16_s8": dense.svdf_s16,
    "arm_lstm_unidirectional_s8": dense.lstm,
    "arm_lstm_unidirectional_s16": dense.lstm_s16,
    "arm_avgpool_s8": simple.average(16),
    "arm_avgpool_s16": simple.average(8),
    "arm_max_pool_s8": simple.maximum(1),
    "arm_max_pool_s16": simple.maximum(2),
    "arm_elementwise_add_s8": simple.elements("block_size", 4),
    "arm_elementwise_add_s16": simple.elements("block_size", 2),
    "arm_elementwise_mul_s8": simple.elements("block_size", 4),
    "arm_elementwise_mul_s16": simple.elements("block_size", 2),
    "arm_maximum_s8": simple.broadcast,
    "arm_minimum_s8": simple.broadcast,
    "arm_nn_activation_s16": simple.activation_s16,
    "arm_relu6_s8": simple.elements("size", 16, 4),
    "arm_reshape_s8": simple.reshape,
    "arm_pad_s8": simple.pad,
    "arm_softmax_s8": simple.softmax(),
    "arm_softmax_u8": simple.softmax(),
    "arm_softmax_s16": simple.softmax(),
    "arm_softmax_s8_s16": simple.softmax(),
    "arm_transpose_s8": simple.transpose,
    **{f"arm_concatenation_s8_{axis}": simple.concatenate(axis) for axis in "xyzw"},
}

#: Functions that call one another, or the same code beneath, are fitted together.
_GROUPS = {
    "windows of s8": (
        r"arm_(convolve_(1x1_|1_x_n_|wrapper_)?s8(_fast)?|transpose_conv_(wrapper_)?s8"
        r"|depthwise_conv_(3x3_|wrapper_)?s8(_opt)?)"
    ),
    "convolutions of s16": r"arm_convolve_(wrapper_)?s16",
    "convolutions of s4": r"arm_convolve_(1x1_|1_x_n_|wrapper_|even_)?s4(_fast)?",
    "depthwise of s16": r"arm_depthwise_conv_(wrapper_|fast_)?s16",
    "depthwise of s4": r"arm_depthwise_conv_(wrapper_)?s4(_opt)?",
    "vectors of s8": (
        r"arm_(fully_connected_(per_channel_|wrapper_)?|vector_sum_|batch_matmul_|svdf_)s8"
    ),
    "concatenations": r"arm_concatenation_s8_[xyzw]",
    "extremes": r"arm_(maximum|minimum)_s8",
    "softmax": r"arm_softmax_[su]8",
}

#: Prefixes of the parts of convolutions, depthwise and transposed ones.
_FAMILIES = {
    r"arm_convolve_.*s8(_fast)?": "convolve",
    r"arm_depthwise_conv_.*s8(_opt)?": "depthwise",
    r"arm_transpose_conv_.*": "transposed",
}

#: Function -> the function that counts the parts of its calls.
COUNTERS: Mapping[str, Counter] = {**_LEGACY, **_AFFINE}


@functools.cache
def get_group(function: str) -> str:
    """Return the group in which a function is fitted; its own name if it is alone."""
    found = [name for name, names in _GROUPS.items() if re.fullmatch(names, function)]
    return found[0] if found else function


@functools.cache
def _get_family(function: str) -> str:
    found = [name for names, name in _FAMILIES.items() if re.fullmatch(names, function)]
    return found[0] if found else ""


def count_parts(function: str, params: Params, path: str, data: str = "random") -> Counts:
    """Count the executions of each part of a call; the part with the function's name runs once.

    data: the input, if the path depends on it: "random", "least" or "most".
    """
    counts = Counts({function: 1.0})
    counts.data = data
    with counts.within(_get_family(function)):
        COUNTERS[function](counts, params, path)
    return counts
