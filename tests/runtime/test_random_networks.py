"""Plans of whole random networks have the bits of plain rows, traced or not, in any batch."""

from random import randrange

import pytest

from qemu_nn.testing.networks import FAMILIES, compare_network

pytestmark = pytest.mark.caps


def compare(family, seeds):
    for seed in seeds:
        print(f"compare_network({family!r}, {seed})")
        compare_network(family, seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_plans_have_the_bits_of_plain_rows(family):
    compare(family, range(100 if family == "s8" else 50))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_more_plans_have_the_bits_of_plain_rows(family):
    first = randrange(2**31)
    compare(family, range(first, first + 2000))
