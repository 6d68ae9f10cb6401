"""What a run works on: a batch of inputs, and memory that nobody else writes to meanwhile."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

import numpy as np

#: Bytes of inputs, and of results, up to which to copy them takes less than to get their address.
SMALL = 2048

#: Inputs, states if there are any, and whether the same shape will come again, to results by name.
Run = Callable[..., dict[str, np.ndarray]]


class Batch(NamedTuple):
    """The axes of inputs before a sample's own, and what they count.

    within: axes of a result in the plan that are among these.
    """

    lead: tuple[int, ...]
    samples: int
    times: int
    within: int = 0


class Workspace(NamedTuple):
    """What one run at a time writes to: an arena for each thread, and arrays for results.

    held: results of small inputs of the shape `batch`, which stay here: copies of them are given
    away. memory: of the call, kept alive.
    """

    batch: Optional[Batch]
    call: Any
    held: tuple[tuple[str, np.ndarray], ...]
    outputs: Any
    memory: Any
