"""Estimated instructions against counts of the real library on emulated cores."""

import csv
import gzip
import json
import re

import numpy as np
import pytest
from paths import GOLDEN

import qemu_nn
from qemu_nn.cycles import newlib
from qemu_nn.cycles.counts import Counts
from qemu_nn.cycles.model import CLASSES, PATHS
from qemu_nn.cycles.patches import Axis, PatchBuffer, count_copies
from qemu_nn.cycles.table import COUNTERS

#: Three recorded calls of each function and core, in builds chosen by a hash.
RECORDED = GOLDEN / "cycles.csv.gz"
COUNTED = GOLDEN.parents[1] / "benchmarks" / "arm_counts.csv.gz"
SETTINGS = {
    **{"target": "core", "cmsis": "release"},
    **{"optimization": "optimization", "float_abi": "float_abi"},
}


@pytest.fixture(scope="module")
def recorded():
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    settings = [{name: row[SETTINGS[name]] for name in SETTINGS} for row in rows]
    calls = [
        qemu_nn.estimate_call(row["function"], json.loads(row["params"]), **setting)
        for row, setting in zip(rows, settings)
    ]
    return rows, calls


def test_nine_recorded_calls_in_ten_are_estimated_within_half_a_percent(recorded):
    rows, calls = recorded
    counts = np.array([int(row["instructions"]) for row in rows])
    errors = np.abs([call.instructions for call in calls] / counts - 1)
    assert np.median(errors) < 0.0001
    assert np.quantile(errors, 0.9) < 0.005
    assert np.mean(errors < 0.03) > 0.985


def test_recorded_calls_are_within_their_ranges(recorded):
    rows, calls = recorded
    counts = [int(row["instructions"]) for row in rows]
    outside = [
        (call, count) for call, count in zip(calls, counts) if not call.low <= count <= call.high
    ]
    assert outside == []


def test_ranges_include_errors_that_were_measured_in_networks():
    softmax = {"num_rows": 1, "row_size": 49, "mult": 2**30, "shift": 25, "diff_min": -62}
    call = qemu_nn.estimate_call("arm_softmax_s8", softmax)
    assert call.high >= 2.2 * call.instructions


