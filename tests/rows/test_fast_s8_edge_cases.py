"""Fast rows of the s8 API on hard cases, and whole networks.

The cases are scales of every size, sums that wrap around, tails of channels and pixels, and windows
outside the image.
"""

import itertools

import numpy as np
import pytest
from hosts import may_ask
from s8_layer_calls import AXES, HIGH, LOW, ROUNDINGS, WHOLE, called, hold, one_pair, window

from qemu_nn import cmsis
from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.kernels.devices import profile_for
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import Target, profile
from qemu_nn.testing.rows import assert_same

pytestmark = pytest.mark.caps

RANGES = (WHOLE, {"act_min": -5, "act_max": 90}, {"act_min": -7, "act_max": -7})


#: Largest distance of the sums of pairs() from their bias, for any input.
SPREAD = 133


def pairs(sums, multipliers, shifts, offset=0, limits=WHOLE):
    """Return one output for each triple: a sum, made by the bias alone, a multiplier, a shift."""
    bias, multiplier, shift = np.array([*itertools.product(sums, multipliers, shifts)]).T
    count = len(bias)
    arguments = {
        **{"batches": 1, "input_c": 1, "output_c": count, "filter_offset": 0},
        **{"input_offset": -5, "output_offset": offset, **limits},
        **{"input": np.array([[5]], np.int8), "filter": np.ones((count, 1), np.int8)},
    }
    rows = {"bias": bias, "multiplier": multiplier, "shift": shift}
    return {**arguments, **{k: v.astype(np.int32) for k, v in rows.items()}}


def near(*values):
    return sorted({v + d for v in values for d in (-1, 0, 1) if LOW <= v + d <= HIGH})


EDGES = near(LOW, -(2**30), -(2**16), 0, 2**16, 2**30, HIGH)
MULTIPLIERS = (0, 1, *near(2**30), 1518500250, *near(HIGH), -1, LOW)


@pytest.mark.parametrize("shift", range(-31, 31))
def test_every_shift_and_the_ends_of_sums_and_multipliers(shift):
    hold("arm_fully_connected_per_channel_s8", pairs(EDGES, MULTIPLIERS, [shift]))


