"""Number of threads of numpy's matrix products."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any, Optional

from ..ir.float_graph import FloatGraph
from ..operators import Conv, Dense

#: Multiply-accumulates of a layer, for a batch, from which threads gain: about 10 ms of one core.
_LARGE = 1 << 27

#: Names of OpenBLAS's functions in the builds that numpy is linked to.
_NAMES = [
    f"{first}openblas_{{}}_num_threads{last}" for first in ("scipy_", "") for last in ("64_", "")
]

_LOCK = Lock()

#: Contexts that are open, and the number of threads before the first of them.
_open: list[int] = []


def limit_blas_threads(graph: FloatGraph, samples: int) -> AbstractContextManager[None]:
    """Return a context that computes a float network in batches of so many samples on one thread,
    unless its layers are large.
    """
    shapes = graph.shapes
    sizes = (
        math.prod(shapes[node.name][:-1]) * node.operator.weights.size
        for node in graph.nodes
        if isinstance(node.operator, (Conv, Dense))
    )
    large = max(sizes, default=0) * samples >= _LARGE
    return nullcontext() if large else one_blas_thread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Compute matrix products on one thread in the block.

    Threads wait for each other in busy loops. This takes longer than the small products of a small
    network, and ten times longer if other programs use the processor. Nothing changes if numpy is
    not linked to OpenBLAS.
    """
    found = _find_functions()
    if found is None:
        yield
        return
    get, put = found
    with _LOCK:
        _open.append(_open[0] if _open else get())
        put(1)
    try:
        yield
    finally:
        with _LOCK:
            before = _open.pop()
            if not _open:
                put(before)


@cache
def _find_functions() -> Optional[tuple[Any, Any]]:
    """Return OpenBLAS's functions that get and set the number of threads; None without them.

    The system finds them in the libraries that numpy's module is linked to.
    """
    names = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")
    module = next((sys.modules[name] for name in names if name in sys.modules), None)
    if module is None or module.__file__ is None:
        return None
    library = ctypes.CDLL(module.__file__)
    for name in _NAMES:
        get, put = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
        if get is not None and put is not None:
            return get, put
    return None
