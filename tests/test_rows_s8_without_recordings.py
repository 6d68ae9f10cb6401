"""Rows of the s8 and s16 API that no recording covers = their meaning in numpy."""

import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions.shapes import DTYPES


def numbers(type, shape):
    """Any bytes, as elements of a type."""
    size = int(np.prod(shape)) * np.dtype(DTYPES[type]).itemsize
    return np.frombuffer(np.random.default_rng(1).bytes(size), DTYPES[type]).reshape(shape)


@pytest.mark.parametrize("type", DTYPES)
def test_a_constant_is_what_it_is(type):
    values = numbers(type, 7)
    assert getattr(cmsis, f"tflm_constant_{type}")(values=values).tobytes() == values.tobytes()


@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("kept", range(16))
def test_a_tensor_broadcasts_along_axes_of_one_element(type, kept):
    whole = {"n": 3, "h": 2, "w": 5, "c": 4}
    sides = [n if kept >> i & 1 else 1 for i, n in enumerate(whole.values())]
    values = numbers(type, sides)
    output = {f"output_{axis}": side for axis, side in whole.items()}
    got = getattr(cmsis, f"tflm_broadcast_{type}")(input=values, **output)
    assert got.tobytes() == np.broadcast_to(values, tuple(whole.values())).tobytes()


def test_other_sides_do_not_broadcast():
    with pytest.raises(Refused, match="input_h must be 1 or 3, as the output's, is 2"):
        cmsis.tflm_broadcast_s8(
            input=numbers("s8", (1, 2, 1, 1)), output_n=1, output_h=3, output_w=1, output_c=1
        )
