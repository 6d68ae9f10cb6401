"""A plan in C memory, run as one call per batch."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Optional, Union

import numpy as np

from .. import kernels
from .._native import ffi, lib
from ..errors import DeviceWarning, Error
from ..graph import Graph, Tensor
from ..kernels import aligned_bytes
from ..targets import Profile
from .plan import Plan, Step, plan

#: What every run calls: looked up once, as a small network takes no longer than a few look-ups.
_address, _execute, _NULL = ffi.from_buffer, lib.qn_execute, ffi.NULL

State = Union[np.ndarray, Mapping[str, np.ndarray], None]


class Session:
    """A network planned for one profile.

    It may be used from several threads, one call at a time; several sessions run in parallel.
    threads: how many samples of a batch are computed at a time.
    """

    def __init__(
        self, graph: Graph, profile: Profile, variant: Optional[str] = None, threads: int = 1
    ) -> None:
        if threads < 1:
            raise Error(f"threads must be at least 1, is {threads}")
        self.graph = graph
        self.profile = profile
        self.threads = threads
        self._variant = variant
        self._lock = threading.Lock()
        self._axes = 2 if graph.states else 1
        self._dtype, self._shape = np.dtype(graph.input.dtype), graph.input.shape
        self._traced: Optional[_Compiled] = None
        self._compiled = self._compile(trace=False)
        for message in self.plan.warnings:
            warnings.warn(message, DeviceWarning, stacklevel=3)

    @property
    def plan(self) -> Plan:
        """What an untraced run executes: rows, addresses, warnings."""
        return self._compiled.plan

    def _compile(self, trace: bool) -> _Compiled:
        return _Compiled(plan(self.graph, self.profile, self._variant, trace), self.threads)

    def run(self, x: np.ndarray, state: State = None, trace: bool = False) -> dict[str, np.ndarray]:
        """Run a batch, x: [N, *input shape], and return {layer: [N, *output shape]}.

        A recurrent network takes [N, T, *input shape] and returns [N, T, ...]; state: what it
        starts from, [N, *state shape] (or a dict of these), zero if not given; its states after
        every step are among the results. trace=True returns every layer's output, and as
        "clobber.<layer>" what is left of an input that a layer destroys on this device.

        Raises Error where x or state has another shape or dtype than the network.
        """
        if type(x) is not np.ndarray:
            x = np.asarray(x)
        if x.dtype != self._dtype or x.shape[self._axes :] != self._shape:
            self._refuse(x)
        if self._axes == 2 or state is not None:
            state = self._checked_state(state, len(x))
        with self._lock:
            if trace:
                self._traced = self._traced or self._compile(trace=True)
                return self._traced.run(x, state)
            return self._compiled.run(x, state)

    def _refuse(self, x: np.ndarray) -> None:
        _expect_dtype("the input", x, self.graph.input)
        axes = ("N", "T")[: self._axes]
        want = ", ".join([*axes, *map(str, self.graph.input.shape)])
        raise Error(f"the input must have the shape [{want}], has {list(x.shape)}")

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
            raise Error(f"state must hold {names}; holds {', '.join(state)}")
        parts = []
        for tensor in tensors:
            part = np.asarray(state[tensor.name])
            _expect_dtype(f"state {tensor.name!r}", part, tensor)
            if part.shape != (samples, *tensor.shape):
                want, has = [samples, *tensor.shape], list(part.shape)
                raise Error(f"state {tensor.name!r} must have the shape {want}, has {has}")
            parts.append(np.ascontiguousarray(part).reshape(samples, -1).view(np.uint8))
        return np.concatenate(parts, axis=1)


def _expect_dtype(what: str, array: np.ndarray, tensor: Tensor) -> None:
    if array.dtype != np.dtype(tensor.dtype):
        frac = "" if tensor.frac is None else f" with {tensor.frac} fraction bits"
        raise Error(
            f"{what} must be {tensor.dtype}, is {array.dtype}: quantize it to the network's "
            f"input format first ({tensor.dtype}{frac})"
        )


class _Compiled:
    """One plan as C structs; keeps all memory alive that they point to."""

    def __init__(self, plan: Plan, threads: int) -> None:
        self.plan = plan
        self._keep: list[Any] = []
        self._packed: dict[tuple[Any, ...], Optional[np.ndarray]] = {}
        self._plan = self._build(plan)
        step = ffi.new("int64_t *")
        why = ffi.new("char[]", lib.QN_WHY)
        status = lib.qn_plan_check(self._plan, step, why)
        where = plan.steps[step[0]].node.name if step[0] >= 0 else plan.graph.name
        kernels.raise_for(status, f"{where}: {ffi.string(why).decode()}")
        arenas = [aligned_bytes(plan.arena_bytes) for _ in range(threads)]
        self._arenas = [ffi.from_buffer(arena) for arena in arenas]
        self._axes = 2 if plan.graph.states else 1
        self._outputs = ffi.new("void *[]", len(plan.stores))
        self._results = [
            (index, store.tensor.name, store.tensor.shape, np.dtype(store.tensor.dtype))
            for index, store in enumerate(plan.stores)
        ]
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def _build(self, plan: Plan) -> Any:
        states, offset = [], 0
        for address, tensor in zip(plan.states, plan.graph.states):
            states.append((offset, address, tensor.nbytes))
            offset += tensor.nbytes
        parts: dict[str, tuple[str, list[Any]]] = {
            "steps": ("qn_step[]", [self._step(step) for step in plan.steps]),
            "inputs": ("qn_load[]", [(0, plan.input, plan.graph.input.nbytes)]),
            "states": ("qn_load[]", states),
            "stores": ("qn_store[]", [(s.after, s.address, s.tensor.nbytes) for s in plan.stores]),
        }
        built = ffi.new("qn_plan *")
        for name, (ctype, values) in parts.items():
            array = ffi.new(ctype, values)
            self._keep.append(array)
            setattr(built, name, array)
            setattr(built, f"{name[:-1]}_count", len(values))
        built.arena_bytes, built.cleared = plan.arena_bytes, plan.cleared
        built.input_bytes, built.state_bytes = plan.graph.input.nbytes, offset
        return built

    def _step(self, step: Step) -> dict[str, Any]:
        weights, bias = (self._array(name) for name in (step.node.weights, step.node.bias))
        packed = self._pack(step, weights, bias)
        self._keep += [step.params, weights, bias, packed]

        def memory(name: str, array: Optional[np.ndarray]) -> dict[str, Any]:
            pointer = ffi.NULL if array is None else ffi.from_buffer(array)
            self._keep.append(pointer)
            return {name: pointer, f"{name}_bytes": 0 if array is None else array.nbytes}

        return {
            "kernel": lib.qn_kernel_at(step.row.index),
            "params": step.params,
            **memory("weights", weights),
            **memory("bias", bias),
            **memory("packed", packed),
            "in": list(step.inputs),
            "out": step.output,
            "scratch": step.scratch,
            "spare": step.spare or 0,
            "spare_bytes": 0 if step.spare is None else step.sizes.inputs[0],
        }

    def _pack(
        self, step: Step, weights: Optional[np.ndarray], bias: Optional[np.ndarray]
    ) -> Optional[np.ndarray]:
        """The packed weights of a step; equal calls share theirs."""
        node = step.node
        call = (step.row, bytes(ffi.buffer(step.params)), node.weights, node.bias)
        if call not in self._packed:
            self._packed[call] = step.row.pack(step.params, weights, bias)
        return self._packed[call]

    def _array(self, name: Optional[str]) -> Optional[np.ndarray]:
        if name is None:
            return None
        return np.require(self.plan.graph.arrays[name], requirements=["C", "A"])

    def run(self, x: np.ndarray, state: Optional[np.ndarray]) -> dict[str, np.ndarray]:
        """The results for inputs and states that have been checked."""
        lead = x.shape[: self._axes]
        results = {}
        outputs = self._outputs
        for index, name, shape, dtype in self._results:
            results[name] = result = np.empty(lead + shape, dtype)
            outputs[index] = _address(result)
        if 0 in lead:
            return results
        times = lead[1] if self._axes > 1 else 1
        start = _NULL if state is None else _address(state)
        try:
            source = _address(x)
        except ValueError:  # not contiguous
            x = np.ascontiguousarray(x)
            source = _address(x)
        if self._pool is None or lead[0] == 1:
            status = _execute(
                self._plan, self._arenas[0], 0, lead[0], times, source, start, outputs
            )
        else:
            status = self._share(lead[0], (times, source, start, outputs))
        if status:
            kernels.raise_for(status, f"{self.plan.graph.name}: a layer failed")
        return results

    def _share(self, samples: int, arguments: tuple[Any, ...]) -> int:
        """All threads at once, this one among them, each on its part of the batch."""
        assert self._pool is not None
        count = len(self._arenas)
        bounds = [samples * i // count for i in range(count + 1)]
        parts = [(arena, *ends) for arena, *ends in zip(self._arenas, bounds, bounds[1:])]
        others = [self._pool.submit(_execute, self._plan, *p, *arguments) for p in parts[1:]]
        own = _execute(self._plan, *parts[0], *arguments)
        return min([own, *(other.result() for other in others)])
