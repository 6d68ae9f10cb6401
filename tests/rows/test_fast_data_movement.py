"""Fast rows without products: means and pools of more cells than 16 bits hold, every order of axes,
steps backwards, and rows of every length."""

import itertools

import numpy as np
import pytest
from bits import calls

from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.shapes import DTYPES
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles
from qemu_nn.testing.rows import assert_same

DEVICES = [p for p in all_profiles() if p.cmsis == "7.0.0"]  # releases do not part here


def hold(name, params, *inputs, devices=DEVICES):
    """Check that every row of this host equals the plain one; with AVX2, one row is fast."""
    names = (array.name for array in FUNCTIONS[name].inputs)
    for device, found in calls(name, {**params, **dict(zip(names, inputs))}, devices):
        assert len(found) > 1 or not kernels.cpu_features() & kernels.FEATURES["avx2"]
        for variant, (got, *_) in found.items():
            assert_same(got, found["ref"][0], variant, device)


def image(type, shape, fill=None, seed=1):
    limits = np.iinfo(np.dtype(f"int{type[1:]}"))
    if fill is not None:
        return np.full(shape, getattr(limits, fill), limits.dtype)
    rng = np.random.default_rng(seed)
    return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(limits.dtype)


def elements(type, shape, seed=1):
    """Draw bytes as elements of a type."""
    size = np.dtype(DTYPES[type]).itemsize
    data = np.random.default_rng(seed).bytes(int(np.prod(shape)) * size)
    return np.frombuffer(data, DTYPES[type]).reshape(shape)


SIDES = (
    (1, 49, 1, 1, 64),
    (2, 255, 1, 3, 16),
    (1, 256, 1, 1, 32),
    (1, 257, 1, 2, 65),
    (3, 5, 2, 7, 1),
    (2, 3, 4, 5, 130),
    (1, 1, 3, 1000, 1),
    (4, 1000, 1, 1, 1),
    (1, 2, 1, 3, 7),
    (3, 28, 240, 1, 1),
    (2, 300, 3, 1, 37),
    (5, 1, 6, 9, 1),
    (2, 4, 3, 2, 9),
)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("type", ["s8", "s16"])
def test_means_have_the_bits_of_the_plain_row(type, sides):
    names = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")
    for fill, zero, shift in itertools.product(
        ("min", "max", None), (-128, 0, 127), (-31, -3, 0, 13)
    ):
        params = {**dict(zip(names, sides)), "multiplier": 1518500250, "shift": shift}
        params.update(input_zero_point=zero, output_zero_point=-3)
        hold(f"tflm_mean_{type}", params, image(type, sides, fill))


