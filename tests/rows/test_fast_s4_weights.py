"""Fast rows of weights of 4 bits: every tail, odd numbers of nibbles, and whose bits they leave."""

import itertools

import numpy as np
import pytest
from hosts import fast_variants, may_ask
from s8_layer_calls import AXES, called, hold, one_pair, window

from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile


@pytest.mark.parametrize("h", AXES)
@pytest.mark.parametrize("w", AXES[:4])
def test_convolutions_have_the_bits_of_the_plain_row(h, w):
    rng = np.random.default_rng(8)
    windows = {**window("h", *h), **window("w", *w)}
    for (depth, out), offset in itertools.product(
        ((1, 1), (3, 17), (16, 16), (5, 65)), (-127, 128)
    ):
        channels = {"input_c": depth, "filter_c": depth, "output_c": out}
        call = called("arm_convolve_wrapper_s4", rng, windows, offset, **channels)
        hold("arm_convolve_wrapper_s4", call)


@pytest.mark.parametrize("h", AXES)
@pytest.mark.parametrize("w", AXES[:4])
def test_depthwise_convolutions_have_the_bits_of_the_plain_row(h, w):
    rng = np.random.default_rng(9)
    windows = {**window("h", *h), **window("w", *w)}
    for channels, more, offset in itertools.product((2, 4, 64, 80), (1, 3), (-127, 128)):
        sides = {"input_c": channels, "ch_mult": more}
        call = called("arm_depthwise_conv_wrapper_s4", rng, windows, offset, **sides)
        hold("arm_depthwise_conv_wrapper_s4", call)


@pytest.mark.parametrize("rows", [1, 2, 15, 16, 17, 33, 64, 65, 129])
def test_dense_layers_whose_rows_begin_within_a_byte(rows):
    rng = np.random.default_rng(rows)
    for columns, batches in itertools.product((1, 3, 4, 31, 36), (1, 5)):
        arguments = one_pair(rng, columns, rows, batches)
        del arguments["filter"]
        packed = rng.integers(-128, 128, (rows * columns + 1) // 2)
        arguments["filter_packed_s4"] = packed.astype(np.int8)
        for offset in (0, 3):  # nothing looks at it
            hold("arm_fully_connected_s4", {**arguments, "filter_offset": offset})


@pytest.mark.parametrize(
    ("channels", "dilation", "taken"), [(3, 1, True), (3, 2, False), (4, 2, True)]
)
def test_odd_channels_are_left_to_the_plain_row_where_they_read_other_nibbles(
    channels, dilation, taken
):
    name = "arm_depthwise_conv_wrapper_s4"
    windows = {**window("h", 7, 3, 1, 1, 1, 5), **window("w", 7, 3, 1, dilation, 1, 5)}
    sides = {"input_c": channels, "ch_mult": 1}
    call = {**called(name, np.random.default_rng(1), windows, 3, **sides), "batches": 1}
    function = FUNCTIONS[name]
    struct = function.struct_values({key: call[key] for key in function.params})
    for row in filter(may_ask, kernels.list_rows(function.op, function.type)):
        params = kernels.make_params(row.op, profile("cortex-m3", "7.0.0"), struct)
        assert row.takes(params) == (taken or row.kind == "plain"), row


def test_there_are_such_rows():
    if kernels.cpu_features() & kernels.FEATURES["avx2"]:
        for name in ("convolve_wrapper", "depthwise_conv_wrapper", "fully_connected"):
            assert "avx2" in fast_variants(f"arm_{name}_s4")
