"""A pytest plugin for firmware repositories: goldens of a model, compared with dumps.

It is active wherever the package is installed, and imports the rest of it with the first use;
`-p no:qemu_nn` leaves it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Union

import pytest

if TYPE_CHECKING:
    import numpy as np

    from .firmware.golden import GoldenSet


@pytest.fixture
def golden(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., GoldenSet]:
    """Give a function golden(model, inputs, **device) that writes a golden set for this test.

    model: a quantized network or its file. inputs: integers of shape (N, *input shape), or a .npy
    or .npz file (array x) of these. device: options of qemu_nn.api.golden.golden(), such as
    target="cortex-m55". The result knows its `folder`.
    """

    def write(model: Any, inputs: Any, **device: Any) -> GoldenSet:
        from .api import golden as api
        from .io.arrays import read_array

        x = read_array(inputs, "x") if isinstance(inputs, (str, Path)) else inputs
        return api.golden(model, x, tmp_path_factory.mktemp("golden") / "set", **device)

    return write


@pytest.fixture(name="assert_same")
def _assert_same() -> Callable[..., None]:
    """Give assert_same(dump, golden), so that tests need not import it."""
    return assert_same


def assert_same(
    dump: Union[str, Path, Mapping[str, np.ndarray]], golden: Union[str, Path, GoldenSet]
) -> None:
    """Fail the test where a device's dump differs from a golden set, with `compare`'s diagnosis.

    Parameters
    ----------
    dump : str or Path or mapping of str to ndarray
        A folder of dumps, as `qemu-nn compare` takes it, or arrays by names of goldens, such as
        "x0/conv1".
    golden : str or Path or GoldenSet
        The folder of a golden set, or what the fixture golden() has given.

    Raises
    ------
    AssertionError
        As pytest.fail() raises it: the first element that differs in each layer, and why.
    Error
        The golden set is damaged, or nothing in the dump has the name of a golden.
    """
    __tracebackhide__ = True
    from .analysis.compare import compare, compare_arrays

    folder = Path(golden) if isinstance(golden, (str, Path)) else golden.folder
    if isinstance(dump, Mapping):
        comparison = compare_arrays(folder, dump)
    else:
        comparison = compare(folder, Path(dump))
    if not comparison.same:
        pytest.fail(f"the dump differs from {folder}\n{comparison}", pytrace=False)
