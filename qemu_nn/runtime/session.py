"""A network on a device: planned once, then each batch is checked and run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Optional, Union, cast, overload

import numpy as np

from ..errors import DeviceWarning, Error
from ..io.arguments import MOST_THREADS, as_count, as_flag, as_text, one_of
from ..io.warn import warn
from ..ir.builds import add_states
from ..ir.formats import draw_numbers
from ..ir.graph import Graph, Node, Tensor
from ..targets import Profile, list_comparable
from .compiled import Compiled
from .host import Host, name_results
from .input_checks import tell
from .inputs import (
    Inputs,
    State,
    arrange_by_name,
    expect_dtype,
    make_shape_error,
    pack_inputs,
    pack_reset,
    pack_state,
)
from .npu import trace_programs
from .plan import Plan, plan
from .stream import Stream
from .workspace import Batch, Run

#: Samples in one call, if the network gains from it: the largest size as often as possible, then
#: the next. AMX tiles take 1.2 times as long for 32 as for 16.
BATCHES = (32, 16)

#: Shapes of inputs that a session remembers.
_MOST_SHAPES = 16


class Session:
    """A network planned for one profile; several threads may use it at the same time.

    Network.session() returns one. A pickle contains its network and its options.

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
    host : runtime.host.Host, optional
        What predict() makes codes and scores with; default: without a float reference.

    Attributes
    ----------
    graph, profile, threads, host
        See the parameters.

    Raises
    ------
    Error
        No kernel has this variant, or the device could not run a layer.
    """

    # Values that each run reads are not in the dictionary.
    __slots__ = ("__dict__", "__weakref__", "_again")

    def __init__(
        self,
        graph: Graph,
        profile: Profile,
        variant: Optional[str] = None,
        threads: int = 1,
        trace: bool = False,
        host: Optional[Host] = None,
    ) -> None:
        threads = as_count(threads, "threads", most=MOST_THREADS)
        as_text(variant, "variant")
        self.graph = graph = add_states(graph, profile)
        self.profile = profile
        self.threads = threads
        self.host = Host(graph) if host is None else replace(host, graph=graph)
        self._unseen = True  # no inputs were looked at
        self._variant = variant
        self._trace = trace
        self._one = len(graph.inputs) == 1
        self._shape = graph.input.shape if self._one else (sum(t.nbytes for t in graph.inputs),)
        self._axes = ("N", "T") if graph.states else ("N",)
        self._again: Run = _make_empty_session
        self._known: dict[tuple[tuple[int, ...], bool], Run] = {}
        many = {size: batch_graph(self.plan.graph, size) for size in BATCHES}
        self._many: dict[int, Union[Graph, Compiled]] = {n: g for n, g in many.items() if g}
        for message in self.plan.warnings:
            warn(message, DeviceWarning)

    def __repr__(self) -> str:
        return f"<Session of {self.graph.name[:60]!r} for {self.profile}, threads={self.threads}>"

    def __reduce__(self) -> tuple[type[Session], tuple[Any, ...]]:
        """Pickle the network and the options; the receiving host plans again."""
        how = (self._variant, self.threads, self._trace, self.host)
        return Session, (self.graph, self.profile, *how)

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
        graph = trace_programs(self.graph) if trace else self.graph
        return Compiled(plan(graph, *how), self.threads)

    @overload
    def run(
        self, x: Union[Sequence[str], None], state: Mapping[str, np.ndarray]
    ) -> list[np.ndarray]: ...

    @overload
    def run(self, x: Inputs, state: State = ..., trace: bool = ...) -> dict[str, np.ndarray]: ...

    def run(
        self, x: Union[Inputs, Sequence[str], None], state: State = None, trace: bool = False
    ) -> Union[dict[str, np.ndarray], list[np.ndarray]]:
        """Run a batch of integers, and return what the device computes, bit for bit.

        predict() takes and returns floats: it is host.scores(run(host.codes(x))).

        Ctrl-C, or whatever a signal handler raises, ends a run between two calls of the network;
        the session can be used again.

        Parameters
        ----------
        x : ndarray of the input's integers, shape (N, *input shape)
            The batch; of a recurrent network (N, T, *input shape). Where the network has several
            inputs: a list of such arrays in their order, or a dictionary by their names.
        state : ndarray or mapping of str to ndarray, shape (N, *state shape), optional
            Initial state of a recurrent network; default: the state after reset.
        trace : bool, default False
            Return the output of every layer, not of the network only.

        Returns
        -------
        dict of str to ndarray of integers, shape (N, *output shape)
            Outputs by the names of their layers. As with ONNX Runtime, run(None, {name: batch}) or
            run([output, ...], {name: batch}) returns a list of them. Of a recurrent network
            (N, T, *output shape), with its states after every step. With trace also, as
            "clobber.<layer>", what is left of an input that a layer overwrites on this device.

        Raises
        ------
        Error
            The batch or the state has another shape or type than the network.

        Examples
        --------
        >>> network.session().run(x)["softmax"]
        """
        if state is None and trace is False:
            results = self._again(x)
            if results is not None:
                return results
        if isinstance(state, Mapping) and (x is None or _are_names(x)):
            return self._run_feeds(cast(Optional[Sequence[str]], x), state)
        return self._run(cast(Inputs, x), state, trace)

    def _run_feeds(
        self, names: Optional[Sequence[str]], feeds: Mapping[str, np.ndarray]
    ) -> list[np.ndarray]:
        """Return outputs as ONNX Runtime's session does: of these names, or all of the network."""
        results = self._run(dict(feeds), None, False)
        wanted = self.graph.outputs if names is None else names
        return [results[one_of(self.graph.outputs, name, "output")] for name in wanted]

    def _run(self, x: Inputs, state: State, trace: bool) -> dict[str, np.ndarray]:
        """Run inputs of any accepted form, for run()."""
        if type(x) is not np.ndarray or not self._one:
            named = arrange_by_name(self.graph, x)
            x = (
                named[self.graph.input.name]
                if self._one
                else pack_inputs(self.graph, named, self._axes)
            )
        if self._one:
            expect_dtype("the input", x, self.graph.input)
        trace = as_flag(trace, "trace")
        run = self._known.get((x.shape, trace)) or self._learn_shape(x, trace)
        given = [np.ascontiguousarray(x)]
        if state is not None or self.graph.states:
            start = self._start(state, x.shape[:1])
            given += [start] if self.graph.states else []
        elif self._one and not trace:
            self._again = run  # no states to append to inputs
        results = run(*given)
        assert results is not None
        return results

    def _learn_shape(self, x: np.ndarray, trace: bool) -> Run:
        """Return a function that runs inputs of a new shape."""
        batch = self._measure_group(x)
        run = self._traced.prepare(batch) if trace else self._prepare_batch(batch)
        if len(self._known) >= _MOST_SHAPES:
            self._known.clear()
        self._known[x.shape, trace] = run
        return run

    def _prepare_batch(self, batch: Batch) -> Run:
        """Return a function that computes a batch, with as many samples in a call as the network
        gains from.
        """
        left, parts = batch.samples, []
        for size in self._many:
            groups, left = divmod(left, size)
            if groups:
                parts.append((groups * size, self._make_compute(size, groups)))
        if not parts:
            return self._compiled.prepare(batch)
        if left:
            parts.append((left, self._compiled.prepare(Batch((left,), left, 1))))
        return parts[0][1] if len(parts) == 1 else _run_in_sequence(parts)

    def _make_compute(self, size: int, groups: int) -> Run:
        """Return a function that computes groups of `size` samples."""
        many = self._many[size]
        if not isinstance(many, Compiled):
            many = self._many[size] = Compiled(
                plan(many, self.profile.library, self._variant), self.threads
            )
        return many.prepare(Batch((groups * size,), groups, 1, within=1))

    def predict(
        self, x: Any, layout: Optional[str] = None
    ) -> Union[np.ndarray, dict[str, np.ndarray]]:
        """Run floats, and return the float scores of the device's integers.

        It is host.scores(run(host.codes(x))): run() between the host's own part, which is to
        prepare, to round and to scale. Integers whose number format is not known come as they are.

        Parameters
        ----------
        x : array_like
            A sample or a batch, as Network.predict() takes it.
        layout : {"NHWC", "NCHW"}, optional
            The layout of images, in x and in the result; default: what the shape of x tells,
            and in the result that of the file that was loaded.

        Returns
        -------
        ndarray of float64, shape (N, *output shape), or dict of str to ndarray
            As Network.predict() returns them.

        Raises
        ------
        Error
            The numbers do not fit the network.

        Warns
        -----
        InputWarning
            On the first call, where the inputs use a handful of the format's codes, or a tenth of
            them saturates.

        Examples
        --------
        >>> session.predict(images).argmax(-1)
        """
        codes, single = self.host.prepare(x, layout)
        if self._unseen:
            self._look(x, layout)
        scores = self.host.arrange(self.host.answers(self.run(codes)), layout)
        return name_results(scores, single, self.host.output_layouts(layout))

    def _look(self, x: Any, layout: Optional[str]) -> None:
        """Log, once, the use of the network's formats by the inputs."""
        gauges = self.host.gauges(x, layout)
        if all(gauge.enough for gauge in gauges):
            self._unseen = False
            for gauge in gauges:
                tell(gauge)

    def _measure_group(self, x: np.ndarray) -> Batch:
        axes = self._axes
        lead = x.shape[: len(axes)]
        if len(lead) < len(axes) or x.shape != lead + self._shape:
            raise make_shape_error("the input", axes, self._shape, x)
        times = lead[1] if self.graph.states else 1
        return Batch(lead, lead[0], times)

    def _start(self, state: State, lead: tuple[int, ...]) -> np.ndarray:
        if state is None and not self.graph.states:
            return pack_state(self.graph, {}, lead)
        if state is None:
            return np.ascontiguousarray(np.broadcast_to(self._reset, (*lead, self._reset.size)))
        return pack_state(self.graph, state, lead)

    @cached_property
    def _reset(self) -> np.ndarray:
        return pack_reset(self.graph)

    def stream(self, state: State = None) -> Stream:
        """Begin to run a network live: one time step in each call, or one sample without states.

        Parameters
        ----------
        state : ndarray or mapping of str to ndarray, shape (*state shape), optional
            What the network starts from; default: as it is after reset.

        Returns
        -------
        Stream
            Its step() computes one time step, in microseconds for a small network.

        Raises
        ------
        Error
            There is a state that does not fit, or the network has none.

        Examples
        --------
        >>> stream = network.session().stream()
        >>> stream.step(frame)["score"]
        """
        return Stream(self._compiled, self._start(state, ()).reshape(1, -1))


