"""A network on a device: planned once, then each batch is checked and run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Optional, Union

import numpy as np

from ..errors import DeviceWarning, Error
from ..io.arguments import MOST_THREADS, as_array, as_count, as_flag, as_text
from ..ir.graph import Graph, Node, Tensor
from ..targets import Profile, all_profiles
from .compiled import Batch, Compiled
from .plan import Plan, plan

#: What every run asks for: looked up once, as a small network takes no longer than a few look-ups.
_Array = np.ndarray

State = Union[np.ndarray, Mapping[str, np.ndarray], None]


#: Samples in one call, where a network gains from that.
BATCH = 16

#: Bytes of inputs up to which a copy of them is made.
SMALL = 2048


class Session:
    """A network planned for one profile; several threads may use it at the same time.

    Network.session() returns one. It pickles as its network and its options.

    Parameters
    ----------
    graph : ir.graph.Graph
        The network.
    profile : targets.Profile
        Whose arithmetic it runs.
    variant : str, optional
        A variant of the kernel table for all layers that have a row of that name; default: the
        best rows of this host.
    threads : int, default 1
        Threads that share the samples of a batch, and the large layers of a single one.
    trace : bool, default False
        Plan for traced runs; the plan of others is made when the first of them comes.

    Attributes
    ----------
    graph, profile, threads
        See the parameters.

    Raises
    ------
    Error
        No kernel has this variant, or the device could not run a layer.
    """

    def __init__(
        self,
        graph: Graph,
        profile: Profile,
        variant: Optional[str] = None,
        threads: int = 1,
        trace: bool = False,
    ) -> None:
        threads = as_count(threads, "threads", most=MOST_THREADS)
        as_text(variant, "variant")
        self.graph = graph
        self.profile = profile
        self.threads = threads
        self._variant = variant
        self._trace = trace
        self._dtype = np.dtype(graph.input.dtype)
        self._batch = Batch((-1,), (), 0, 0)  # no array has this shape
        self._has_states = bool(graph.states)
        self._many: Union[Graph, Compiled, None] = batched(graph, BATCH)
        for message in self.plan.warnings:
            warnings.warn(message, DeviceWarning, stacklevel=3)

    def __repr__(self) -> str:
        return f"<Session of {self.graph.name[:60]!r} for {self.profile}, threads={self.threads}>"

    def __reduce__(self) -> tuple[type[Session], tuple[Any, ...]]:
        """Pickled as its network and its options: it is planned again for the host it comes to."""
        return Session, (self.graph, self.profile, self._variant, self.threads, self._trace)

    @property
    def plan(self) -> Plan:
        """Rows, addresses and warnings of a run, traced if the session is for traced runs."""
        return (self._traced if self._trace else self._compiled).plan

    @cached_property
    def _compiled(self) -> Compiled:
        return self._compile(trace=False)

    @cached_property
    def _traced(self) -> Compiled:
        return self._compile(trace=True)

    def _compile(self, trace: bool) -> Compiled:
        how = (self.profile, self._variant, trace, self.threads)
        return Compiled(plan(self.graph, *how), self.threads)

    def run(self, x: np.ndarray, state: State = None, trace: bool = False) -> dict[str, np.ndarray]:
        """Run a batch, and return what the device computes, bit for bit.

        Ctrl-C, or whatever a signal handler raises, ends a run between two calls of the network;
        the session can be used again.

        Parameters
        ----------
        x : ndarray of the input's integers, shape (N, *input shape)
            The batch; of a recurrent network (N, T, *input shape).
        state : ndarray or mapping of str to ndarray, shape (N, *state shape), optional
            What a recurrent network starts from; default: zeros.
        trace : bool, default False
            Return the output of every layer, not of the network only.

        Returns
        -------
        dict of str to ndarray of integers, shape (N, *output shape)
            Outputs by the names of their layers; of a recurrent network (N, T, *output shape),
            with its states after every step. With trace also, as "clobber.<layer>", what is left
            of an input that a layer overwrites on this device.

        Raises
        ------
        Error
            The batch or the state has another shape or type than the network.

        Examples
        --------
        >>> network.session().run(x)["softmax"]
        """
        if type(x) is not _Array:
            x = as_array(x, "the input")
        if x.dtype is not self._dtype:
            _expect_dtype("the input", x, self.graph.input)
        batch = self._batch
        if x.shape != batch[0]:  # most calls have the shape of the one before
            batch = self._batch = self._measured(x)
        if state is not None or self._has_states:
            state = self._checked_state(state, batch.samples)
        if trace is not False and as_flag(trace, "trace"):
            return self._traced.run(x, batch, state)
        if self._many is not None and batch.samples >= BATCH:
            return self._run_batched(x, batch.samples)
        return self._compiled.run(x, batch, state)

    def _run_batched(self, x: np.ndarray, samples: int) -> dict[str, np.ndarray]:
        """BATCH samples in each call, then the others one by one."""
        if not isinstance(self._many, Compiled):
            assert self._many is not None
            self._many = Compiled(plan(self._many, self.profile, self._variant), self.threads)
        groups, rest = divmod(samples, BATCH)
        whole = x[: samples - rest]
        lead = Batch(whole.shape, (groups,), groups, 1)
        results = self._many.run(whole, lead, None)
        results = {k: v.reshape(groups * BATCH, *v.shape[2:]) for k, v in results.items()}
        if not rest:
            return results
        last = self._compiled.run(x[-rest:], Batch(x[-rest:].shape, (rest,), rest, 1), None)
        return {name: np.concatenate([results[name], last[name]]) for name in results}

    def _measured(self, x: np.ndarray) -> Batch:
        axes = ("N", "T") if self.graph.states else ("N",)
        lead = x.shape[: len(axes)]
        if len(lead) < len(axes) or x.shape != lead + self.graph.input.shape:
            want = ", ".join([*axes, *map(str, self.graph.input.shape)])
            raise Error(f"the input must have the shape [{want}], but has {list(x.shape)}")
        times = lead[1] if self.graph.states else 1
        return Batch(x.shape, lead, lead[0], times, small=x.nbytes <= SMALL)

    def _checked_state(self, state: State, samples: int) -> np.ndarray:
        tensors = self.graph.states
        if not tensors:
            raise Error(f"{self.graph.name} is not recurrent and takes no state")
        if state is None:
            return np.zeros((samples, sum(t.nbytes for t in tensors)), np.uint8)
        if not isinstance(state, Mapping):
            state = {tensors[0].name: state}
        if set(state) != {t.name for t in tensors}:
            names = ", ".join(t.name for t in tensors)
            raise Error(f"state must hold {names}, but holds {', '.join(map(str, state))}")
        parts = []
        for tensor in tensors:
            part = as_array(state[tensor.name], f"state {tensor.name!r}")
            _expect_dtype(f"state {tensor.name!r}", part, tensor)
            if part.shape != (samples, *tensor.shape):
                want, has = [samples, *tensor.shape], list(part.shape)
                raise Error(f"state {tensor.name!r} must have the shape {want}, but has {has}")
            parts.append(np.ascontiguousarray(part).reshape(samples, -1).view(np.uint8))
        return np.concatenate(parts, axis=1)


def _expect_dtype(what: str, array: np.ndarray, tensor: Tensor) -> None:
    if array.dtype != np.dtype(tensor.dtype):
        frac = "" if tensor.frac is None else f" with {tensor.frac} fraction bits"
        form = f"{tensor.dtype}{frac}" if tensor.scale is None else tensor.spelled
        raise Error(
            f"{what} must be {tensor.dtype}, but is {array.dtype}: quantize it to the network's "
            f"input format first ({form})"
        )


def other_profiles(graph: Graph, wanted: Profile) -> dict[Profile, Session]:
    """A session for traced runs for every profile but the wanted one that can run this network."""
    sessions = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        for other in all_profiles():
            if other != wanted:
                with suppress(Error):
                    sessions[other] = Session(graph, other, trace=True)
    return sessions


def random_inputs(graph: Graph, count: int) -> np.ndarray:
    """Inputs over the whole range, [count, *shape], always the same.

    [count, 1, *shape] for a recurrent network: one time step.
    """
    limits = np.iinfo(graph.input.dtype)
    steps = (1,) if graph.states else ()
    values = np.random.default_rng(0).integers(
        limits.min, limits.max, (count, *steps, *graph.input.shape), endpoint=True
    )
    return values.astype(graph.input.dtype)


# ---- batching: several samples in one call, where that reads the weights once for all of them ----

#: C argument that counts vectors -> ops that compute several of them in one call.
_COUNTS = {
    "batches": ("fully_connected", "fully_connected_per_channel"),
    "num_rows": ("softmax",),
}


def batched(graph: Graph, count: int) -> Optional[Graph]:
    """The graph whose one sample is `count` samples of this one, one after the other.

    None where a call does not take several, or would read its weights once for each of them all the
    same: what gains are fully connected layers.
    """
    counts = [_count_argument(node) for node in graph.nodes]
    if graph.memory is not None or None in counts:
        return None
    nodes = [
        replace(
            node,
            params={**node.params, name: count * node.params[name]},
            output=_repeated(node.output, count),
        )
        for node, name in zip(graph.nodes, counts)
        if name is not None
    ]
    return replace(graph, input=_repeated(graph.input, count), nodes=tuple(nodes))


def _count_argument(node: Node) -> Optional[str]:
    names = (name for name, ops in _COUNTS.items() if node.function.op in ops)
    return next((name for name in names if name in node.params), None)


def _repeated(tensor: Tensor, count: int) -> Tensor:
    return replace(tensor, shape=(count, *tensor.shape))
