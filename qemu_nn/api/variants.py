"""Runs networks and functions under every profile, to see where their bits differ."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Callable, Optional, Union

import numpy as np

from ..analysis.table import Table
from ..analysis.variants import add_builds, add_operators, compare_devices, compare_profiles
from ..cmsis import invoke
from ..errors import DeviceWarning, Error, Refused, SizeMismatch
from ..functions import FUNCTIONS, Function
from ..io.arguments import have
from ..io.stages import announce, count
from ..ir.formats import find_differing
from ..ir.graph import Graph
from ..ir.original import Original
from ..kernels.devices import profile_for
from ..kernels.table import list_rows
from ..runtime.cluster import open_cluster, open_compute
from ..runtime.compiled_run import shape_inputs, trace_as_original
from ..runtime.inputs import Inputs, State, arrange_by_name
from ..runtime.per_layer import Calls
from ..runtime.session import Session, draw_inputs, make_other_profiles
from ..targets import DEFAULT_CORE, Profile, Target, all_profiles
from ..testing.calls import draw_all_arguments
from .data import Dataset, coded
from .network import Network, quantized

#: Layer or function -> what it computes for each input.
_Outputs = dict[str, list[Optional[np.ndarray]]]

#: Kernels of TensorFlow Lite Micro without CMSIS-NN.
REFERENCE = "reference kernels"

#: Inputs of a network, and calls of a function, where none are given.
_INPUTS, _CALLS = 8, 200


def variants(
    network: Union[Network, str, Path],
    data: Any = None,
    *,
    target: Union[str, Target] = DEFAULT_CORE,
    state: State = None,
    client: Any = None,
) -> Table:
    """Compare a network on a device with itself under every other profile, layer by layer.

    A network that vela compiled, with its original, is compared on the NPU with the original on the
    core next to it, and with the framework's reference kernels.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    data : Dataset or source, optional
        Inputs, as golden() takes them; default: random ones, always the same.
    target : str or Target, default "cortex-m4"
        The device, as Network.session() takes it.
    state : ndarray or mapping of str to ndarray, shape (N, *state shape), optional
        What a recurrent network starts from; default: as it is after reset.
    client : dask.distributed.Client, str or int, optional
        Compute profiles on this cluster, on that of the scheduler at this address, or on so many
        processes of this machine.

    Returns
    -------
    Table
        Each layer that differs under some profile, and its first element that does. With an
        original also the operator, the elements that differ if the core's function reads the NPU's
        inputs, and the reason if it is known.

    Raises
    ------
    Error
        The device could not run the network, or the data do not fit.

    Examples
    --------
    >>> print(variants("net.tflite", "test.npz", target="m4").text())
    """
    network, samples = quantized(network), Dataset.of(data)
    count = samples.draw_count(_INPUTS)
    if network.original is not None:
        graph = network.original.graph
        x = draw_inputs(graph, count) if count else coded(network.host, samples)
        return compare_with_original(network, network.original, target, x, state)
    x = draw_inputs(network.graph, count) if count else coded(network.host, samples)
    return compare_network_variants(network.graph, network.profile(target), x, state, client)


def compare_with_original(
    network: Network,
    original: Original,
    target: Union[str, Target],
    x: Inputs,
    state: State = None,
) -> Table:
    """Return where an NPU differs from the core and from the framework's reference kernels.

    Each row is a layer of the original file. `alone` counts differing elements if the core's
    function reads the inputs that the NPU has; `reason` says why, if it is known.
    """
    graph, wanted = original.graph, network.profile(target)
    session = Session(network.graph, wanted, trace=True)
    layers = {node.name for node in graph.nodes}
    traced = trace_as_original(session, graph, x, state)
    base = {name: values for name, values in traced.items() if name in layers}
    given = Target.of(target)
    others: dict[str, _Outputs] = {}
    alone: dict[str, int] = {}
    for name, kernels in ((given.core, "cmsis-nn"), (REFERENCE, "reference")):
        profile = profile_for(graph.ops, replace(given, device=given.core, kernels=kernels))
        try:
            results = trace_as_original(Session(graph, profile, trace=True), graph, x, state)
        except Refused:
            continue  # such a build does not run the file
        others[name] = {
            layer: list(results[layer].reshape(values.shape))
            for layer, values in base.items()
            if layer in results
        }
        alone = alone or _count_alone(graph, profile, x, base)
    table = compare_devices({name: list(values) for name, values in base.items()}, others)
    return add_operators(table, original, alone, wanted.rounding)


def _count_alone(
    graph: Graph, profile: Profile, x: Inputs, base: Mapping[str, np.ndarray]
) -> dict[str, int]:
    """Return layer -> elements that differ if the core's function reads the NPU's inputs.

    Layers with an input that the NPU does not write, and networks with states, are left out.
    """
    if graph.states:
        return {}
    calls = Calls(graph, profile)
    known = {**arrange_by_name(graph, x), **base}
    found = {}
    for node in graph.nodes:
        if node.name in base and all(name in known for name in node.inputs):
            got = calls.run(node, shape_inputs(graph, node, known))
            found[node.name] = int(find_differing(got.ravel(), base[node.name].ravel()).sum())
    return found


def compare_network_variants(
    graph: Graph,
    wanted: Profile,
    x: Optional[Inputs] = None,
    state: State = None,
    client: Any = None,
) -> Table:
    """Return where the layers of a network differ from those under the wanted profile.

    x, state: as Session.run() takes them; random inputs if not given. client: as open_cluster()
    takes it. Where builds of TensorFlow Lite Micro call other functions, a column more says which
    layers differ. Raises Error as a session does.
    """
    first = Session(graph, wanted, trace=True)
    if x is None:
        x = draw_inputs(first.graph, _INPUTS)
    others = make_other_profiles(graph, wanted)
    every = _compute_each(
        [wanted, *others], _Traced(graph, x, state, {**others, wanted: first}), client
    )
    table = compare_profiles(every.pop(wanted), every, chained=True)
    return add_builds(table, graph)


@dataclass(frozen=True)
class _Traced:
    """Output of each layer for each input under a profile; sessions: those there are already,
    which stay here."""

    graph: Graph
    x: Inputs
    state: State
    sessions: Mapping[Profile, Session]

    def __reduce__(self) -> tuple[type[_Traced], tuple[Any, ...]]:
        return _Traced, (self.graph, self.x, self.state, {})

    def __call__(self, profile: Profile) -> _Outputs:
        session = self.sessions.get(profile)
        if session is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeviceWarning)
                session = Session(self.graph, profile, trace=True)
        results = session.run(self.x, self.state, trace=True)
        return {name: list(values) for name, values in results.items()}


def _compute_each(
    profiles: Sequence[Profile], job: Callable[[Profile], _Outputs], client: Any
) -> dict[Profile, _Outputs]:
    """Return what a job computes under every profile, in their order."""
    with open_cluster(client) as found, open_compute(job, found) as compute:
        announce("computes profiles")
        done = dict(count(compute(profiles), len(profiles)))
    return {profile: done[number] for number, profile in enumerate(profiles)}


def compare_function_variants(
    name: str,
    target: Target,
    calls: int = _CALLS,
    client: Any = None,
) -> Table:
    """Return where a function, or every function of an op, differs from itself under the wanted
    profile.

    name: a C name ("arm_softmax_q7"), an op ("softmax"), or an op with its type ("softmax_q7").
    Of an op that the q7 and the s8 API have, those functions that the wanted release has.
    Compared are random calls, of every kind of values, that
    both profiles accept. client: as in compare_network_variants().
    """
    functions = [f for f in FUNCTIONS.values() if name in (f.name, f.op, f"{f.op}_{f.type}")]
    if not functions:
        raise Error(f"no function or op {name!r}; {have(sorted(FUNCTIONS), name)}")
    if target.esp_nn is not None:
        raise Error(
            f"{name!r} is a function or an op of CMSIS-NN, which {target.device} does not "
            "have: give a network, or a Cortex-M as the target"
        )
    wanted = profile_for([(functions[0].op, functions[0].type)], target)
    claimed = {f.name: any(r.claims(wanted) for r in list_rows(f.op, f.type)) for f in functions}
    functions = [f for f in functions if claimed[f.name]] or functions
    profiles = [
        profile
        for profile in all_profiles()
        if any(row.claims(profile) for f in functions for row in list_rows(f.op, f.type))
    ]
    if wanted not in profiles:
        invoke(
            functions[0], draw_all_arguments(Random(0), functions[0]), wanted
        )  # says what it has
    every = _compute_each(profiles, _Called(tuple(f.name for f in functions), calls), client)
    return compare_profiles(every.pop(wanted), every, chained=False)


@dataclass(frozen=True)
class _Called:
    """Outputs of random calls under a profile."""

    names: tuple[str, ...]
    calls: int

    def __call__(self, profile: Profile) -> _Outputs:
        return {name: _compute_outputs(FUNCTIONS[name], profile, self.calls) for name in self.names}


def _compute_outputs(
    function: Function, profile: Profile, calls: int
) -> list[Optional[np.ndarray]]:
    """Return what each call computes; None where the profile does not accept it."""
    outputs: list[Optional[np.ndarray]] = []
    for seed in range(calls):
        arguments = draw_all_arguments(Random(seed), function)
        try:
            outputs.append(invoke(function, arguments, profile))
        except (Refused, SizeMismatch):
            outputs.append(None)
    return outputs