def make_other_profiles(graph: Graph, wanted: Profile) -> dict[Profile, Session]:
    """Return a session for traced runs for every further profile that can run this network."""
    sessions = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        for other in list_comparable(wanted):
            if other != wanted:
                with suppress(Error):
                    sessions[other] = Session(graph, other, trace=True)
    return sessions


def draw_inputs(graph: Graph, count: int, steps: int = 1) -> Any:
    """Return the same random inputs over the whole range, [count, *shape], at every call.

    [count, steps, *shape] for a recurrent network; a list if there are several inputs.
    """
    rng = np.random.default_rng(0)
    lead = (count, steps) if graph.states else (count,)
    inputs = [draw_numbers(rng, tensor.dtype, (*lead, *tensor.shape)) for tensor in graph.inputs]
    return inputs if len(inputs) > 1 else inputs[0]


# ---- batching: several samples in one call, if it reads the weights once for all of them ----

#: C argument with the number of vectors -> ops that compute several of them in one call.
_COUNTS = {
    "batches": ("fully_connected", "fully_connected_per_channel"),
    "num_rows": ("softmax",),
}


def _run_in_sequence(parts: Sequence[tuple[int, Run]]) -> Run:
    """Return a function that computes samples in parts: the size of each, and its function."""
    ends = list(accumulate(count for count, _ in parts))

    def run(x: Inputs) -> Optional[dict[str, np.ndarray]]:
        if type(x) is not np.ndarray or x.shape[:1] != (ends[-1],):
            return None
        found = [part(x[end - count : end]) for end, (count, part) in zip(ends, parts)]
        results = [each for each in found if each is not None]
        if len(results) < len(parts):
            return None
        return {name: np.concatenate([each[name] for each in results]) for name in results[0]}

    return run