@pytest.mark.parametrize("limits", RANGES)
@pytest.mark.parametrize("offset", [-128, -1, 0, 127])
def test_halves_go_away_from_zero(offset, limits):
    """Sums within one of every tie of either rounding, where all pairs let the stage be quick."""
    for n in (1, 2, 3, 7, 12, 20):
        for multiplier in (2**30, 2**30 + 1, 1518500250, HIGH):
            ties = [((2 * k + 1) << (30 + n)) // multiplier for k in (0, 1, 2, 63, 127, 200)]
            sums = near(*ties, *(-t for t in ties), 0)
            sums = [s for s in sums if abs(s) < 2**30]
            hold(
                "arm_fully_connected_per_channel_s8",
                pairs(sums, [multiplier], [-n], offset, limits),
            )


@pytest.mark.parametrize("most", [2**30 - 1, 2**30])
def test_the_largest_sums_that_are_doubled(most):
    sums = [most - SPREAD, 0, SPREAD - most]
    hold("arm_fully_connected_per_channel_s8", pairs(sums, [HIGH, 2**30], [-20, -21, -1]))


def test_the_largest_sums_that_are_doubled_count_weights_and_offsets():
    """Bias and products pass 2^30 together, alone they do not."""
    arguments = pairs([2**30 - 1000, 1000 - 2**30], [HIGH], [-20, -23])
    for kernel, offset in itertools.product((-128, 127), (-127, 128)):
        arguments["filter"] = np.full((4, 1), kernel, np.int8)
        for x in (-128, 127):
            arguments.update(input=np.array([[x]], np.int8), input_offset=offset)
            hold("arm_fully_connected_per_channel_s8", arguments)


def uneven(rng, count, depth=24):
    """Channels as training leaves them: most usual, some constant, some of large multipliers."""
    arguments = one_pair(rng, depth, count, batches=40)
    del arguments["multiplier"], arguments["shift"]
    shift, bias = rng.integers(-11, -6, count), arguments["bias"].astype(np.int64)
    for c in range(0, count, 5):
        shift[c] = rng.integers(-31, -22)
        bias[c] = (-1) ** c * rng.choice([0, 1000, 2**28, 2**30, HIGH - 2**22])
    for c in range(3, count, 7):
        shift[c] = rng.integers(-1, 6)
        arguments["filter"][c] = np.sign(arguments["filter"][c]) * (rng.random(depth) < 0.2)
        bias[c] = rng.integers(-5, 6)
    arguments.update(bias=bias.astype(np.int32), shift=shift.astype(np.int32))
    arguments["multiplier"] = rng.integers(2**30, HIGH, count).astype(np.int32)
    return arguments


@pytest.mark.parametrize("seed", range(4))
def test_constant_channels_and_those_of_large_multipliers(seed):
    rng = np.random.default_rng(seed)
    for count, limits in itertools.product((16, 37, 80), RANGES):
        arguments = {**uneven(rng, count), "output_offset": int(rng.integers(-128, 128)), **limits}
        hold("arm_fully_connected_per_channel_s8", arguments)
        arguments["bias"][[1, -1]] = HIGH, LOW  # these may wrap around
        hold("arm_fully_connected_per_channel_s8", arguments)


def test_constant_channels_leave_the_others_the_fastest_epilogue():
    arguments = {**pairs([7], [2**30 + 5], [-8, 0, 2]), "output_c": 5}
    arguments["filter"] = np.full((5, 1), 100, np.int8)
    arguments["bias"] = np.array([7, -9, 3, -(2**30), HIGH - 2**20], np.int32)
    arguments["multiplier"] = np.full(5, 2**30 + 5, np.int32)
    arguments["shift"] = np.array([-8, 0, 2, -25, -31], np.int32)
    hold("arm_fully_connected_per_channel_s8", arguments)
    function, device = FUNCTIONS["arm_fully_connected_per_channel_s8"], profile("m4", "7.0.0")
    names = function.struct_values({name: arguments[name] for name in function.params})
    stack = np.stack([arguments[name] for name in ("bias", "multiplier", "shift")])
    for row in kernels.list_rows(function.op, function.type):
        if row.variant == "avx512vnni" and row.runs_here():
            params = kernels.make_params(row.op, device, names)
            rows = row.pack(params, arguments["filter"], stack).view(np.int32)
            assert rows[7 * 16] == 1  # KIND, EPILOGUE_FLOAT


@pytest.mark.parametrize("bias", [HIGH, LOW, 0])
@pytest.mark.parametrize("offset", [-127, 0, 128])
def test_wrapped_sums_have_the_bits_of_the_plain_row(bias, offset):
    count, depth = 19, 2**14 + 5
    for x, kernel in itertools.product((-128, 127), repeat=2):
        arguments = pairs([bias], [HIGH - 4], range(-18, 1))
        arguments.update(input_c=depth, input=np.full((1, depth), x, np.int8), input_offset=offset)
        arguments["filter"] = np.full((count, depth), kernel, np.int8)
        hold("arm_fully_connected_per_channel_s8", arguments)


@pytest.mark.rows
@pytest.mark.parametrize("rows", [*range(1, 36), 63, 64, 65, 79, 80, 81, 127, 129])
def test_every_tail_of_outputs_and_of_inputs(rows):
    rng = np.random.default_rng(rows)
    for columns, batches in itertools.product((1, 3, 4, 31, 36, 64), (1, 2, 5, 13, 17)):
        hold("arm_fully_connected_s8", one_pair(rng, columns, rows, batches))


@pytest.mark.parametrize("filter_offset", [-127, 1, 128])
def test_offsets_of_weights_are_not_forgotten(filter_offset):
    arguments = one_pair(np.random.default_rng(1), 20, 9) | {"filter_offset": filter_offset}
    want = cmsis.arm_fully_connected_s8(**arguments, variant="ref")
    assert_same(cmsis.arm_fully_connected_s8(**arguments), want)


@pytest.mark.rows
@pytest.mark.parametrize("h", AXES)
@pytest.mark.parametrize("w", AXES)
def test_convolutions_pad_with_the_zero_point(h, w):
    rng = np.random.default_rng(5)
    windows = {**window("h", *h), **window("w", *w)}
    for depth, out, groups in ((1, 1, 1), (3, 17, 1), (16, 16, 1), (5, 3, 3), (2, 65, 1)):
        channels = {"input_c": groups * depth, "filter_c": depth, "output_c": groups * out}
        for offset in (-127, 0, 128):
            call = called("arm_convolve_wrapper_s8", rng, windows, offset, **channels)
            hold("arm_convolve_wrapper_s8", call)


@pytest.mark.rows
@pytest.mark.parametrize("h", AXES)
@pytest.mark.parametrize("w", AXES)
def test_depthwise_convolutions_pad_with_the_zero_point(h, w):
    rng = np.random.default_rng(6)
    windows = {**window("h", *h), **window("w", *w)}
    for channels, more in (
        (1, 1),
        (4, 1),
        (8, 1),
        (16, 1),
        (21, 1),
        (64, 1),
        (80, 1),
        (96, 1),
        (112, 1),
        (5, 3),
        (33, 2),
    ):
        sides = {"input_c": channels, "ch_mult": more}
        for offset in (-127, 0, 128) if channels <= 80 else (128,):
            call = called("arm_depthwise_conv_wrapper_s8", rng, windows, offset, **sides)
            hold("arm_depthwise_conv_wrapper_s8", call)


@pytest.mark.parametrize("type", ["s8", "s4"])
def test_one_row_convolutions_of_helium_are_left_to_the_plain_row(type):
    rng = np.random.default_rng(7)
    windows = {**window("h", 1, 1, 1, 1, 0, 1), **window("w", 33, 3, 1, 1, 1, 33)}
    channels = {"input_c": 64, "filter_c": 64, "output_c": 65}
    call = called(f"arm_convolve_wrapper_{type}", rng, windows, 3, **channels)
    function = FUNCTIONS[f"arm_convolve_wrapper_{type}"]
    struct = {name: call[name] for name in function.params}
    for row in filter(may_ask, kernels.list_rows(function.op, function.type)):
        takes = {
            path: row.takes(
                kernels.make_params(row.op, profile(path, "7.0.0"), function.struct_values(struct))
            )
            for path in ("scalar", "dsp", "mve")
        }
        assert takes == {"scalar": True, "dsp": True, "mve": row.kind == "plain"}, row


SMALL = ("resnet8_s8", "kws_dscnn_s8", "vww_s8", "ad_s8")


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("cap", ["avx2", "avx512vnni"])
@pytest.mark.parametrize("name", SMALL)
def test_every_layer_of_a_network_has_the_bits_of_its_plain_rows(name, cap, rounding, monkeypatch):
    graph = S8_NETWORKS[name]()
    device = profile_for(graph.ops, Target("cortex-m3", rounding=rounding))
    x = draw_inputs(graph, 2)
    plain = Session(graph, device, "ref").run(x, trace=True)
    monkeypatch.setenv(kernels.CAP, cap)
    fast = Session(graph, device).run(x, trace=True)
    for layer in plain:
        assert_same(fast[layer], plain[layer], layer)


@pytest.mark.skipif(not kernels.cpu_features() & kernels.FEATURES["avx2"], reason="needs AVX2")
@pytest.mark.parametrize("name", SMALL)
def test_no_layer_runs_on_a_plain_row(name):
    graph = S8_NETWORKS[name]()
    steps = Session(graph, profile_for(graph.ops)).plan.steps
    assert {s.row.op.name for s in steps if s.row.kind == "plain"} <= {"reshape"}
