"""A plan in C memory, run as one call per batch."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from .. import kernels
from .._native import ffi, lib
from ..kernels import aligned_bytes
from .plan import Plan, Step

#: What every run calls: looked up once, as a small network takes no longer than a few look-ups.
_address, _empty, _execute, _NULL = ffi.from_buffer, np.empty, lib.qn_execute, ffi.NULL


class Batch(NamedTuple):
    """Inputs of one shape: the axes before a sample's own, and what they count."""

    shape: tuple[int, ...]
    lead: tuple[int, ...]
    samples: int
    times: int


class Compiled:
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
        self._threads = threads
        self._idle = [self._workspace()]
        self._results = [
            (index, store.tensor.name, store.tensor.shape, np.dtype(store.tensor.dtype))
            for index, store in enumerate(plan.stores)
        ]
        self._pool = _executor(threads - 1) if threads > 1 else None

    def _workspace(self) -> tuple[list[Any], Any]:
        """What one run writes to: an arena for each thread, and where its results are."""
        sizes = [self.plan.arena_bytes] * self._threads
        arenas = [ffi.from_buffer(aligned_bytes(size)) for size in sizes]
        return arenas, ffi.new("void *[]", len(self.plan.stores))

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

    def run(
        self, x: np.ndarray, batch: Batch, state: Optional[np.ndarray]
    ) -> dict[str, np.ndarray]:
        """The results for inputs and states that have been checked."""
        _, lead, samples, times = batch
        try:
            workspace = self._idle.pop()
        except IndexError:  # other threads work in all of them
            workspace = self._workspace()
        arenas, outputs = workspace
        results = {}
        for index, name, shape, dtype in self._results:
            results[name] = result = _empty(lead + shape, dtype)
            outputs[index] = _address(result)
        start = _NULL if state is None else _address(state)
        try:
            source = _address(x)
        except ValueError:  # not contiguous
            x = np.ascontiguousarray(x)
            source = _address(x)
        if samples == 1 or self._pool is None:
            status = _execute(self._plan, arenas[0], 0, samples, times, source, start, outputs)
        else:
            status = self._share(results, samples, arenas, (times, source, start, outputs))
        self._idle.append(workspace)
        if status:
            kernels.raise_for(status, f"{self.plan.graph.name}: a layer failed")
        return results

    def _share(
        self, results: object, samples: int, arenas: list[Any], arguments: tuple[Any, ...]
    ) -> int:
        """All threads at once, this one among them, each on its part of the batch."""
        assert self._pool is not None
        count = len(arenas)
        bounds = [samples * i // count for i in range(count + 1)]
        own, *parts = [
            (results, self._plan, *part, *arguments) for part in zip(arenas, bounds, bounds[1:])
        ]
        others = [self._pool.submit(_work, *part) for part in parts]
        return min([_work(*own), *(other.result() for other in others)])


def _work(results: object, *arguments: Any) -> int:
    """One thread's part; holds the results, as an interrupted caller lets go of them."""
    status: int = _execute(*arguments)
    return status


def _executor(threads: int) -> Any:
    from concurrent.futures import ThreadPoolExecutor  # here, as few sessions need it

    return ThreadPoolExecutor(threads)
