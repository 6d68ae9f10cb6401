"""Recorded output of the s8 and s16 API without weights = every row that claims the profile."""

import json
from pathlib import Path

import numpy as np
import pytest
from hosts import row_param

from qemu_nn import cmsis, kernels
from qemu_nn.layers import FUNCTIONS
from qemu_nn.targets import all_profiles

FOLDER = Path(__file__).parent / "golden" / "cmsis_s8"
FAMILIES = ("elementwise_add", "elementwise_mul", "softmax")

#: Path of a profile -> outputs that were recorded on such a core alone.
OWN = {"dsp": "executed_m4", "mve": "executed_m55_vector_softmax"}

#: Recorded in front of the library, which reads and writes the same array.
RENAMED = {"arm_relu_q7": "data", "arm_relu_q15": "data", "arm_relu6_s8": "data"}


def recordings(family):
    """Every case: its id, its functions, its arguments, its outputs by their names."""
    with np.load(FOLDER / f"{family}.npz") as arrays:
        stored = dict(arrays)
    for case in json.loads(str(stored["manifest"]))["cases"]:
        inputs = {name: stored[key] for name, key in case["inputs"].items()}
        outputs = {name: stored[key] for name, key in case["outputs"].items()}
        assert case.get("single_rounding_same", False) != ("expected_single_rounding" in outputs)
        yield case["id"], case["functions"], {**inputs, **case["params"]}, outputs


def expected(outputs, profile):
    """What the device of a profile has given."""
    own = OWN.get(profile.path, "")
    single = "expected_single_rounding" if profile.rounding == "single" else ""
    return outputs.get(own, outputs.get(single, outputs["expected"]))


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
        for profile in (p for p in all_profiles() if row.claims(p)):
            params = {n: arguments[n] for n in function.params if n in arguments}
            struct = kernels.make_params(
                row.op, profile, function.struct_values({**params, **told(function, arguments)})
            )
            if not row.takes(struct):
                continue
            got = cmsis.invoke(function, arguments, profile, row.variant)
            want = expected(outputs, profile)
            np.testing.assert_array_equal(got, want, f"{row}: {case} {profile}")
            seen += 1
    assert seen > 0


def told(function, arguments):
    return cmsis._told_by_shapes(function, arguments)
