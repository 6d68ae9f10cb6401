"""The inputs that contracts of dense and recurrent layers give as examples do what they say."""

import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.errors import Error, Refused
from qemu_nn.functions import FUNCTIONS

CORES = ("m0", "scalar", "dsp", "mve")
FULL = {"act_min": -128, "act_max": 127}
WIDE = {"act_min": -32768, "act_max": 32767}
ONE = {"multiplier": 2**30, "shift": 0}
OFFSETS = {"input_offset": 0, "filter_offset": 0, "output_offset": 0}
CASES = {f.name: f.cases[0] for f in FUNCTIONS.values() if f.cases}


def values(count, value, dtype=np.int8):
    return np.full(count, value, dtype)


# ---- fully connected ----


def corner(core, count):
    """Return the sum of that many products of 2^22."""
    return cmsis.arm_fully_connected_s16(
        input=values((1, count), -32768, np.int16),
        filter=values((1, count), -128),
        **{**OFFSETS, **WIDE, **ONE, "shift": -15},
        target=core,
    ).item()


@pytest.mark.parametrize("core", CORES)
def test_512_products_leave_32_bits_on_cores_with_dsp_and_helium(core):
    assert corner(core, 511) == 32704
    assert corner(core, 512) == (-32768 if core in ("dsp", "mve") else 32767)


def per_channel(function, core, **more):
    pairs = {"multiplier": values(2, 2**30, np.int32), "shift": values(2, 1, np.int32)}
    params = {**OFFSETS, **FULL, **pairs, "filter_offset": 1, **more}
    call = getattr(cmsis, f"arm_fully_connected_{function}")
    return call(input=values((1, 3), 2), filter=values((2, 3), 4), target=core, **params).tolist()


@pytest.mark.parametrize("function", ["per_channel_s8", "wrapper_s8"])
def test_offsets_of_filters_with_pairs_of_their_own_are_refused_on_helium(function):
    own = {"is_per_channel": 1} if function == "wrapper_s8" else {}
    assert per_channel(function, "dsp", **own) == [[30, 30]]
    assert per_channel(function, "mve", **own, filter_offset=0) == [[24, 24]]
    with pytest.raises(Refused, match="filter_offset must be 0 where each output has its own"):
        per_channel(function, "mve", **own)


def test_the_wrapper_takes_one_pair_for_all_outputs():
    one = {"multiplier": values(1, 2**30, np.int32), "shift": values(1, 0, np.int32)}
    assert per_channel("wrapper_s8", "mve", is_per_channel=0, **one) == [[15, 15]]
    with pytest.raises(Error, match=r"multiplier of .* has the shape \[1\], but must have \[2\]"):
        per_channel("wrapper_s8", "mve", is_per_channel=1, **one, filter_offset=0)


def test_packed_filters_of_an_odd_size_end_in_half_a_byte():
    got = cmsis.arm_fully_connected_s4(
        input=np.array([[1, 10, 100]], np.int8),
        filter_packed_s4=np.array([0x21, 0x7F], np.int8),  # 1, 2, -1
        output_c=1,
        **{**OFFSETS, **FULL, **ONE, "shift": 1},
    )
    assert got.tolist() == [[1 + 20 - 100]]


# ---- products of matrices ----


def products(lhs, rhs, **more):
    params = {"lhs_offset": 0, "rhs_offset": 0, "output_offset": 0, "adj_x": 0, "adj_y": 1}
    return cmsis.arm_batch_matmul_s8(lhs=lhs, rhs=rhs, **{**params, **FULL, **ONE, **more})


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("rounding", ["single", "double"])
def test_helium_doubles_sums_first_if_it_rounds_once(core, rounding):
    count, offsets = 16513, {"lhs_offset": 128, "rhs_offset": 128}
    lhs, rhs = values((1, 1, 1, count), 127), values((1, 1, 5, count), 127)
    got = products(lhs, rhs, **offsets, target=core, rounding=rounding).ravel().tolist()
    wraps = (core, rounding) == ("mve", "single")
    assert got == ([-128] * 4 if wraps else [127] * 4) + [127]


def test_operands_are_as_many_as_each_other_or_one_for_all():
    one, three = values((1, 1, 2, 4), 1), values((3, 1, 2, 4), 2)
    assert products(one, three, shift=1).shape == (3, 1, 2, 2)
    assert products(three, one, shift=1).ravel().tolist() == [8] * 12
    with pytest.raises(Refused, match="lhs_n and rhs_n must be equal or one of them 1, are 3 and"):
        products(three, values((2, 1, 2, 4), 1))
    with pytest.raises(Refused, match=r"rhs_c must be in 4\.\.4, is 5"):
        products(one, values((1, 1, 2, 5), 1))


# ---- recurrent ----


@pytest.mark.parametrize("core", CORES)
def test_helium_doubles_the_sums_of_svdf_as_well(core):
    params = dict(CASES["arm_svdf_s8"], out_multiplier=2**30, out_shift=0)
    arrays = {a.name: np.zeros(a.shape(params), a.dtype) for a in FUNCTIONS["arm_svdf_s8"].arrays}
    arrays["bias"][:] = 2**30
    call = {**params, **arrays, "target": core}
    single = -128 if core == "mve" else 127
    assert set(cmsis.arm_svdf_s8(**call, rounding="single").ravel().tolist()) == {single}
    assert set(cmsis.arm_svdf_s8(**call, rounding="double").ravel().tolist()) == {127}


