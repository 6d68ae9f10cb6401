"""Recorded device output = every row that claims the profile it was recorded with."""

import pytest
import recordings
from hosts import row_param

from qemu_nn import cmsis
from qemu_nn.errors import Refused, SizeMismatch
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.testing.rows import assert_same

pytestmark = pytest.mark.caps


def rows_by_function():
    for function in recordings.FUNCTIONS:
        declared = FUNCTIONS[function]
        for row in kernels.list_rows(declared.op, declared.type):
            yield row_param(function, row=row, id=f"{function}-{row}")


def copied(inputs):
    return {name: value.copy() for name, value in inputs.items()}


@pytest.mark.rows
@pytest.mark.parametrize(("function", "row"), list(rows_by_function()))
def test_every_row_gives_the_recorded_bits(function, row):
    for r in recordings.load(function):
        if r.output is None or not row.claims(r.profile):
            continue
        struct = kernels.make_params(row.op, r.profile, FUNCTIONS[function].struct_values(r.params))
        if not row.takes(struct):
            continue
        inputs = copied(r.inputs)
        got = getattr(cmsis, function)(
            **inputs, **r.params, **r.profile_arguments, variant=row.variant
        )
        where = f"{row}: {function} {r.case} {r.variant}"
        assert got.shape == r.output.shape, where
        assert got.dtype == r.output.dtype, where
        assert_same(got, r.output, where)
        for name, value in inputs.items():
            assert_same(value, r.inputs[name], f"{where}: {name} was modified")


@pytest.mark.parametrize("function", recordings.FUNCTIONS)
def test_every_recorded_profile_is_claimed_by_exactly_one_plain_row(function):
    declared = FUNCTIONS[function]
    rows = kernels.list_rows(declared.op, declared.type)
    for r in recordings.load(function):
        if r.output is not None:
            plain = [row for row in rows if row.kind == "plain" and row.claims(r.profile)]
            assert len(plain) == 1, f"{function} {r.profile}: {[str(row) for row in plain]}"


@pytest.mark.parametrize("function", ["arm_maxpool_q7_HWC", "arm_avepool_q7_HWC"])
def test_in_place_leaves_the_input_as_the_device_leaves_it(function):
    seen = 0
    for r in recordings.load(function):
        inputs = copied(r.inputs)
        getattr(cmsis, function)(**inputs, **r.params, **r.profile_arguments, in_place=True)
        expected = r.inputs["Im_in"] if r.input_after is None else r.input_after
        seen += r.input_after is not None
        assert_same(inputs["Im_in"], expected, function, r.case, r.variant)
    assert seen > 0


@pytest.mark.parametrize(
    "function", [name for name in recordings.FUNCTIONS if FUNCTIONS[name].in_place]
)
def test_in_place_writes_the_result_over_the_input(function):
    name = FUNCTIONS[function].output.name
    for r in recordings.load(function):
        inputs = copied(r.inputs)
        got = getattr(cmsis, function)(**inputs, **r.params, **r.profile_arguments, in_place=True)
        assert got is inputs[name]
        assert_same(inputs[name], r.output, function, r.case, r.variant)


@pytest.mark.parametrize("function", recordings.FUNCTIONS)
def test_what_the_device_does_not_compute_is_an_error(function):
    for r in recordings.load(function):
        if r.output is not None:
            continue
        expected = SizeMismatch if r.status == -3 else Refused
        with pytest.raises(expected):
            getattr(cmsis, function)(**r.inputs, **r.params, **r.profile_arguments)
