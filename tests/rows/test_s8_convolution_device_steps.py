"""Convolutions of the s8 API that differ from their formula equal models of the device's steps."""

import math
from types import SimpleNamespace

import affine_windows
import numpy as np
import pytest
from bits import DRAWN
from hypothesis import assume, given, settings

from qemu_nn import cmsis
from qemu_nn.errors import Refused, SizeMismatch
from qemu_nn.functions import FUNCTIONS
from qemu_nn.targets import profile
from qemu_nn.testing.calls import draw_all_arguments

#: Multiplier and shift that leave sums as they are, and what else is the same in all calls.
AS_IS = {"multiplier": 2**30, "shift": 1}
FULL = {"input_offset": 0, "output_offset": 0, "act_min": -128, "act_max": 127}
UNDILATED = {"dilation_h": 1, "dilation_w": 1}
HELIUM = {"target": "mve", "rounding": "double"}


def rows(channels, **pair):
    """Bias, multiplier and shift of each channel."""
    values = {"bias": 0, **AS_IS, **pair}
    return {name: np.full(channels, value, np.int32) for name, value in values.items()}


# ---- one row on Helium ----

#: Side, taps, stride and padding of a row, and columns of its output.
GEOMETRY = [
    (side, taps, stride, pad, columns)
    for side in range(1, 11)
    for taps in range(1, 7)
    for stride in range(1, 5)
    for pad in range(taps)
    for columns in range(1, 9)
    if (columns - 1) * stride - pad < side
]

#: A pixel of padding, and a pixel that was never written or is outside the row.
PADDING, NOWHERE = 0, None


def split(side, taps, stride, pad, columns):
    """Return the three stretches of columns as the device counts them, or why it computes none."""
    total = (columns - 1) * stride + taps - side
    odd = int(math.fmod(total, 2))
    if 2 * pad + odd != total:
        return SimpleNamespace(fails=True)
    right = max(1, int((pad + odd + stride - 1) / stride)) if pad + odd != 0 else 0
    left = math.ceil(pad / stride)
    padded = right if odd else pad
    short = left + right > columns
    return SimpleNamespace(fails=False, left=left, right=right, padded=padded, short=short)


def met_on_helium(pixels, taps, stride, pad, columns):
    """Return the inputs of each column's taps from the device's buffer; None if the
    formula holds.
    """
    found = split(len(pixels), taps, stride, pad, columns)
    if found.short:
        return None
    behind = [*pixels, *[NOWHERE] * 100]
    buffer = [*[PADDING] * pad, *behind[:taps], *[NOWHERE] * 100]
    met = [buffer[i * stride :][:taps] for i in range(found.left)]
    middle = columns - found.left - found.right
    met += [behind[i * stride - pad :][:taps] for i in range(found.left, found.left + middle)]
    start = (found.left + middle) * stride - pad
    buffer[: taps - 1] = behind[start : start + taps - 1]
    buffer[taps - 1 : taps - 1 + found.padded] = [PADDING] * found.padded
    return met + [buffer[i * stride :][:taps] for i in range(found.right)]


def met_by_the_formula(pixels, taps, stride, pad, columns):
    at = [[x * stride - pad + k for k in range(taps)] for x in range(columns)]
    return [[pixels[i] if 0 <= i < len(pixels) else 0 for i in column] for column in at]


def met(type, pixels, taps, stride, pad, columns):
    """Return the same for our rows: an output channel for each tap with a weight of 1."""
    x = np.zeros((1, 1, len(pixels), 4), np.int8)
    x[0, 0, :, 0] = pixels
    filter = np.zeros((taps, 1, taps, 4), np.int8)
    filter[np.arange(taps), 0, np.arange(taps), 0] = 1
    weights = {"filter": filter}
    if type == "s4":
        pairs = filter.reshape(-1, 2)
        weights = {"filter_packed_s4": (pairs[:, 0] | pairs[:, 1] << 4).astype(np.int8)}
        weights.update(filter_h=1, filter_w=taps, filter_c=4)
    window = {"stride_h": 1, "stride_w": stride, "pad_h": 0, "pad_w": pad, **UNDILATED, **FULL}
    sides = {"output_h": 1, "output_w": columns}
    call = getattr(cmsis, f"arm_convolve_1_x_n_{type}")
    return call(input=x, **weights, **window, **sides, **rows(taps), **HELIUM)[0, 0].tolist()