@pytest.mark.parametrize("fill", ["min", "max", None])
@pytest.mark.parametrize("name", ["max_pool", "avgpool"])
@pytest.mark.parametrize("type", ["s8", "s16"])
def test_pools_of_many_cells(type, name, fill):
    for (h, w), (fh, fw), channels in itertools.product(
        ((25, 5), (17, 17)), ((17, 5), (15, 3), (17, 17), (1, 1)), (1, 16, 32, 63, 64, 65, 130)
    ):
        sides = {"batches": 2, "input_h": h, "input_w": w, "channels": channels, "filter_h": fh}
        pad = 0 if fw == w else fw // 2
        sides.update(filter_w=fw, stride_h=2, stride_w=3, pad_h=0, pad_w=pad)
        sides.update(output_h=(h - fh) // 2 + 1, output_w=(w + 2 * pad - fw) // 3 + 1)
        limits = np.iinfo(np.dtype(f"int{type[1:]}"))
        params = {**sides, "act_min": int(limits.min), "act_max": int(limits.max)}
        x = image(type, (2, h, w, channels), fill)
        hold(f"arm_{name}_{type}", params, x, devices=DEVICES[:1])


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
@pytest.mark.parametrize("sides", [(2, 3, 5, 17), (1, 8, 1, 33), (4, 1, 7, 2)])
def test_every_order_of_axes(order, sides):
    params = {"num_dims": 4, **{f"perm_{i}": axis for i, axis in enumerate(order)}}
    params.update({f"input_{a}": n for a, n in zip("nhwc", sides)})
    params.update({f"output_{a}": sides[i] for a, i in zip("nhwc", order)})
    if order != (0, 1, 2, 3):  # which Arm's function refuses on Helium
        hold("arm_transpose_s8", params, image("s8", sides))


@pytest.mark.parametrize("type", ["s8", "s16", "f32"])
def test_orders_of_six_axes(type):
    sides = (2, 3, 1, 4, 5, 3)
    x = elements(type, sides)
    for order in [*itertools.permutations(range(6))][::7]:
        params = {f"perm_{i}": axis for i, axis in enumerate(order)}
        params.update({f"input_{i}": n for i, n in enumerate(sides)})
        params.update({f"output_{i}": sides[axis] for i, axis in enumerate(order)})
        hold(f"tflm_transpose_{type}", params, x, devices=DEVICES[:1])


@pytest.mark.parametrize("type", ["s8", "s16", "s32", "s64"])
def test_slices_have_the_bits_of_the_plain_row(type):
    sides = (2, 3, 4, 9, 40)
    rng = np.random.default_rng(2)
    x = elements(type, sides)
    for _ in range(200):
        params = {}
        for i, side in enumerate(sides):
            stride = int(rng.choice([1, 1, 1, 2, 3, -1, -2]))
            begin = int(rng.integers(side)) if rng.integers(2) else 0 if stride > 0 else side - 1
            room = (side - 1 - begin if stride > 0 else begin) // abs(stride)
            whole = {"begin": begin, "stride": stride, "output": room + 1, "input": side}
            params.update({f"{name}_{i}": n for name, n in whole.items()})
        hold(f"tflm_slice_{type}", params, x, devices=DEVICES[:1])


@pytest.mark.parametrize("sides", [(2, 3, 5, 17), (1, 1, 1, 240), (4, 1, 7, 2), (1, 1, 1, 1)])
@pytest.mark.parametrize("type", ["s8", "s16", "s32", "s64"])
def test_broadcasts_have_the_bits_of_the_plain_row(type, sides):
    for kept in itertools.product((False, True), repeat=4):
        inner = tuple(side if keep else 1 for side, keep in zip(sides, kept))
        params = {f"input_{a}": n for a, n in zip("nhwc", inner)}
        params.update({f"output_{a}": n for a, n in zip("nhwc", sides)})
        hold(f"tflm_broadcast_{type}", params, elements(type, inner), devices=DEVICES[:1])


@pytest.mark.parametrize("type", ["s8", "s16", "f32"])
def test_paddings_have_the_bits_of_the_plain_row(type):
    name = "arm_pad_s8" if type == "s8" else f"tflm_pad_{type}"
    rng = np.random.default_rng(3)
    for channels in (1, 7, 16):
        sides = dict(zip("nhwc", (2, 5, 4, channels)))
        for _ in range(20):
            pads = {f"{end}_{a}": int(rng.integers(3)) for end in ("pre", "post") for a in "nhwc"}
            params = {**{f"input_{a}": n for a, n in sides.items()}, **pads, "pad_value": -7}
            hold(name, params, elements(type, tuple(sides.values())), devices=DEVICES[:1])


@pytest.mark.parametrize("channels", [1, 7, 8, 16, 17, 40])
@pytest.mark.parametrize("type", ["s8", "s16", "f32"])
def test_resizing_has_the_bits_of_the_plain_row(type, channels):
    names = ("align_corners", "half_pixel_centers")
    for (h, w), (oh, ow), how in itertools.product(
        ((5, 3), (1, 7)), ((10, 6), (3, 1), (7, 7)), ((0, 0), (1, 0), (0, 1))
    ):
        params = {"batches": 2, "input_h": h, "input_w": w, "channels": channels, "output_h": oh}
        params.update(output_w=ow, **dict(zip(names, how)))
        x = elements(type, (2, h, w, channels))
        hold(f"tflm_resize_nearest_{type}", params, x, devices=DEVICES[:1])


@pytest.mark.parametrize("most", ["minimum", "maximum"])
@pytest.mark.parametrize("ones", [*itertools.product((False, True), repeat=4)])
def test_smaller_and_larger_of_images_that_repeat(most, ones):
    """Check axes of one element in either input, next to whole ones; all in place where legal."""
    whole = (2, 3, 5, 37)
    part = tuple(1 if one else n for one, n in zip(ones, whole))
    if ones[2:] == (True, True) and not ones[1]:
        return  # refused: Arm's function reads outside such an input
    x, y = image("s8", whole), image("s8", part, seed=2)
    for first, second in ((x, y), (y, x)):
        params = {f"input1_{a}": n for a, n in zip("nhwc", first.shape)}
        params.update({f"input2_{a}": n for a, n in zip("nhwc", second.shape)})
        hold(f"arm_{most}_s8", params, first, second, devices=DEVICES[:1])


@pytest.mark.parametrize("inner", [1, 2, 7, 8, 15, 16, 17, 31, 33, 100])
@pytest.mark.parametrize("type", ["s8", "s16", "f32", "s64"])
def test_concatenations_have_the_bits_of_the_plain_row(type, inner):
    for other, outer in itertools.product((1, 3, 16, 40), (1, 2, 9)):
        params = {"outer": outer, "inner1": inner, "inner2": other}
        both = elements(type, (outer, inner)), elements(type, (outer, other), seed=2)
        hold(f"tflm_concatenation_{type}", params, *both, devices=DEVICES[:1])
