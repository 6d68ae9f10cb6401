"""Memory of a run: a batch of inputs, and an arena of its own."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

import numpy as np

#: Function from an array of inputs, and one of states, if any, to results by name. None: the arrays
#: differ from the prepared ones.
Run = Callable[..., Optional[dict[str, np.ndarray]]]


class Batch(NamedTuple):
    """Axes of inputs before a sample's own, and their meaning.

    within: axes of inputs and results of the plan that are among these.
    """

    lead: tuple[int, ...]
    samples: int
    times: int
    within: int = 0


class Workspace(NamedTuple):
    """Memory of one run: an arena for each thread.

    at, outputs_at: the addresses of call and outputs. memory: of the call, owned.
    """

    at: int
    outputs_at: int
    call: Any
    outputs: Any
    memory: Any
