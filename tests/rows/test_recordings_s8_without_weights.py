"""Recorded output of the s8 and s16 API without weights = every row that claims the profile."""

import json

import numpy as np
import pytest
from hosts import row_param
from paths import GOLDEN

from qemu_nn import cmsis
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles, is_affine
from qemu_nn.testing.rows import assert_same

pytestmark = [pytest.mark.caps, pytest.mark.rows]

FOLDER = GOLDEN / "cmsis_s8"
FAMILIES = (
    *("elementwise_add", "elementwise_mul", "minmax_s8", "softmax", "activation"),
    *("concatenation_s8", "pad_s8", "reshape_s8", "transpose_s8", "primitives"),
)

#: Path of a profile -> outputs that were recorded on such a core alone.
OWN = {"dsp": "executed_m4", "mve": "executed_m55_vector_softmax"}


def arguments_of(name, given, shape):
    """Return the function's own arguments, from recorded ones and the output's shape."""
    if name.startswith("arm_relu"):
        return {"data": given["input"]}
    if "output_before" in given:
        given["output"] = given.pop("output_before")
    if name != "arm_transpose_s8":
        return given
    perm = given.pop("perm").tolist()
    perm += range(len(perm), 4)
    sides = {"input": given["input"].shape, "output": shape}
    for side, lengths in sides.items():
        given.update({f"{side}_{a}": n for a, n in zip("nhwc", (*lengths, 1, 1, 1))})
    return {**given, **{f"perm_{i}": axis for i, axis in enumerate(perm)}}


def recordings(family):
    """Yield every case: its id, its functions, its arguments, its outputs by their names."""
    with np.load(FOLDER / f"{family}.npz") as arrays:
        stored = dict(arrays)
    for case in json.loads(str(stored["manifest"]))["cases"]:
        inputs = {name: stored[key] for name, key in case["inputs"].items()}
        outputs = {name: stored[key] for name, key in case["outputs"].items()}
        assert case.get("single_rounding_same", False) != ("expected_single_rounding" in outputs)
        yield case["id"], case["functions"], {**inputs, **case["params"]}, outputs


#: The recordings are of Arm's main branch; here 7.0.0 loses the highest bit.
ONLY_31_BITS = ("arm_nn_requantize", "7.0.0", "single")


def expected(outputs, profile):
    """Return the recorded output of the device of a profile."""
    own = OWN.get(profile.path, "")
    single = "expected_single_rounding" if profile.rounding == "single" else ""
    return outputs.get(own, outputs.get(single, outputs["expected"]))


def rows():
    for family in FAMILIES:
        for name in sorted({n for _, functions, *_ in recordings(family) for n in functions}):
            for row in kernels.list_rows(FUNCTIONS[name].op, FUNCTIONS[name].type):
                yield row_param(family, name, row=row, id=f"{name}-{row}")


@pytest.mark.parametrize(("family", "name", "row"), list(rows()))
def test_every_row_gives_the_recorded_bits(family, name, row):
    function, seen = FUNCTIONS[name], 0
    for case, functions, given, outputs in recordings(family):
        if name not in functions:
            continue
        arguments = arguments_of(name, given, outputs["expected"].shape)
        told = {**cmsis._infer_from_shapes(function, arguments), **arguments}
        params = {n: told[n] for n in function.params}
        for profile in (p for p in all_profiles() if row.claims(p) and is_affine(p.cmsis)):
            struct = kernels.make_params(row.op, profile, function.struct_values(params))
            if row.takes(struct):
                got = cmsis.invoke(function, arguments, profile, row.variant)
                want = expected(outputs, profile).reshape(got.shape)
                if (name, profile.cmsis, profile.rounding) == ONLY_31_BITS:
                    want = want << 1 >> 1
                assert_same(got, want, f"{row}: {case} {profile}")
                seen += 1
    assert seen > 0
