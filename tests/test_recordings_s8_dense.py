"""Recorded output of dense and recurrent layers of the s8 API = every row that claims it."""

import json
from pathlib import Path

import numpy as np
import pytest
from hosts import row_param

from qemu_nn import cmsis, kernels
from qemu_nn.layers import FUNCTIONS
from qemu_nn.targets import all_profiles, profile

FOLDER = Path(__file__).parent / "golden" / "cmsis_s8"
FAMILIES = (
    *("fully_connected_s8", "fully_connected_s16", "fully_connected_s4"),
    *("batch_matmul", "svdf", "lstm"),
)

#: Names of the recordings -> those of the functions; of a state that is read and written.
RENAMED = {"filter_oc": "output_c", "filter_depth": "input_c"}
STATES = ("state", "cell_state", "hidden_state")


def stored(family):
    """The cases of a family, and its arrays."""
    with np.load(FOLDER / f"{family}.npz") as arrays:
        return json.loads(str(arrays["manifest"]))["cases"], dict(arrays)


def recordings(family):
    """Every case: its id, its functions, its arguments, its outputs by their names."""
    cases, arrays = stored(family)
    for case in cases:
        given = {name: arrays[key] for name, key in case["inputs"].items() if key is not None}
        given.update(case["params"])
        outputs = {name: arrays[key] for name, key in case["outputs"].items()}
        assert case.get("single_rounding_same", False) != ("expected_single_rounding" in outputs)
        yield case["id"], case["functions"], arguments_of(given, outputs), outputs


def arguments_of(given, outputs):
    """The function's own arguments, from recorded ones."""
    given = {RENAMED.get(name, name): value for name, value in given.items()}
    for name in STATES:
        if f"{name}_out" in outputs:  # one that is not read starts as anything
            anything = np.full_like(outputs[f"{name}_out"], 77)
            given[name] = given.pop(f"{name}_in", anything)
    if "weights_feature" in given:
        given["units"] = len(given["weights_feature"]) // given["rank"]
    plain = ("forget_bias", "input_gate_bias", "cell_bias", "output_gate_bias")  # in the effective
    return {name: value for name, value in given.items() if name not in plain}


def rows():
    for family in FAMILIES:
        for name in sorted({n for _, functions, *_ in recordings(family) for n in functions}):
            for row in kernels.rows_of(FUNCTIONS[name].op, FUNCTIONS[name].type):
                yield row_param(family, name, row=row, id=f"{name}-{row}")


@pytest.mark.parametrize(("family", "name", "row"), list(rows()))
def test_every_row_gives_the_recorded_bits(family, name, row):
    function, seen = FUNCTIONS[name], 0
    for case, functions, arguments, outputs in recordings(family):
        if name not in functions:
            continue
        told = {**cmsis._told_by_shapes(function, arguments), **arguments}
        params = {n: told[n] for n in function.params}
        for device in (p for p in all_profiles() if row.claims(p)):
            struct = kernels.make_params(row.op, device, function.struct_values(params))
            if not row.takes(struct):
                continue
            states = {n: arguments[n].copy() for n in STATES if n in arguments}
            own = {**arguments, **states}
            got = cmsis.invoke(function, own, device, row.variant, in_place=bool(states))
            single = device.rounding == "single" and "expected_single_rounding" in outputs
            want = outputs["expected_single_rounding" if single else "expected"]
            np.testing.assert_array_equal(got, want, f"{row}: {case} {device}")
            for state, value in states.items() if device.rounding == "double" else ():
                want = outputs[f"{state}_out"]  # recorded of that rounding alone
                np.testing.assert_array_equal(value, want, f"{row}: {case} {device} {state}")
            seen += 1
    assert seen > 0


def test_states_are_left_alone_unless_wanted():
    for family in ("svdf", "lstm"):
        for case, (name, *_), arguments, outputs in recordings(family):
            before = {n: arguments[n].copy() for n in STATES if n in arguments}
            got = cmsis.invoke(FUNCTIONS[name], arguments, profile(cmsis="7.0.0"))
            np.testing.assert_array_equal(got, outputs["expected"], case)
            for state, value in before.items():
                np.testing.assert_array_equal(arguments[state], value, f"{case} {state}")


# ---- the layers of a network, one after the other ----


def layer_arguments(case, arrays, x):
    """A call of the keyword network on its own input or on another."""
    given = {name: arrays[key] for name, key in case["inputs"].items()}
    given["input"] = x.reshape(case["shapes"]["input"])
    out = case["shapes"]["output"]
    if len(out) == 4:
        given.update(output_h=out[1], output_w=out[2])
    return {**given, **case["params"]}


def runs(device):
    """Each case of the network with the name of its recorded output, and what it gives here."""
    cases, arrays = stored("network_ds_cnn_s")
    x = arrays[cases[0]["inputs"]["input"]]
    for case in cases:
        (name,) = case["functions"]
        x = cmsis.invoke(FUNCTIONS[name], layer_arguments(case, arrays, x), device)
        yield case, arrays, x


@pytest.mark.parametrize("path", ["m0", "scalar", "mve", "dsp"])
def test_the_keyword_network_gives_the_recorded_bits_layer_by_layer(path):
    for case, arrays, x in runs(profile(path, "7.0.0", "double")):
        want = arrays[case["outputs"]["expected"]]
        np.testing.assert_array_equal(x.reshape(want.shape), want, case["id"])


def test_the_keyword_network_in_single_rounding_gives_the_recorded_bits():
    for case, arrays, x in runs(profile("dsp", "7.0.0", "single")):
        names = case["outputs"]
        own = names.get("chained_single_rounding") or names["expected_single_rounding"]
        np.testing.assert_array_equal(x.reshape(arrays[own].shape), arrays[own], case["id"])
