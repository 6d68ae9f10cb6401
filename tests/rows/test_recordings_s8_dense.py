"""Recorded output of dense and recurrent layers of the s8 API = every row that claims it."""

import json

import numpy as np
import pytest
import recordings_s8 as recordings
from hosts import leaves_calls, row_param

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles, profile
from qemu_nn.testing.rows import assert_same

pytestmark = pytest.mark.caps

FAMILIES = (
    *("fully_connected_s8", "fully_connected_s16", "fully_connected_s4"),
    *("batch_matmul", "svdf", "lstm"),
)


def states_of(recording):
    """Return a call's state before the call; arbitrary values if the call does not read it."""
    kept = [name[: -len("_out")] for name in recording.outputs if name.endswith("_state_out")]
    kept += ["state"] if "state_out" in recording.outputs else []
    anything = {name: np.full_like(recording.outputs[f"{name}_out"], 77) for name in kept}
    return {name: recording.arrays.get(f"{name}_in", value) for name, value in anything.items()}


def arguments_of(recording, function):
    """Return the function's own arguments; arrays in fresh memory if the call writes to them."""
    given = recording.arguments(function)
    if "weights_feature" in given:
        given["units"] = len(given["weights_feature"]) // given["rank"]
    return {**given, **{name: value.copy() for name, value in states_of(recording).items()}}


def rows():
    for family in FAMILIES:
        names = {name for recording in recordings.load(family) for name in recording.functions}
        for name in sorted(names):
            for row in kernels.list_rows(FUNCTIONS[name].op, FUNCTIONS[name].type):
                yield row_param(family, name, row=row, id=f"{name}-{row}")


def takes(row, function, arguments, device):
    told = {**function.defaults, **cmsis._infer_from_shapes(function, arguments), **arguments}
    values = function.struct_values({name: told[name] for name in function.params})
    return row.takes(kernels.make_params(row.op, device, values))


@pytest.mark.parametrize(("family", "name", "row"), list(rows()))
def test_every_row_gives_the_recorded_bits(family, name, row):
    function, seen = FUNCTIONS[name], 0
    for recording in (each for each in recordings.load(family) if name in each.functions):
        for device in (p for p in all_profiles() if row.claims(p)):
            given = arguments_of(recording, function)
            kept = list(states_of(recording))
            if "hidden_state" in kept and device.cmsis == "7.0.0":
                with pytest.raises(Refused, match=r"7\.0\.0 takes no hidden state"):
                    cmsis.invoke(function, given, device)
                continue
            if not takes(row, function, given, device):
                continue
            got = cmsis.invoke(function, given, device, row.variant, in_place=bool(kept))
            where = f"{row}: {recording.case} {device}"
            assert_same(got, recording.expected(device), where)
            for state in kept if device.rounding == "double" else ():  # recorded of that alone
                want = recording.outputs[f"{state}_out"]
                assert_same(given[state], want, f"{where} {state}")
            seen += 1
    assert seen > 0 or leaves_calls(row)


@pytest.mark.parametrize("family", ["svdf", "lstm"])
def test_states_are_left_alone_unless_wanted(family):
    for recording in recordings.load(family):
        function = FUNCTIONS[recording.functions[0]]
        given, device = arguments_of(recording, function), profile(cmsis="main-2026-07")
        got = cmsis.invoke(function, given, device)
        assert_same(got, recording.expected(device), recording.case)
        for state, value in states_of(recording).items():
            assert_same(given[state], value, f"{recording.case} {state}")


# ---- the layers of a network, one after the other ----


def layers():
    """Yield every layer's case and the arrays of all."""
    with np.load(recordings.FOLDER / "network_ds_cnn_s.npz") as arrays:
        return json.loads(str(arrays["manifest"]))["cases"], dict(arrays)


def layer_arguments(case, arrays, x):
    """Run a call of the keyword network on the output of the layer before."""
    given = {name: arrays[key] for name, key in case["inputs"].items()}
    given["input"] = x.reshape(case["shapes"]["input"])
    out = case["shapes"]["output"]
    if len(out) == 4:
        given.update(output_h=out[1], output_w=out[2])
    return {**given, **case["params"]}


@pytest.mark.parametrize("rounding", ["double", "single"])
@pytest.mark.parametrize("path", ["m0", "scalar", "mve", "dsp"])
def test_the_keyword_network_gives_the_recorded_bits_layer_by_layer(path, rounding):
    cases, arrays = layers()
    chained = ("chained_single_rounding", "expected_single_rounding")  # the latter of the first
    names = {"double": ("expected",), "single": chained}[rounding]
    x = arrays[cases[0]["inputs"]["input"]]
    for case in cases:
        given = layer_arguments(case, arrays, x)
        x = cmsis.invoke(FUNCTIONS[case["functions"][0]], given, profile(path, "7.0.0", rounding))
        key = next(case["outputs"][name] for name in names if name in case["outputs"])
        assert_same(x.reshape(arrays[key].shape), arrays[key], case["id"])