def _are_names(x: object) -> bool:
    """True for a list of names of outputs, as ONNX Runtime's run() takes it first."""
    return isinstance(x, (list, tuple)) and bool(x) and all(isinstance(n, str) for n in x)


def _make_empty_session(_: Inputs) -> None:
    """Return a session that runs nothing."""


def batch_graph(graph: Graph, count: int) -> Optional[Graph]:
    """Return the graph of one build with `count` samples, one after another, as one sample.

    None if a call cannot take several samples, or would read its weights for each of them. Only
    fully connected layers gain.
    """
    counts = [_count_argument(node) for node in graph.nodes]
    if graph.memory is not None or graph.states or graph.loops:
        return None
    if len(graph.inputs) > 1 or None in counts:
        return None
    nodes = [
        replace(
            node,
            params={**node.params, name: count * node.params[name]},
            output=_repeat_shape(node.output, count),
            builds=(),
        )
        for node, name in zip(graph.nodes, counts)
        if name is not None
    ]
    return replace(graph, inputs=(_repeat_shape(graph.input, count),), nodes=tuple(nodes))


def _count_argument(node: Node) -> Optional[str]:
    names = (name for name, ops in _COUNTS.items() if node.function.op in ops)
    return next((name for name in names if name in node.params), None)


def _repeat_shape(tensor: Tensor, count: int) -> Tensor:
    return replace(tensor, shape=(count, *tensor.shape), order=())
