"""Fast rows of sums, products and changes of scale: every element or pair of bytes, pairs of every
size, tails."""

import itertools

import numpy as np
import pytest
from bits import hold

HIGH = 2**31 - 1
EVERY = np.arange(-32768, 32768, dtype=np.int16)
ENDS = np.array([-32768, -32767, -1, 0, 1, 2, 255, 256, 16384, 32766, 32767], np.int16)
PAIRS = [*itertools.product((0, 1, 2**30, 1518500250, HIGH), (-31, -20, -8, -1, 0))]


def limits(type):
    return {"s8": (-128, 127), "u8": (0, 255), "s16": (-32768, 32767)}[type]


def sums(type, x, y, first, second, out, left, narrow=False):
    low, high = limits(type)
    offsets = {"s8": (-9, 128, -3), "u8": (-200, -7, 31), "s16": (0, 0, 0)}[type]
    params = {"block_size": len(x), "left_shift": left, "act_min": low, "act_max": high}
    if narrow:
        params.update(act_min=(low + high) // 2 - 5, act_max=(low + high) // 2 + 50)
    for name, (mult, shift), offset in zip(
        ("input_1", "input_2", "out"), (first, second, out), offsets
    ):
        params.update({f"{name}_mult": mult, f"{name}_shift": shift, f"{name}_offset": offset})
    return {**params, "input1": x, "input2": y}


def of_type(type):
    if type == "s16":
        rng = np.random.default_rng(1)
        drawn = rng.integers(-32768, 32768, (2, 5003)).astype(np.int16)
        ends = np.array([*itertools.product(ENDS, ENDS)], np.int16).T
        return np.concatenate([drawn, ends], axis=1)
    every = np.arange(256).astype(np.uint8).view({"s8": np.int8, "u8": np.uint8}[type])
    return np.repeat(every, 256), np.tile(every, 256)


USUAL = ((2**30 + 12345, -1), (2**30 + 999, 0), (2**30 + 7, -19))


@pytest.mark.parametrize(
    ("name", "type"),
    [
        *(("tflm_sub_s8", "s8"), ("tflm_sub_s16", "s16"), ("tflm_add_u8", "u8")),
        ("arm_elementwise_add_s16", "s16"),
    ],
)
def test_sums_and_differences_have_the_bits_of_the_plain_row(name, type):
    x, y = (np.ascontiguousarray(v) for v in of_type(type))
    for left, narrow in itertools.product((0, 15), (False, True)):
        hold(name, sums(type, x, y, *USUAL, left, narrow))
    for first, second in zip(PAIRS, PAIRS[7:] + PAIRS[:7]):
        for out in ((HIGH, 0), (2**30, -14), (HIGH, -31)):
            hold(name, sums(type, x[-600:], y[-600:], first, second, out, 15))


@pytest.mark.parametrize("shift", [-31, -22, -14, -2, -1])
def test_products_have_the_bits_of_the_plain_row(shift):
    x, y = (np.ascontiguousarray(v) for v in of_type("s16"))
    for mult in (0, 1, 2**30, 1518500250, HIGH):
        scale = {"out_mult": mult, "out_shift": shift, "block_size": len(x)}
        wide = {**scale, "input_1_offset": 0, "input_2_offset": 0, "out_offset": 0}
        hold(
            "arm_elementwise_mul_s16",
            {**wide, "act_min": -3000, "act_max": 32767, "input1": x, "input2": y},
        )
        bytes = {**scale, "out_offset": 5, "batch_size": 1, "batch_offset": 1}
        both = {"input1": x[None], "input2": y[None]}
        hold("arm_elementwise_mul_s16_s8", {**bytes, **both})


@pytest.mark.parametrize("pair", [*PAIRS, (2**30, 14), (HIGH, 7)])
def test_changes_of_scale_of_every_element(pair):
    multiplier, shift = pair
    for zero, out in ((0, 0), (-32768, 32767), (32767, -32768)):
        points = {"input_zero_point": zero, "output_zero_point": out, "length": 65536}
        scale = {"multiplier": multiplier, "shift": shift}
        hold("tflm_requantize_s16_s16", {**points, **scale, "input": EVERY})
        bytes = {**points, **scale, "output_zero_point": out % 128}
        hold("tflm_requantize_s16_s8", {**bytes, "input": EVERY})
        leak = {"identity_multiplier": multiplier, "identity_shift": shift}
        leak.update(alpha_multiplier=1518500250, alpha_shift=-3)
        hold("tflm_leaky_relu_s16", {**points, **leak, "input": EVERY})


@pytest.mark.parametrize("length", range(26))
def test_tails_have_the_bits_of_the_plain_row(length):
    x = EVERY[::2000][:length].copy()
    hold("arm_elementwise_add_s16", sums("s16", x, x[::-1].copy(), *USUAL, 15))
    scale = {"multiplier": HIGH, "shift": 0, "input_zero_point": 0, "output_zero_point": 0}
    hold("tflm_requantize_s16_s8", {**scale, "length": length, "input": x})
