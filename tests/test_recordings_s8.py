"""Recorded output of the s8 and s16 API = every row that claims the recording's profile."""

import numpy as np
import pytest
import recordings_s8
from hosts import row_param

from qemu_nn import cmsis, kernels
from qemu_nn.errors import SizeMismatch
from qemu_nn.layers import FUNCTIONS
from qemu_nn.targets import all_profiles

FAMILIES = ("avgpool", "maxpool")


def rows():
    for family in FAMILIES:
        cases = recordings_s8.load(family)
        for name in sorted({name for recording in cases for name in recording.functions}):
            for row in kernels.rows_of(FUNCTIONS[name].op, FUNCTIONS[name].type):
                yield row_param(family, name, row=row, id=f"{family}-{name}-{row}")


def takes(row, function, arguments, profile):
    """Does the row compute this call? One that the contract refuses goes on, and fails there."""
    told = {**cmsis._told_by_shapes(function, arguments), **arguments}
    values = function.struct_values({name: told[name] for name in function.params})
    return row.takes(kernels.make_params(row.op, profile, values))


@pytest.mark.parametrize(("family", "name", "row"), list(rows()))
def test_every_row_gives_the_recorded_bits(family, name, row):
    function, compared = FUNCTIONS[name], 0
    for recording in recordings_s8.load(family):
        if name not in recording.functions:
            continue
        arguments = recording.arguments(function)
        for profile in (p for p in all_profiles() if row.claims(p)):
            expected = recording.expected(profile)
            if isinstance(expected, int):
                assert expected == SizeMismatch.status
                with pytest.raises(SizeMismatch):
                    cmsis.invoke(function, arguments, profile, row.variant)
            elif expected is not None and takes(row, function, arguments, profile):
                got = cmsis.invoke(function, arguments, profile, row.variant)
                message = f"{row}: {recording.case} {profile}"
                np.testing.assert_array_equal(got, expected.reshape(got.shape), message)
                compared += 1
    assert compared > 0
