"""Random streams, compared with an interpreter of the rules in Python's integers."""

import numpy as np
import pytest
from ethosu_programs import run
from ethosu_streams import Draw

pytestmark = pytest.mark.caps

#: Streams of one test; the first streams of tests.
EACH = 50
FIRST = range(0, 1000, EACH)
LONG = [pytest.param(first, marks=pytest.mark.slow) for first in range(1000, 10000, EACH)]


@pytest.mark.parametrize("first", [*FIRST, *LONG])
def test_a_random_stream_leaves_the_bytes_of_its_rules(first):
    for seed in range(first, first + EACH):
        drawn = Draw(seed)
        got = run(drawn.program, drawn.memory, drawn.shifts)
        np.testing.assert_array_equal(got, drawn.wanted, f"seed {seed}")
