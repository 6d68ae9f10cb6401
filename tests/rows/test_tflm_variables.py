"""Variables and branches: what moves, and what does not."""

import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.functions import tflm_control

TYPES = tuple(tflm_control.DTYPES)


def numbers(type, seed):
    dtype = tflm_control.DTYPES[type]
    values = np.random.default_rng(seed).integers(0, 2 if type == "b8" else 127, 300)
    return values.astype(dtype)


@pytest.mark.oracle("tflm_read_variable_{type}", "tflm_assign_variable_{type}")
@pytest.mark.parametrize("type", TYPES)
def test_a_variable_is_read_and_assigned(type):
    old, new = numbers(type, 1), numbers(type, 2)
    read = getattr(cmsis, f"tflm_read_variable_{type}")
    assign = getattr(cmsis, f"tflm_assign_variable_{type}")
    variable = old.copy()
    np.testing.assert_array_equal(read(variable=variable, length=300), old)
    np.testing.assert_array_equal(
        assign(variable=variable, input=new, length=300, in_place=True), new
    )
    np.testing.assert_array_equal(variable, new)


@pytest.mark.oracle("tflm_choose_{type}")
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("holds", [True, False])
def test_one_of_two_is_chosen(type, holds):
    choose = getattr(cmsis, f"tflm_choose_{type}")
    first, second = numbers(type, 3), numbers(type, 4)
    found = choose(condition=np.array([holds]), input=first, otherwise=second, length=300)
    np.testing.assert_array_equal(found, first if holds else second)