def test_a_row_on_helium_meets_what_its_buffer_holds():
    seen = dict.fromkeys(("fails", "refused", "formula", "other"), 0)
    for side, *geometry in GEOMETRY:
        pixels = list(range(1, side + 1))
        if split(side, *geometry).fails:
            with pytest.raises(SizeMismatch):
                met("s8", pixels, *geometry)
            seen["fails"] += 1
            continue
        formula = met_by_the_formula(pixels, *geometry)
        device = met_on_helium(pixels, *geometry) or formula
        if any(NOWHERE in column for column in device):
            with pytest.raises(Refused, match="reads beside its input"):
                met("s8", pixels, *geometry)
            seen["refused"] += 1
        else:
            assert met("s8", pixels, *geometry) == device, (side, *geometry)
            seen["formula" if device == formula else "other"] += 1
    assert min(seen.values()) > 50


def test_a_row_of_packed_weights_on_helium_has_edges_of_its_own():
    for side, *geometry in GEOMETRY:
        pixels, found = list(range(1, side + 1)), split(side, *geometry)
        if found.fails or found.short:
            with pytest.raises(SizeMismatch):
                met("s4", pixels, *geometry)
        else:
            assert met("s4", pixels, *geometry) == met_by_the_formula(pixels, *geometry)


def nibbles_from(packed, byte):
    """Return values of 4 bits from a byte on, and zeros after the end."""
    values = affine_windows.unpacked(packed[byte:], 2 * len(packed[byte:]))
    return np.concatenate([values, np.zeros(1000, np.int64)])


def row_of_packed(p, x, packed):
    """Sums of one row: at the edges each channel's weights begin at a whole byte."""
    depth, taps = p["input_c"], p["filter_w"]
    found = split(p["input_w"], taps, p["stride_w"], p["pad_w"], p["output_w"])
    sums = np.zeros((len(x), p["output_w"], p["output_c"]), np.int64)
    for column, o in np.ndindex(sums.shape[1:]):
        at = column * p["stride_w"] - p["pad_w"]
        first, last = max(0, -at), max(0, min(taps, p["input_w"] - at))
        weights = affine_windows.unpacked(packed, 2 * len(packed))[o * taps * depth :]
        if not found.left <= column < p["output_w"] - found.right:
            byte = first * depth // 2 + o * taps * depth // 2
            weights = nibbles_from(packed, byte)
            weights = np.concatenate([np.zeros(first * depth, np.int64), weights])
        for k in range(first, last):
            sums[:, column, o] += x[:, 0, at + k] @ weights[k * depth :][:depth]
    return sums


@settings(max_examples=200)
@given(rng=DRAWN)
def test_packed_weights_of_an_edge_begin_at_a_byte(rng):
    function = FUNCTIONS["arm_convolve_1_x_n_s4"]
    arguments = draw_all_arguments(rng, function)
    try:
        got = cmsis.invoke(function, arguments, profile("mve", "7.0.0"))
    except (Refused, SizeMismatch):
        assume(False)
    p = {name: arguments[name] for name in function.params}
    x = arguments["input"].astype(np.int64) + p["input_offset"]
    bias, multiplier, shift = (arguments[n].astype(np.int64) for n in ("bias", *AS_IS))
    acc = row_of_packed(p, x, arguments["filter_packed_s4"]) + bias
    scaled = affine_windows.requantize(affine_windows.wrap32(acc), multiplier, shift, False)
    want = np.clip(affine_windows.wrap32(scaled + p["output_offset"]), p["act_min"], p["act_max"])
    np.testing.assert_array_equal(got[:, 0], want)


