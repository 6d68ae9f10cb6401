"""Recorded output of the s8 and s16 API = every row that claims the recording's profile."""

import pytest
import recordings_s8
from hosts import row_param

from qemu_nn import cmsis
from qemu_nn.errors import Refused, SizeMismatch
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles
from qemu_nn.testing.rows import assert_same

pytestmark = [pytest.mark.caps, pytest.mark.rows]

FAMILIES = (
    *("convolve_s8", "convolve_s16", "convolve_s4", "transpose_conv_s8"),
    *("depthwise_s8", "depthwise_s16", "depthwise_s4", "quirks", "avgpool", "maxpool"),
)


#: Recordings in which the device reads outside its arrays: case -> path of its core.
UNDEFINED = {"x_conv_s16_bigK_0": "dsp"}


def rows():
    for family in FAMILIES:
        cases = recordings_s8.load(family)
        for name in sorted({name for recording in cases for name in recording.functions}):
            for row in kernels.list_rows(FUNCTIONS[name].op, FUNCTIONS[name].type):
                yield row_param(family, name, row=row, id=f"{family}-{name}-{row}")


def takes(row, function, arguments, profile):
    """True if the row computes this call. A call that the contract refuses continues, and fails
    later.
    """
    told = {**cmsis._infer_from_shapes(function, arguments), **arguments}
    values = function.struct_values({name: told[name] for name in function.params})
    return row.takes(kernels.make_params(row.op, profile, values))


def error_of(recording, profile, arguments):
    """Return the exception that replaces the device's behaviour if it gives no bits."""
    if profile.cmsis == "5.9.0" and len(arguments["input"]) > 1:
        return Refused  # recorded of 7.0.0; 5.9.0 computes the only the first image of a batch
    if UNDEFINED.get(recording.case) == profile.path:
        return Refused
    status = recording.expected(profile)
    return {SizeMismatch.status: SizeMismatch}[status] if isinstance(status, int) else None


@pytest.mark.parametrize(("family", "name", "row"), list(rows()))
def test_every_row_gives_the_recorded_bits(family, name, row):
    function, compared, left = FUNCTIONS[name], 0, 0
    for recording in recordings_s8.load(family):
        if name not in recording.functions:
            continue
        arguments = recording.arguments(function)
        for profile in (p for p in all_profiles() if row.claims(p)):
            expected = recording.expected(profile)
            error = error_of(recording, profile, arguments)
            if error is not None:
                with pytest.raises(error):
                    cmsis.invoke(function, arguments, profile, row.variant)
            elif expected is not None and not takes(row, function, arguments, profile):
                left += 1
            elif expected is not None:
                got = cmsis.invoke(function, arguments, profile, row.variant)
                message = f"{row}: {recording.case} {profile}"
                assert_same(got, expected.reshape(got.shape), message)
                compared += 1
    assert compared > 0 or left > 0, "quirks may all be left to the plain row"
