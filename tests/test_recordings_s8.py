"""Recorded output of the s8 and s16 API = every row that claims the recording's profile."""

import json
from pathlib import Path

import numpy as np
import pytest
from hosts import row_param

from qemu_nn import cmsis, kernels
from qemu_nn.layers import FUNCTIONS
from qemu_nn.targets import all_profiles

FOLDER = Path(__file__).parent / "golden" / "cmsis_s8"
DIMENSIONS = ("h", "w")


def recordings(family):
    """Function, arguments and expected output of every case; the bits are those of all cores."""
    with np.load(FOLDER / f"{family}.npz") as arrays:
        stored = dict(arrays)
    for case in json.loads(str(stored["manifest"]))["cases"]:
        x = stored[case["inputs"]["input"]]
        expected = stored[case["outputs"]["expected"]]
        params = {"batches": x.shape[0], "channels": x.shape[3], **case["params"]}
        for name, shape in (("input", x.shape), ("output", expected.shape)):
            params.update({f"{name}_{axis}": shape[i + 1] for i, axis in enumerate(DIMENSIONS)})
        assert case["single_rounding_same"]
        for function in case["functions"]:
            yield case["id"], function, {"input": x, **params}, expected


def rows():
    for family in ("avgpool", "maxpool"):
        for name in sorted({function for _, function, *_ in recordings(family)}):
            for row in kernels.rows_of(FUNCTIONS[name].op, FUNCTIONS[name].type):
                yield row_param(family, name, row=row, id=f"{name}-{row}")


@pytest.mark.parametrize(("family", "name", "row"), list(rows()))
def test_every_row_gives_the_recorded_bits(family, name, row):
    seen = 0
    for case, function, arguments, expected in recordings(family):
        if function != name:
            continue
        for profile in (p for p in all_profiles() if row.claims(p)):
            got = cmsis.invoke(FUNCTIONS[name], arguments, profile, row.variant)
            np.testing.assert_array_equal(got, expected, f"{row}: {case} {profile}")
            seen += 1
    assert seen > 0
