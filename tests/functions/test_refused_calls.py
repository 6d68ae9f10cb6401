"""Calls that Arm's kernels refuse or fault in, and calls that they compute, as recorded.

tests/golden/calls holds some of them; ../shared has all, with their counts of instructions.
"""

import csv
import gzip
import json
import warnings

import numpy as np
import pytest
from paths import GOLDEN, SHARED

from qemu_nn import cmsis
from qemu_nn.errors import DeviceWarning, Error, Refused, SizeMismatch
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile

OWN = GOLDEN / "calls"
CYCLES = SHARED / "spec" / "cycles"
needed = pytest.mark.skipif(not CYCLES.is_dir(), reason=f"{CYCLES} is missing")

#: Arguments that the recordings omit, next to a case of the function; no status depends on them.
USUAL = {"multiplier": 2**30, "shift": -5, "adj_x": 0, "adj_y": 0, "bias_shift": 1, "out_shift": 7}


def read(path):
    """Return the recorded calls, each once."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["function"] in FUNCTIONS]
    return {(r["core"], r["release"], r["function"], r["params"]): r for r in rows}.values()


def arguments_of(row):
    """Return all scalar arguments of a recorded call."""
    function, recorded = FUNCTIONS[row["function"]], json.loads(row["params"])
    given = {**dict(*function.cases[:1]), **USUAL, **recorded}
    given.update(has_bias=recorded.get("bias", 1))
    return {name: given[name] for name in function.params}


def checked(row):
    """Return the contract's answer: None, or the exception."""
    function, device = FUNCTIONS[row["function"]], profile(row["core"], row["release"])
    first = kernels.list_rows(function.op, function.type)[0]
    values = function.struct_values(function.parse_params(arguments_of(row)))
    try:
        kernels.check(first, kernels.make_params(first.op, device, values))
    except Error as error:
        return error
    return None


def called(row):
    """Run the call on zeros."""
    function, params = FUNCTIONS[row["function"]], arguments_of(row)
    arrays = {a.name: np.zeros(a.shape(params), a.dtype_in(params)) for a in function.arrays}
    names = [name for name in params if not name.startswith("has_")]
    told = {name: params[name] for name in names}
    own = {"target": row["core"], "cmsis": row["release"]}
    return getattr(cmsis, function.name)(**told, **arrays, **own)


def answer(row):
    """Return the expected counterpart of the recorded result: an exception, a warning, or None."""
    if "q7_to_q15" in row["function"]:
        # Illegal: it was given memory of halfwords at an address that is no multiple of 4. Arrays
        # have no address here, and in firmware Arm's library declares and aligns them.
        assert row["alignment"].endswith(",2")
        return None
    return {"status -3": SizeMismatch, "status -2": Refused, "fault": DeviceWarning}[row["result"]]


def hold_refused(rows):
    for row in rows:
        expected = answer(row)
        if expected is DeviceWarning:
            with pytest.warns(DeviceWarning, match="ends in a hard fault"):
                called(row)
        elif expected is not None:
            with pytest.raises(expected, match=r"\(-2\)|-3"):
                called(row)
        else:
            assert checked(row) is None


def test_some_calls_that_the_device_refuses_are_refused():
    rows = read(OWN / "refused.csv")
    assert {row["result"] for row in rows} == {"status -2", "status -3", "fault"}
    hold_refused(rows)


@needed
def test_all_calls_that_the_device_refuses_are_refused():
    rows = read(CYCLES / "refused.csv")
    assert len(rows) == 138
    hold_refused(rows)


#: Calls that ran on the device, and yet have no bits: function -> our reason.
WITHOUT_BITS = {
    "arm_depthwise_conv_3x3_s8": "samples must be 1 here, as the function does not look at them",
    "arm_depthwise_conv_s8_opt": "samples must be 1 here, as the function does not look at them",
    "arm_depthwise_conv_s4_opt": "samples must be 1 here, as the function does not look at them",
    "arm_transpose_conv_s8": "leaves the last ones unwritten|the device puts out",
    "arm_transpose_conv_wrapper_s8": "leaves the last ones unwritten|the device puts out",
    "arm_transpose_s8": "this core exchanges the last two axes",
    "arm_convolve_1_x_n_s8": "reads beside its input on this core",
    "arm_convolve_HWC_q15_fast_nonsquare": "the device would write pixels to wrong places",
    "arm_maxpool_q7_HWC": "would write after them",
}


def hold_accepted(rows):
    for row in rows:
        error = checked(row)
        if error is not None:
            assert row["function"] in WITHOUT_BITS, f"{row['function']} {row['params']}: {error}"
            with pytest.raises(Refused, match=WITHOUT_BITS[row["function"]]):
                raise error


def test_some_calls_that_the_device_computes_are_accepted():
    rows = read(OWN / "computed.csv")
    assert len({row["function"] for row in rows}) > 90
    hold_accepted(rows)
    assert sum(checked(row) is not None for row in rows) < len(rows) / 20


@needed
def test_calls_that_the_device_computes_are_accepted():
    rows = list(read(CYCLES / "counts.csv.gz"))[::7]
    assert len(rows) > 1500
    hold_accepted(rows)


def test_a_call_that_runs_on_the_device_does_not_warn():
    rows = [
        r for r in read(OWN / "computed.csv") if r["function"].startswith("arm_convolve_HWC_q7")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeviceWarning)
        for row in rows:
            called(row)
    assert rows
