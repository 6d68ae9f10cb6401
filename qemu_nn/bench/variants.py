"""Networks and functions run under every profile, to see where their bits part."""

from __future__ import annotations

from random import Random
from typing import Optional

import numpy as np

from ..analysis.table import Table
from ..analysis.variants import compare_profiles
from ..cmsis import invoke
from ..errors import Error, Refused, SizeMismatch
from ..graph import Graph
from ..layers import FUNCTIONS, Function
from ..runtime.rivals import rivals
from ..runtime.session import Session, State
from ..targets import Profile, all_profiles
from .calls import random_arguments, random_inputs

#: Inputs of a network, and calls of a function, where none are given.
_INPUTS, _CALLS = 8, 200


def network_variants(
    graph: Graph, wanted: Profile, x: Optional[np.ndarray] = None, state: State = None
) -> Table:
    """Where the layers of a network differ from those under the wanted profile.

    x, state: as Session.run() takes them; random inputs if not given. Raises Error as a session
    does.
    """
    if x is None:
        x = random_inputs(graph, _INPUTS)
    others = {p: _trace(session, x, state) for p, session in rivals(graph, wanted).items()}
    return compare_profiles(_trace(Session(graph, wanted), x, state), others, chained=True)


def _trace(session: Session, x: np.ndarray, state: State) -> dict[str, list[Optional[np.ndarray]]]:
    """What each layer computes for each input."""
    return {name: list(values) for name, values in session.run(x, state, trace=True).items()}


def function_variants(name: str, wanted: Profile, calls: int = _CALLS) -> Table:
    """Where a function, or every function of an op, differs from itself under the wanted profile.

    name: a C name ("arm_softmax_q7"), an op ("softmax"), or an op with its type ("softmax_q7").
    Compared are random calls, of every kind of values, that both profiles accept.
    """
    functions = [f for f in FUNCTIONS.values() if name in (f.name, f.op, f"{f.op}_{f.type}")]
    if not functions:
        raise Error(f"no function or op {name!r}; have: {', '.join(sorted(FUNCTIONS))}")
    every = {
        profile: {f.name: _outputs(f, profile, calls) for f in functions}
        for profile in all_profiles()
    }
    return compare_profiles(every.pop(wanted), every, chained=False)


def _outputs(function: Function, profile: Profile, calls: int) -> list[Optional[np.ndarray]]:
    """What each call computes; None where the profile does not accept it."""
    outputs: list[Optional[np.ndarray]] = []
    for seed in range(calls):
        arguments = random_arguments(Random(seed), function)
        try:
            outputs.append(invoke(function, arguments, profile))
        except (Refused, SizeMismatch):
            outputs.append(None)
    return outputs
