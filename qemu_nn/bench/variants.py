"""Runs networks and functions under every profile, to see where their bits differ."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Optional

import numpy as np

from ..analysis.table import Table
from ..analysis.variants import compare_profiles, with_builds
from ..cmsis import invoke
from ..errors import Error, Refused, SizeMismatch
from ..functions import FUNCTIONS, Function
from ..io.arguments import have
from ..ir.graph import Graph
from ..kernels.devices import profile_for
from ..kernels.table import rows_of
from ..runtime.inputs import Inputs, State
from ..runtime.session import Session, other_profiles, random_inputs
from ..targets import Profile, all_profiles
from ..testing.calls import random_arguments

#: Inputs of a network, and calls of a function, where none are given.
_INPUTS, _CALLS = 8, 200


def network_variants(
    graph: Graph, wanted: Profile, x: Optional[Inputs] = None, state: State = None
) -> Table:
    """Where the layers of a network differ from those under the wanted profile.

    x, state: as Session.run() takes them; random inputs if not given. Where builds of TensorFlow
    Lite Micro call other functions, a column more says which layers part. Raises Error as a session
    does.
    """
    session = Session(graph, wanted, trace=True)
    if x is None:
        x = random_inputs(session.graph, _INPUTS)
    others = {p: _trace(session, x, state) for p, session in other_profiles(graph, wanted).items()}
    return with_builds(compare_profiles(_trace(session, x, state), others, chained=True), graph)


def _trace(session: Session, x: Inputs, state: State) -> dict[str, list[Optional[np.ndarray]]]:
    """What each layer computes for each input."""
    return {name: list(values) for name, values in session.run(x, state, trace=True).items()}


def function_variants(name: str, device: Mapping[str, Any], calls: int = _CALLS) -> Table:
    """Where a function, or every function of an op, differs from itself under the wanted profile.

    name: a C name ("arm_softmax_q7"), an op ("softmax"), or an op with its type ("softmax_q7").
    Of an op that the q7 and the s8 API have, those functions that the wanted release has.
    device: arguments of profile_for(). Compared are random calls, of every kind of values, that
    both profiles accept.
    """
    functions = [f for f in FUNCTIONS.values() if name in (f.name, f.op, f"{f.op}_{f.type}")]
    if not functions:
        raise Error(f"no function or op {name!r}; {have(sorted(FUNCTIONS), name)}")
    wanted = profile_for([(functions[0].op, functions[0].type)], **device)
    claimed = {f.name: any(r.claims(wanted) for r in rows_of(f.op, f.type)) for f in functions}
    functions = [f for f in functions if claimed[f.name]] or functions
    every = {
        profile: {f.name: _outputs(f, profile, calls) for f in functions}
        for profile in all_profiles()
        if any(row.claims(profile) for f in functions for row in rows_of(f.op, f.type))
    }
    if wanted not in every:
        invoke(functions[0], random_arguments(Random(0), functions[0]), wanted)  # says what it has
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