# ---- packed weights ----


def half(core, rounding, pixels, type="s4", **sides):
    """Inputs of 1 by a weight of 1, requantized to a quarter."""
    x = np.ones((1, 1, pixels, 1), np.int8)
    shape = {"filter_h": 1, "filter_w": 1, "filter_c": 1, "output_h": 1, "output_w": pixels}
    window = {"stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0, **UNDILATED, **FULL, **shape}
    return cmsis.arm_convolve_wrapper_s4(
        input=x,
        filter_packed_s4=np.ones(1, np.int8),
        target=core,
        rounding=rounding,
        **{**window, **sides},
        **rows(1, shift=-1),
    ).ravel()


@pytest.mark.parametrize("pixels", range(1, 12))
def test_two_or_three_pixels_left_over_are_rounded_twice_on_helium(pixels):
    left = pixels % 4 if pixels % 4 > 1 else 0
    assert half("mve", "single", pixels).tolist() == [0] * (pixels - left) + [1] * left
    assert half("dsp", "single", pixels).tolist() == [0] * pixels
    assert half("mve", "double", pixels).tolist() == [1] * pixels


@pytest.mark.parametrize("name", ["arm_depthwise_conv_s4", "arm_depthwise_conv_wrapper_s4"])
@settings(max_examples=100)
@given(rng=DRAWN)
def test_an_odd_number_of_channels_reads_the_nibbles_that_are_next(name, rng):
    function = FUNCTIONS[name]
    arguments = draw_all_arguments(rng, function)
    p = {name: arguments[name] for name in function.params}
    opt = p["ch_mult"] == p["batches"] == p["dilation_h"] == p["dilation_w"] == 1
    assume(p["input_c"] % 2 == 1 and not (opt and "wrapper" in name))
    try:
        got = cmsis.invoke(function, arguments, profile("scalar", "7.0.0"))
    except Refused:
        assume(False)
    bias, multiplier, shift = (arguments[n].ravel().astype(np.int64) for n in ("bias", *AS_IS))
    x = arguments["input"].astype(np.int64) + p["input_offset"]
    acc = read_in_turns(p, x, arguments["filter_packed_s4"]) + bias
    scaled = affine_windows.requantize(affine_windows.wrap32(acc), multiplier, shift, False)
    want = np.clip(affine_windows.wrap32(scaled + p["output_offset"]), p["act_min"], p["act_max"])
    np.testing.assert_array_equal(got, want)


def read_in_turns(p, x, packed):
    """Sums with a reader that takes halves of bytes in turns, whatever tap it stands at."""
    taps, times = p["filter_h"] * p["filter_w"], p["ch_mult"]
    channels = p["input_c"] * times
    sums = np.zeros((len(x), p["output_h"], p["output_w"], channels), np.int64)
    for n, y, column in np.ndindex(sums.shape[:3]):
        places = [
            (tap, y * p["stride_h"] - p["pad_h"] + ky * p["dilation_h"], at)
            for tap, (ky, kx) in enumerate(np.ndindex(p["filter_h"], p["filter_w"]))
            for at in [column * p["stride_w"] - p["pad_w"] + kx * p["dilation_w"]]
        ]
        inside = [(t, v, h) for t, v, h in places if 0 <= v < x.shape[1] and 0 <= h < x.shape[2]]
        low = True
        for o in range(channels):
            further = 0
            for tap, v, h in inside:
                byte = int(packed[tap * (p["input_c"] // 2) * times + o // 2 + further])
                value = (byte & 15 ^ 8) - 8 if low else byte >> 4
                further += not low
                low = not low
                sums[n, y, column, o] += x[n, v, h, o // times] * value
            low ^= taps % 2 == 1
            low = not low
    return sums


# ---- 16 bits ----


@pytest.mark.parametrize(("core", "unpaired"), [("mve", 4261282816), ("scalar", -33684480)])
def test_an_unpaired_pixel_of_16_bits_sums_up_in_32(core, unpaired):
    for pixels in (1, 2, 3):
        sums = [4261282816] * (pixels - pixels % 2) + [unpaired] * (pixels % 2)
        want = affine_windows.requantize64(np.array(sums), 2**30, -18)
        assert wide_sums(core, pixels).tolist() == want.tolist()


def wide_sums(core, pixels, depth=1024, channels=2, **how):
    x = np.full((1, 1, pixels, depth), 32767, np.int16)
    filter = np.full((channels, 1, 1, depth), 127, np.int8)
    window = {"stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0, **UNDILATED}
    limits = {"input_offset": 0, "output_offset": 0, "act_min": -32768, "act_max": 32767}
    scales = rows(channels, multiplier=2**30, shift=-18)
    scales["bias"] = scales["bias"].astype(np.int32 if how.get("bias_is_int32") else np.int64)
    sides = {"output_h": 1, "output_w": pixels, "bias_is_int32": 0, **how}
    call = cmsis.arm_convolve_s16
    return call(input=x, filter=filter, target=core, **window, **limits, **scales, **sides)[
        0, 0, :, 0
    ]


def test_the_last_odd_channel_of_16_bits_is_refused_where_dsp_code_reads_beside_it():
    with pytest.raises(Refused, match="use an even number of channels or a bias of 32 bits"):
        wide_sums("dsp", 2, depth=513, channels=3)
    for how in (
        {"core": "scalar"},
        {"pixels": 1},
        {"depth": 512},
        {"depth": 516},
        {"channels": 2},
        {"bias_is_int32": 1},
    ):
        wide_sums(**{"core": "dsp", "pixels": 2, "depth": 513, "channels": 3, **how})


# ---- transposed, row by row ----


def rows_of_the_device(height, taps, stride, pad, out):
    """Return pairs of input row and filter row that add to each output row."""
    ring = [[] for _ in range(max(taps, stride))]
    at, found = 0, []
    for y in range(height):
        above = max(0, pad - y * stride)
        for i, tap in enumerate(range(above, taps)):
            ring[(at + i) % len(ring)].append((y, tap))
        for _ in range(stride if above == 0 else 0):
            found.append(ring[at])
            ring[at] = []
            at = (at + 1) % len(ring)
    for y in range(height * stride, height * stride + taps - stride):
        found += [ring[at]] if pad <= y < pad + out else []
        at = (at + 1) % len(ring)
    return found


def rows_of_the_formula(height, taps, stride, pad, out):
    pairs = [(y, tap) for y in range(height) for tap in range(taps)]
    return [[(y, t) for y, t in pairs if y * stride + t - pad == row] for row in range(out)]


def test_a_transposed_convolution_is_refused_where_its_rows_are_not_those_of_the_formula():
    seen = {True: 0, False: 0}
    ones = dict.fromkeys(("filter_w", "stride_w", "output_w", *UNDILATED), 1)
    rest = {**ones, **dict.fromkeys(("pad_w", "pad_offset_h", "pad_offset_w"), 0), **FULL}
    for height, taps, stride, pad, out in np.ndindex(5, 6, 4, 6, 18):
        sides = height + 1, taps + 1, stride + 1, pad, out + 1
        want = rows_of_the_formula(*sides)
        right = [sorted(row) for row in rows_of_the_device(*sides)] == want
        seen[right] += 1
        names = {"stride_h": sides[2], "pad_h": pad, "output_h": sides[4]}
        x = np.arange(1, sides[0] + 1, dtype=np.int8).reshape(1, -1, 1, 1)
        filter = np.arange(1, sides[1] + 1, dtype=np.int8).reshape(1, -1, 1, 1)
        try:
            got = cmsis.arm_transpose_conv_s8(input=x, filter=filter, **names, **rest, **rows(1))
            sums = [sum((y + 1) * (tap + 1) for y, tap in row) for row in want]
            assert right
            assert got.ravel().tolist() == sums
        except Refused:
            assert not right, sides
    assert min(seen.values()) > 100
