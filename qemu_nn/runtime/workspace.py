"""Memory of a run: a batch of inputs, and an arena that no other run writes to."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

import numpy as np

#: Takes an array of inputs, and one of states if there are any, to results by their names. None:
#: these are not arrays as it was prepared for.
Run = Callable[..., Optional[dict[str, np.ndarray]]]


class Batch(NamedTuple):
    """The axes of inputs before a sample's own, and what they count.

    within: axes of inputs and results in the plan that are among these.
    """

    lead: tuple[int, ...]
    samples: int
    times: int
    within: int = 0


class Workspace(NamedTuple):
    """Memory of one run at a time: an arena for each thread.

    at, outputs_at: the addresses of call and outputs. memory: of the call, kept alive.
    """

    at: int
    outputs_at: int
    call: Any
    outputs: Any
    memory: Any
