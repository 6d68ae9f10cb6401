"""Every layer of the NPU equals the oracle in Python integers, on corners and at random."""

import npu_oracle as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions import NPU_FUNCTIONS
from qemu_nn.functions.wuqi import CODES, LOG_ENTRIES
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import NPU, all_profiles

DTYPE = {"s8": np.int8, "u8": np.uint8, "s16": np.int16}
KINDS = ("random", "lowest", "highest", "one_hot")


def run(name, **arguments):
    return cmsis.invoke(NPU_FUNCTIONS[name], arguments, NPU)


def filled(rng, kind, shape, how):
    limits = np.iinfo(DTYPE[kind])
    if how == "random":
        return rng.integers(limits.min, limits.max, shape, DTYPE[kind], endpoint=True)
    if how == "one_hot":
        array = np.zeros(shape, DTYPE[kind])
        array.flat[rng.integers(array.size)] = limits.min if limits.min else limits.max
        return array
    return np.full(shape, limits.min if how == "lowest" else limits.max, DTYPE[kind])


@st.composite
def windows(draw):
    """Return the geometry of a convolution or pooling whose windows all contain a cell of the
    image.
    """
    few = st.integers(1, 3)
    p = {}
    for axis, before, after in (("h", "pad_n", "pad_s"), ("w", "pad_w", "pad_e")):
        size, kernel, stride = draw(st.integers(1, 8)), draw(st.integers(1, 4)), draw(few)
        dilation = draw(st.integers(1, 2))
        first, last = draw(st.integers(0, kernel - 1)), draw(st.integers(-2, kernel - 1))
        room = size + first + last - dilation * (kernel - 1) - 1
        p |= {f"in_{axis}": size, f"kernel_{axis}": kernel, f"stride_{axis}": stride}
        p |= {f"dilation_{axis}": dilation, before: first, after: last}
        p[f"out_{axis}"] = max(1, room // stride + 1)
        if (p[f"out_{axis}"] - 1) * stride - first >= size:
            p[f"out_{axis}"] = 1
    return p


@pytest.mark.oracle("npu_convolve_s8", "npu_convolve_u8", "npu_convolve_s16")
@settings(max_examples=200, deadline=None)
@given(
    windows(),
    st.sampled_from(["s8", "u8", "s16"]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(KINDS),
    st.integers(0, 2**32),
)
def test_convolutions_equal_the_oracle(p, kind, group, depth, each, how, seed):
    rng = np.random.default_rng(seed)
    p = {k: v for k, v in p.items() if k not in ("pad_s", "pad_e")}
    p |= {"group": group, "depth": depth, "out_c": group * each}
    image = filled(rng, kind, (p["in_h"], p["in_w"], group * depth), how)
    weight = "s16" if kind == "s16" else "s8"
    shape = (p["out_c"], p["kernel_h"], p["kernel_w"], depth)
    weights = filled(rng, weight, shape, rng.choice(KINDS))
    bias = filled(rng, weight, p["out_c"], rng.choice(KINDS)).astype(np.int64)
    most = 31 if kind == "s16" else 15
    starts = bias * 2 ** rng.integers(0, most + 1, p["out_c"])
    pairs = np.stack([starts, rng.integers(0, most + 1, p["out_c"])], 1)
    got = run(f"npu_convolve_{kind}", **p, input=image, weights=weights, start_shift=pairs)
    lists = (array.tolist() for array in (image, weights, pairs))
    assert got.ravel().tolist() == oracle.convolve(kind, p, *lists)


@pytest.mark.oracle(
    "npu_max_pool_s8", "npu_max_pool_s16", "npu_average_pool_s8", "npu_average_pool_s16"
)
@settings(max_examples=200, deadline=None)
@given(
    windows(),
    st.sampled_from(["s8", "s16"]),
    st.sampled_from(["max", "average"]),
    st.booleans(),
    st.integers(-4, 4),
    st.sampled_from(KINDS),
    st.integers(0, 2**32),
)
def test_pooling_equals_the_oracle(p, kind, what, hw_aligned, step, how, seed):
    rng = np.random.default_rng(seed)
    p = {k: v for k, v in p.items() if k != "pad_e"}
    step = step if what == "average" else 0
    p |= {"channels": 2, "hw_aligned": int(hw_aligned), "up": max(step, 0), "down": max(-step, 0)}
    image = filled(rng, kind, (p["in_h"], p["in_w"], 2), how)
    got = run(f"npu_{what}_pool_{kind}", **p, input=image)
    assert got.ravel().tolist() == oracle.pool(kind, what, p, image.tolist())


def codes(kind):
    limits = np.iinfo(DTYPE[kind])
    return np.arange(limits.min, limits.max + 1).astype(DTYPE[kind])


@pytest.mark.oracle("npu_relu_{kind}")
@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("slope", [0, 1, 16, 63, 64, 255])
def test_rectifiers_with_a_slope_on_every_code(kind, slope):
    x = codes(kind)
    got = run(f"npu_relu_{kind}", length=x.size, slope=slope, data=x)
    expected = [oracle.saturate(oracle.relu(kind, v, slope), kind) for v in x.tolist()]
    assert got.tolist() == expected


@pytest.mark.oracle("npu_clip_{kind}")
@pytest.mark.parametrize(("kind", "high"), [("s8", 96), ("s16", 6 << 12), ("s8", 0), ("s8", 127)])
def test_a_limited_rectifier_on_every_code(kind, high):
    x = codes(kind)
    got = run(f"npu_clip_{kind}", length=x.size, high=high, data=x)
    assert got.tolist() == [min(max(v, 0), high) for v in x.tolist()]


@pytest.mark.oracle("npu_lookup_{kind}")
@pytest.mark.parametrize("kind", CODES)
def test_a_table_has_an_entry_for_every_code(kind):
    x = codes(kind)
    table = np.random.default_rng(1).permutation(x)
    got = run(f"npu_lookup_{kind}", length=x.size, data=x, table=table)
    assert got.tolist() == table.tolist()


@pytest.mark.oracle("npu_add_{kind}")
@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("shift", [0, 1, 5, 15, 31])
def test_sums_are_exact_before_they_are_shifted(kind, shift):
    limits = np.iinfo(DTYPE[kind])
    ends = np.array([limits.min, limits.min + 1, -1, 0, 1, 2, limits.max], DTYPE[kind])
    a, b = (array.ravel() for array in np.meshgrid(ends, ends))
    got = run(f"npu_add_{kind}", length=a.size, shift=shift, a=a, b=b)
    pairs = zip(a.tolist(), b.tolist())
    assert got.tolist() == [oracle.saturate((x + y) // 2**shift, kind) for x, y in pairs]


@pytest.mark.oracle("npu_scale_by_tensor_{kind}")
@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("shift", [0, 7, 31])
def test_an_image_is_scaled_by_a_vector(kind, shift):
    rng = np.random.default_rng(shift)
    image, scale = (filled(rng, kind, shape, "random") for shape in ((6, 5), (5,)))
    image[0], scale[0] = np.iinfo(DTYPE[kind]).min, np.iinfo(DTYPE[kind]).min
    name = f"npu_scale_by_tensor_{kind}"
    got = run(name, pixels=6, channels=5, shift=shift, input=image, scale=scale)
    expected = [
        [oracle.saturate(x * s // 2**shift, kind) for x, s in zip(row, scale.tolist())]
        for row in image.tolist()
    ]
    assert got.tolist() == expected


@pytest.mark.oracle("npu_log_softmax_{kind}")
@pytest.mark.parametrize(("kind", "frac"), [("s8", 4), ("s16", 12)])
def test_log_softmax_folds_channels_in_order(kind, frac):
    table = oracle.log_table(LOG_ENTRIES[kind], frac)
    assert table[-1] == 0  # so that nothing is missing after it
    rng = np.random.default_rng(3)
    for how in KINDS:
        image = filled(rng, kind, (7, 12), how)
        name = f"npu_log_softmax_{kind}"
        got = run(name, pixels=7, channels=12, input=image, table=np.array(table, DTYPE[kind]))
        assert got.tolist() == [oracle.log_softmax(kind, row, table) for row in image.tolist()]


@pytest.mark.oracle("npu_channels_{kind}")
@pytest.mark.parametrize("kind", CODES)
def test_channels_of_two_tensors_are_joined_cut_and_shuffled(kind):
    rng = np.random.default_rng(5)
    a, b = (filled(rng, kind, (4, n), "random") for n in (3, 2))
    order = [4, 0, 0, 3, 2, 1]
    shape = {"pixels": 4, "channels_a": 3, "channels_b": 2, "channels_out": 6}
    got = run(f"npu_channels_{kind}", **shape, a=a, b=b, map=np.array(order, np.int32))
    np.testing.assert_array_equal(got, np.concatenate([a, b], 1)[:, order])


def test_the_npu_s_rows_are_no_profile_of_cmsis_and_the_other_way_round():
    for row in kernels.ROWS:
        assert row.claims(NPU) == (row.op.arithmetic == "n"), str(row)
        if row.op.arithmetic == "n":
            assert not any(row.claims(profile) for profile in all_profiles())


GOOD = {"in_h": 4, "in_w": 4, "group": 1, "depth": 2, "out_h": 2, "out_w": 2, "out_c": 3}
GOOD |= {"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_n": 0, "pad_w": 0}
GOOD |= {"dilation_h": 1, "dilation_w": 1}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"in_h": 0}, "in_h must be in 1..65535, is 0"),
        ({"pad_n": -1}, "pad_n must be in 0..65535, is -1"),
        ({"group": 2}, "group 2 does not divide 3 output channels"),
        ({"kernel_h": 1025, "kernel_w": 1025}, r"at most 2\^20"),
        ({"in_h": 65535, "in_w": 65535}, r"the input would have .* more than 2\^31 - 1"),
    ],
)
def test_what_has_no_meaning_is_refused(change, reason):
    function = NPU_FUNCTIONS["npu_convolve_s8"]
    row = kernels.list_rows(function.op, function.type)[0]
    params = kernels.make_params(row.op, NPU, {**GOOD, **change})
    with pytest.raises(Refused, match=reason):
        kernels.check(row, params)