@pytest.mark.parametrize(("core", "state"), [("mve", -6), ("dsp", 0), ("scalar", 0), ("m0", 0)])
def test_only_helium_looks_at_the_offset_of_a_state(core, state):
    own = {"units": 1, "rank": 1, "input_size": 2, "time_batches": 1, "input_offset": 1}
    params = {**CASES["arm_svdf_s8"], **own, "in_multiplier": 2**30, "in_shift": 1}
    arrays = {a.name: np.zeros(a.shape(params), a.dtype) for a in FUNCTIONS["arm_svdf_s8"].arrays}
    call = {**params, **arrays, "target": core, "in_place": True}
    cmsis.arm_svdf_s8(**{**call, "state_offset": 3})
    assert arrays["state"].item() == state


@pytest.mark.parametrize(("function", "lanes"), [("svdf_s8", 4), ("svdf_state_s16_s8", 3)])
@pytest.mark.parametrize("core", ["dsp", "mve"])
def test_filters_that_are_no_whole_vector_are_not_doubled(function, lanes, core):
    own = {"units": 5, "rank": 1, "input_size": 33200, "time_batches": 1}  # 33200 * 255 * 127
    params = {**CASES[f"arm_{function}"], **own, "input_offset": -128}
    params.update(in_multiplier=2**30, in_shift=0)
    arrays = {
        a.name: np.zeros(a.shape(params), a.dtype) for a in FUNCTIONS[f"arm_{function}"].arrays
    }
    arrays["input"][:] = arrays["weights_feature"][:] = 127
    call = {**params, **arrays, "target": core, "rounding": "single", "in_place": True}
    getattr(cmsis, f"arm_{function}")(**call)
    low, high = params["in_act_min"], params["in_act_max"]
    wrapped = lanes if core == "mve" else 0
    assert arrays["state"].ravel().tolist() == [low] * wrapped + [high] * (5 - wrapped)


def lstm(type, hidden_size=20, **more):
    """Return a call on zeros with biases 0 except the given ones."""
    function = FUNCTIONS[f"arm_lstm_unidirectional_{type}"]
    params = {**CASES[function.name], "hidden_size": hidden_size}
    scalars = {n: v for n, v in params.items() if n not in ("has_cell_state", "has_hidden_state")}
    arrays = {a.name: np.zeros(a.shape(params), a.dtype) for a in function.arrays if not a.optional}
    return getattr(cmsis, function.name)(**{**scalars, **arrays, **more})


@pytest.mark.parametrize("core", ["dsp", "mve"])
def test_units_of_an_lstm_that_are_no_whole_vector_are_not_doubled(core):
    big = values(7, 2**30, np.int32)
    biases = {"output_gate_input_effective_bias": big, "cell_input_effective_bias": big // 2}
    shift = {"output_gate_input_multiplier": 2**30, "output_gate_input_shift": 0}
    call = {"hidden_size": 7, "target": core, **biases, **shift}
    single = lstm("s8", **call, rounding="single")[0, 0].tolist()
    shown = lstm("s8", **call, rounding="double")[0, 0, 0].item()
    hidden = [shown] * 4 if core == "dsp" else [0] * 4
    assert shown > 9
    assert single == hidden + [shown] * 3


@pytest.mark.parametrize("core", CORES)
def test_helium_has_the_bias_of_a_16_bit_gate_in_32_bits(core):
    bias = {"cell_input_effective_bias": values(20, 2**32, np.int64)}
    got = lstm("s16", target=core, **bias)
    assert (got == lstm("s16", target=core)).all() == (core == "mve")


def test_a_hidden_state_needs_a_cell_state():
    hidden = np.zeros((1, 20), np.int8)
    with pytest.raises(Refused, match=r"has_hidden_state must be in 0\.\.0, is 1"):
        lstm("s8", hidden_state=hidden)
    states = {"hidden_state": hidden, "cell_state": np.zeros((1, 20), np.int16)}
    assert lstm("s8", **states, cmsis="main-2026-07").shape == (1, 28, 20)
    with pytest.raises(Refused, match=r"7\.0\.0 takes no hidden state .* use cmsis='main-2026-07'"):
        lstm("s8", **states, cmsis="7.0.0")


def test_a_cell_state_is_given_back_without_being_read():
    start = values((1, 20), 1234, np.int16)
    kept = start.copy()
    got = lstm("s8", cell_state=kept, in_place=True)
    np.testing.assert_array_equal(got, lstm("s8"))
    assert (kept != start).all()


# ---- scratch memory ----


@pytest.mark.parametrize(
    ("function", "on_m4", "on_m55"),
    [
        ("arm_fully_connected_s16", 0, 0),
        ("arm_fully_connected_s4", 0, 0),
        ("arm_batch_matmul_s8", 0, 4 * 64),
        ("arm_batch_matmul_s16", 0, 0),
        ("arm_svdf_s8", 4 * (128 + 64), 4 * (128 + 64 + 128)),
        ("arm_svdf_state_s16_s8", 4 * (128 + 64), 4 * (128 + 64)),
        ("arm_lstm_unidirectional_s8", 3 * 2 * 20, 3 * 2 * 20),
    ],
)
def test_helium_wants_memory_for_sums_of_weights(function, on_m4, on_m55):
    for core, size in (("cortex-m4", on_m4), ("cortex-m55", on_m55)):
        assert cmsis.buffer_size(function, CASES[function], core) == size