def test_counted_calls_of_channel_multipliers_and_dilated_weights_are_within_their_ranges():
    with gzip.open(COUNTED, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        setting = {"optimization": row["optimization"], "float_abi": row["abi"]}
        params, count = json.loads(row["params"]), int(row["instructions"])
        call = qemu_nn.estimate_call(row["function"], params, target=row["core"], **setting)
        assert call.low <= count <= call.high, row
        assert abs(call.instructions / count - 1) < 0.025, row


def test_copies_of_the_c_library_are_counted_to_the_instruction(recorded):
    rows, calls = recorded
    copies = re.compile("arm_(reshape|pad|concatenation)_s8")
    pairs = [
        (call.instructions, int(row["instructions"]))
        for row, call in zip(rows, calls)
        if copies.match(row["function"])
    ]
    assert len(pairs) == 54
    assert all(estimated == counted for estimated, counted in pairs)


def test_copies_take_the_path_of_their_addresses():
    """Counted by hand along the instructions of newlib's functions."""
    assert newlib.memcpy(3, "dsp") == 21
    assert newlib.memcpy(3, "dsp", source=1) == 19
    assert newlib.memcpy(7, "dsp", target=1) == 32
    assert newlib.memcpy(64, "dsp") == 48
    assert newlib.memcpy(64, "dsp", source=3, target=3) == 76
    assert newlib.memcpy(64, "mve") == newlib.memcpy(64, "scalar") == 50
    assert newlib.memset(0) == 10
    assert newlib.memset(1, target=1) == 15
    assert newlib.memmove(8, source=8, target=0) == 44
    assert newlib.memmove(8, source=0, target=8) == 47


def test_what_lies_beside_the_input_is_counted_on_each_side():
    assert Axis(size=5, out=5, kernel=3, stride=1, pad=1).sides() == (1, 13, 1)
    assert Axis(size=8, out=4, kernel=3, stride=2, pad=0).sides() == (0, 11, 1)


@pytest.mark.parametrize("channels", [3, 4, 6])
def test_patches_are_copied_from_and_to_where_they_lie(channels):
    """Against a walk over every position of the kernel, of two columns in turn."""
    down, across = Axis(5, 3, 3, 2, 1), Axis(7, 6, 3, 1, 1)
    counts, expected = Counts(), {"memcpy": 0, "memset": 0}
    count_copies(counts, "dsp", PatchBuffer(channels, channels, 2), down, across)
    for pixel in range(down.out * across.out):
        y, x = divmod(pixel, across.out)
        for tap in range(9):
            at_y, at_x = down.at(y, tap // 3), across.at(x, tap % 3)
            target = (pixel % 2 * 9 + tap) * channels % 4
            if 0 <= at_y < 5 and 0 <= at_x < 7:
                source = (at_y * 7 + at_x) * channels % 4
                expected["memcpy"] += newlib.memcpy(channels, "dsp", source, target)
            else:
                expected["memset"] += newlib.memset(channels, target)
    assert {name: counts[name] for name in expected} == expected


def test_the_range_holds_what_recorded_inputs_took(recorded):
    rows, calls = recorded
    held = [
        call.low <= int(row["least"]) and int(row["most"]) <= call.high
        for row, call in zip(rows, calls)
    ]
    assert np.mean(held) > 0.97
    assert all(call.low <= call.instructions <= call.high for call in calls)


def test_every_function_is_recorded_and_estimated(recorded):
    rows, _ = recorded
    assert {row["function"] for row in rows} == set(COUNTERS)
    assert {row["core"] for row in rows} == set(PATHS)


def test_what_a_call_is_made_of_is_no_more_than_the_call(recorded):
    _, calls = recorded
    classes = [name for name in CLASSES if name != "branches taken"]  # those are counted twice
    for call in calls:
        assert sum(call.mix.get(name, 0) for name in classes) <= 1.05 * call.instructions + 20


def test_data_that_a_softmax_leaves_out_make_its_range_wide():
    row = {"num_rows": 1, "row_size": 100, "mult": 1 << 30, "shift": 23, "diff_min": -248}
    call = qemu_nn.estimate_call("arm_softmax_s8", row)
    assert call.low < 0.2 * call.instructions
    dense = qemu_nn.estimate_call("arm_relu_q7", {"size": 100}, cmsis="7.0.0")
    assert dense.high - dense.low < 0.3 * dense.instructions


def test_windows_are_counted_at_the_edges():
    assert Axis(size=5, out=5, kernel=3, stride=1, pad=1).inside() == [2, 3, 3, 3, 2]
    assert Axis(size=8, out=4, kernel=3, stride=2, pad=0).inside() == [3, 3, 3, 2]
    dilated = Axis(size=6, out=6, kernel=3, stride=1, pad=2, dilation=2)
    assert dilated.inside() == [2, 2, 3, 3, 2, 2]


def test_a_core_without_counts_borrows_those_of_one_that_has_its_instructions():
    m4, m7 = (qemu_nn.estimate_call("arm_relu_q7", {"size": 64}, target=c) for c in ("m4", "m7"))
    assert (m7.core, m7.counted_on, m7.instructions) == ("cortex-m7", "cortex-m4", m4.instructions)
    m3 = qemu_nn.estimate_call("arm_relu_q7", {"size": 64}, target="cortex-m3")
    assert m3.float_abi == "soft", "a Cortex-M3 has no other"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"function": "arm_relu_q9"}, "no instruction counts of 'arm_relu_q9'.*did you mean"),
        ({"target": "cortex-m0"}, "no instruction counts of cortex-m0; have: cortex-m3"),
        ({"cmsis": "6.0.0"}, "no instruction counts of CMSIS 6.0.0.*have: CMSIS 5.6.0"),
        ({"optimization": "-O1"}, "have: CMSIS 5.6.0 -O2 hard float"),
        ({"target": "m55", "float_abi": "soft"}, "soft float, on cortex-m55; have: CMSIS 7.0.0"),
        ({"function": "arm_softmax_s8", "cmsis": "5.9.0"}, "have: CMSIS 7.0.0 on cortex-m3, "),
        ({"function": "arm_convolve_even_s4", "target": "m3"}, "have: CMSIS 7.0.0 on cortex-m55$"),
        ({"params": {}}, "arm_relu_q7 lacks the argument 'size'"),
        ({"params": {"size": None}}, "arm_relu_q7 cannot have these arguments"),
        ({"params": {"size": -1}}, "arm_relu_q7 cannot have these arguments"),
    ],
)
def test_what_is_not_known_is_said(changes, sentence):
    arguments = {"function": "arm_relu_q7", "params": {"size": 64}, **changes}
    with pytest.raises(qemu_nn.Error, match=sentence):
        qemu_nn.estimate_call(**arguments)
