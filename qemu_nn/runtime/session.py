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
from ..targets import Profile
from .plan import Plan, Step, plan

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
        self._compiled: dict[bool, _Compiled] = {}
        for message in self.plan.warnings:
            warnings.warn(message, DeviceWarning, stacklevel=3)

    @property
    def plan(self) -> Plan:
        """What an untraced run executes: rows, addresses, warnings."""
        return self._get(trace=False).plan

    def _get(self, trace: bool) -> _Compiled:
        if trace not in self._compiled:
            self._compiled[trace] = _Compiled(
                plan(self.graph, self.profile, self._variant, trace), self.threads
            )
        return self._compiled[trace]

    def run(self, x: np.ndarray, state: State = None, trace: bool = False) -> dict[str, np.ndarray]:
        """Run a batch, x: [N, *input shape], and return {layer: [N, *output shape]}.

        A recurrent network takes [N, T, *input shape] and returns [N, T, ...]; state: what it
        starts from, [N, *state shape] (or a dict of these), zero if not given; its states after
        every step are among the results. trace=True returns every layer's output, and as
        "clobber.<layer>" what is left of an input that a layer destroys on this device.

        Raises Error where x or state has another shape or dtype than the network.
        """
        with self._lock:
            compiled = self._get(trace)
            x = self._checked_input(x)
            times = x.shape[1] if self.graph.states else 1
            return compiled.run(x, self._checked_state(state, len(x)), times)

    def _checked_input(self, x: np.ndarray) -> np.ndarray:
        axes = ("N", "T") if self.graph.states else ("N",)
        x = np.asarray(x)
        _expect_dtype("the input", x, self.graph.input)
        shape = self.graph.input.shape
        if x.shape[len(axes) :] != shape or x.ndim != len(axes) + len(shape):
            want = ", ".join([*axes, *map(str, shape)])
            raise Error(f"the input must have the shape [{want}], has {list(x.shape)}")
        return np.ascontiguousarray(x)

    def _checked_state(self, state: State, samples: int) -> Optional[np.ndarray]:
        tensors = self.graph.states
        if not tensors:
            if state is not None:
                raise Error(f"{self.graph.name} is not recurrent and takes no state")
            return None
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
                want = [samples, *tensor.shape]
                raise Error(f"state {tensor.name!r} must have the shape {want}, has {part.shape}")
            parts.append(np.ascontiguousarray(part).reshape(samples, -1).view(np.uint8))
        return np.concatenate(parts, axis=1)


def _expect_dtype(what: str, array: np.ndarray, tensor: Tensor) -> None:
    if array.dtype != np.dtype(tensor.dtype):
        frac = "" if tensor.frac is None else f" with {tensor.frac} fraction bits"
        raise Error(
            f"{what} must be {tensor.dtype}, is {array.dtype}: quantize it to the network's "
            f"input format first ({tensor.dtype}{frac})"
        )


#: One thread's share of a batch: its arena, inputs, states, and records to fill.
_Part = tuple[np.ndarray, np.ndarray, Optional[np.ndarray], np.ndarray]


class _Compiled:
    """One plan as C structs; keeps all memory alive that they point to."""

    def __init__(self, plan: Plan, threads: int) -> None:
        self.plan = plan
        self._keep: list[Any] = []
        self._plan = self._build(plan)
        step = ffi.new("int64_t *")
        why = ffi.new("char[]", lib.QN_WHY)
        status = lib.qn_plan_check(self._plan, step, why)
        where = plan.steps[step[0]].node.name if step[0] >= 0 else plan.graph.name
        kernels.raise_for(status, f"{where}: {ffi.string(why).decode()}")
        self._arenas = [_aligned_bytes(plan.arena_bytes) for _ in range(threads)]

    def _build(self, plan: Plan) -> Any:
        loads = [(0, plan.input, plan.graph.input.nbytes)]
        states, offset = [], 0
        for address, tensor in zip(plan.states, plan.graph.states):
            states.append((offset, address, tensor.nbytes))
            offset += tensor.nbytes
        stores = [(s.after, s.address, s.offset, s.tensor.nbytes) for s in plan.stores]
        built = ffi.new("qn_plan *")
        parts = {
            "steps": ("qn_step[]", [self._step(step) for step in plan.steps]),
            "inputs": ("qn_load[]", loads),
            "states": ("qn_load[]", states),
            "stores": ("qn_store[]", stores),
        }
        for name, (ctype, values) in parts.items():
            array = ffi.new(ctype, values)
            self._keep.append(array)
            setattr(built, name, array)
        built.step_count, built.store_count = len(plan.steps), len(stores)
        built.input_count, built.state_count = len(loads), len(states)
        built.arena_bytes, built.cleared = plan.arena_bytes, plan.cleared
        built.input_bytes, built.state_bytes = plan.graph.input.nbytes, offset
        built.record_bytes = plan.record_bytes
        return built

    def _step(self, step: Step) -> dict[str, Any]:
        weights, bias = (self._array(name) for name in (step.node.weights, step.node.bias))
        self._keep.append(step.params)
        return {
            "kernel": lib.qn_kernel_at(step.row.index),
            "params": step.params,
            "weights": weights[0],
            "weights_bytes": weights[1],
            "bias": bias[0],
            "bias_bytes": bias[1],
            "in": list(step.inputs),
            "out": step.output,
            "scratch": step.scratch,
            "spare": step.spare or 0,
            "spare_bytes": 0 if step.spare is None else step.sizes.inputs[0],
        }

    def _array(self, name: Optional[str]) -> tuple[Any, int]:
        if name is None:
            return ffi.NULL, 0
        array = np.require(self.plan.graph.arrays[name], requirements=["C", "A"])
        buffer = ffi.from_buffer(array)
        self._keep.append(buffer)
        return buffer, array.nbytes

    def run(self, x: np.ndarray, state: Optional[np.ndarray], times: int) -> dict[str, np.ndarray]:
        samples = len(x)
        record = np.empty((samples, times, self.plan.record_bytes), np.uint8)
        bounds = np.linspace(0, samples, len(self._arenas) + 1).astype(int).tolist()
        parts = [
            (arena, x[a:b], None if state is None else state[a:b], record[a:b])
            for arena, a, b in zip(self._arenas, bounds, bounds[1:])
            if b > a and times > 0
        ]
        if len(parts) > 1:
            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(lambda part: self._execute(part, times), parts))
        else:
            for part in parts:
                self._execute(part, times)
        return self._split(record, samples, times)

    def _execute(self, part: _Part, times: int) -> None:
        arena, x, state, record = part
        status = lib.qn_execute(
            self._plan,
            ffi.from_buffer(arena),
            len(x),
            times,
            ffi.from_buffer(x),
            ffi.NULL if state is None else ffi.from_buffer(state),
            ffi.from_buffer(record),
        )
        kernels.raise_for(status, f"{self.plan.graph.name}: a layer failed")

    def _split(self, record: np.ndarray, samples: int, times: int) -> dict[str, np.ndarray]:
        lead = (samples, times) if self.plan.graph.states else (samples,)
        results = {}
        for store in self.plan.stores:
            part = record[:, :, store.offset : store.offset + store.tensor.nbytes]
            values = np.ascontiguousarray(part).view(store.tensor.dtype)
            results[store.tensor.name] = values.reshape(*lead, *store.tensor.shape)
        return results


def _aligned_bytes(size: int, alignment: int = 64) -> np.ndarray:
    """A zeroed byte array that starts at a multiple of the alignment."""
    raw = np.zeros(size + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + size]
