"""Arrays compared bit for bit, and calls drawn at random: what sweeps do thousands of times."""

from random import Random

import numpy as np
from hypothesis import strategies as st

#: Draws whatever is asked of it; one of hypothesis would make a failing call small, and takes as
#: long as the calls.
DRAWN = st.integers(0, 2**32 - 1).map(Random)


def assert_same(got, want, *where):
    """Compare the bytes; numpy, which takes twenty times as long, says what differs."""
    if got.dtype != want.dtype or got.shape != want.shape or got.tobytes() != want.tobytes():
        np.testing.assert_array_equal(got, want, ", ".join(map(str, where)))


def draws(count, first=0):
    """So many generators, each with the number of its seed before what a failing test prints.

    Hypothesis, which does more, takes as long for that as a call takes.
    """
    for seed in range(first, first + count):
        print(f"Random({seed}):")
        yield Random(seed)
