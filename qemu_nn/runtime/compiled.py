"""A plan in C memory, run as one call per batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Optional

import numpy as np

from .._native import ffi, lib
from .._runner import runner
from ..errors import LayerFault
from ..ir.graph import Tensor
from ..ir.loops import list_program
from ..kernels import table as kernels
from ..kernels.table import allocate_aligned
from . import interrupt
from .plan import Plan
from .split import cut_step
from .step import Step
from .workspace import Batch, Run, Workspace

NULL, _address = ffi.NULL, ffi.from_buffer

#: Least microseconds of a batch for several threads, which may have to be woken.
_PARALLEL = 20.0

#: Microseconds between clock checks in C, after which it asks Python whether to continue.
_LOOK = 1000.0

#: Op -> inputs that stop its layer, as on the device.
_STOPS = {
    "div": "DIV by 0, or of a numerator so small that its scales shift it by more than 31 bits",
    "rsqrt": "RSQRT of a number below 0",
    "gather": "GATHER or GATHER_ND of an index outside its input",
    "part": "SLICE outside its input",
    "detection": "TFLite_Detection_PostProcess of a box without an area, or scores that are NaN",
}


class Compiled:
    """One plan as C structs; owns all memory that they point to."""

    def __init__(self, plan: Plan, threads: int) -> None:
        self.plan = plan
        self._keep: list[Any] = []
        self._packed: dict[tuple[Any, ...], Optional[np.ndarray]] = {}
        self._plan = self._build(plan)
        step = ffi.new("int64_t *")
        why = ffi.new("char[]", lib.QN_WHY)
        status = lib.qn_plan_check(self._plan, step, why)
        failed = self._calls[step[0]] if step[0] >= 0 else None
        where = plan.graph.name if failed is None else failed.node.name
        kernels.raise_for(status, f"{where}: {ffi.string(why).decode()}")
        self._threads = threads
        self._pool = _open_thread_pool(threads)
        cost = sum(step.cost for step in plan.steps)
        by_cost = max(2, int(_PARALLEL / max(cost, 1e-3)))
        self._parallel_from = 1 if self._plan.task_count else by_cost
        self.idle = [self._allocate_workspace()]
        self._results = [
            (index, store.tensor.name, store.tensor.shape, np.dtype(store.tensor.dtype))
            for index, store in enumerate(plan.stores)
        ]
        ranks = {name: rank for rank, name in enumerate(plan.order)}
        self._results.sort(key=lambda result: ranks[result[1]])

    def _allocate_workspace(self) -> Workspace:
        sizes = [self.plan.arena_bytes] * self._threads
        arrays = [allocate_aligned(size) for size in sizes]
        for each in self.plan.constants:
            for arena in arrays:
                end = each.address + each.array.nbytes
                arena[each.address : end] = each.array.ravel().view(np.uint8)
        arenas = [ffi.from_buffer(each) for each in arrays]
        array, outputs = ffi.new("void *[]", arenas), ffi.new("void *[]", len(self.plan.stores))
        begun = ffi.new("int[]", self._plan.task_count)
        ask = lib.qn_python_stops
        failed = ffi.new("int64_t[2]")
        given = (self._plan, self._pool, array, outputs, begun, self._parallel_from, ask, failed)
        call = ffi.new("qn_call *", given)
        at, outputs_at = _get_address(call), _get_address(outputs)
        return Workspace(at, outputs_at, call, outputs, (arenas, array, begun, self._pool, failed))

    def _build(self, plan: Plan) -> Any:
        inputs, input_bytes = _build_loads(plan.inputs, plan.graph.inputs)
        states, state_bytes = _build_loads(plan.states, plan.graph.states)
        steps, at = self._build_steps(plan)
        stores = [(at[store.after], store.address, store.tensor.nbytes) for store in plan.stores]
        parts: dict[str, tuple[str, list[Any]]] = {
            "steps": ("qn_step[]", steps),
            "inputs": ("qn_load[]", inputs),
            "states": ("qn_load[]", states),
            "stores": ("qn_store[]", stores),
        }
        built = ffi.new("qn_plan *")
        for name, (ctype, values) in parts.items():
            array = ffi.new(ctype, values)
            self._keep.append(array)
            setattr(built, name, array)
            setattr(built, f"{name[:-1]}_count", len(values))
        tasks = self._build_tasks(plan, built.steps)
        built.tasks, built.task_count = tasks, len(tasks)
        built.arena_bytes, built.cleared = plan.arena_bytes, plan.cleared
        built.input_bytes, built.state_bytes = input_bytes, state_bytes
        longest = max((step.cost for step in plan.steps), default=0.0)
        built.jumps = bool(plan.graph.loops)
        built.tiles = any("amx" in step.row.features for step in plan.steps)
        built.look_every = max(1, int(_LOOK / max(longest, 1e-3)))
        return built

    def _build_steps(self, plan: Plan) -> tuple[list[dict[str, Any]], list[int]]:
        """Return all steps with the jumps of loops, and the indices of the plan's steps
        among them.
        """
        steps: list[dict[str, Any]] = []
        at: list[int] = []
        begins: dict[int, int] = {}
        exits: dict[int, int] = {}
        self._calls: list[Optional[Step]] = []
        for kind, index in list_program(len(plan.steps), plan.loops):
            self._calls.append(plan.steps[index] if kind == "call" else None)
            if kind == "call":
                at.append(len(steps))
                steps.append(self._build_step(plan.steps[index]))
            elif kind == "begin":
                begins[index] = len(steps)
            elif kind == "test":
                exits[index] = len(steps)
                condition = plan.conditions[index]
                steps.append({"in": [condition], "out": 0})
            else:
                steps.append({"in": [-1], "out": begins[index]})
                steps[exits[index]]["out"] = len(steps)
        return steps, at

    def _build_tasks(self, plan: Plan, steps: Any) -> Any:
        """Return the tasks of several threads for one sample: parts of split steps, and chains of
        the rest.
        """
        tasks: list[dict[str, Any]] = []
        first = 0
        for index, step in enumerate(plan.steps):
            if step.parts:
                tasks += _build_chain(plan, first, index, len(tasks))
                tasks += self._build_parts(step, steps, index, len(tasks))
                first = index + 1
        if tasks:
            tasks += _build_chain(plan, first, len(plan.steps), len(tasks))
        array = ffi.new("qn_task[]", tasks)
        self._keep.append(array)
        return array

    def _build_parts(self, step: Step, steps: Any, index: int, after: int) -> list[dict[str, Any]]:
        tasks = []
        for number, (first, last) in enumerate(step.parts):
            part = cut_step(step.row, step.params, (first, last), steps + index)
            assert part is not None
            part.step.scratch += number * step.part_scratch
            self._keep.append(part)
            task = {"part": part.step, "first": index, "last": index + 1, "after": after}
            tasks.append({**task, "unit": first, "last_unit": last})
        return tasks

    def _build_step(self, step: Step) -> dict[str, Any]:
        weights, bias = (self._get_array(name) for name in (step.node.weights, step.node.bias))
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
            "sign_flipped": step.sign_flipped,
        }

    def _pack(
        self, step: Step, weights: Optional[np.ndarray], bias: Optional[np.ndarray]
    ) -> Optional[np.ndarray]:
        """Return the packed weights of a step; equal calls share one copy."""
        node = step.node
        call = (step.row, bytes(ffi.buffer(step.params)), node.weights, node.bias)
        if call not in self._packed:
            self._packed[call] = step.row.pack(step.params, weights, bias)
        return self._packed[call]

    def _get_array(self, name: Optional[str]) -> Optional[np.ndarray]:
        if name is None:
            return None
        return np.require(self.plan.graph.arrays[name], requirements=["C", "A"])

    def open_time_step(self) -> Turn:
        """Return memory of its own for a sequence of time steps."""
        return Turn(self)

    def prepare(self, batch: Batch) -> Run:
        """Return a function that computes the results for inputs and states of one shape in one C
        call.
        """
        lead, samples, times, within = batch
        graph = self.plan.graph
        x = _view_like((*lead, self._plan.input_bytes), "uint8")
        if len(graph.inputs) == 1:
            x = _view_like(lead + graph.input.shape[within:], graph.input.dtype)
        state = _view_like((samples, self._plan.state_bytes), "uint8") if graph.states else None
        results = {n: _view_like(lead + shape[within:], of) for _, n, shape, of in self._results}
        places = np.array([index for index, *_ in self._results], np.int32).tobytes()
        memory = (self.idle, self._allocate_workspace, partial(self.raise_end, times))
        loops = bool(graph.loops)  # the body may have no iteration
        bound: Run = runner(_QN_RUN, *memory, samples, times, x, state, results, places, loops)
        return bound

    def raise_end(self, times: int, status: int, workspace: Workspace) -> None:
        """Raise the exception that ended a run; in the child of a fork, prepare for the
        next one.
        """
        if status == lib.QN_STOPPED:
            interrupt.resume()
        if status != lib.QN_FORKED:
            sample, time = divmod(workspace.call.failed[0], times)
            raise self.make_fault(workspace.call, sample, time)
        self._pool = _open_thread_pool(self._threads)  # the threads are in the process's parent
        self.idle.clear()

    def make_fault(self, call: Any, sample: Optional[int], time: Optional[int]) -> LayerFault:
        """Make the error for the step of a failed call."""
        step = self._calls[call.failed[1]]
        assert step is not None  # jumps do not fail
        reason = _STOPS.get(step.node.function.op, step.node.function.name)
        graph = self.plan.graph
        time = time if graph.states else None
        return LayerFault(graph.name, step.node.name, reason, sample, time)


class Turn:
    """Memory of one sample between its time steps."""

    def __init__(self, compiled: Compiled) -> None:
        plan = compiled.plan
        self._keep = compiled
        _, _, self._call, self._outputs, self._memory = compiled._allocate_workspace()
        self._states = {t.name: np.empty(t.shape, t.dtype) for t in plan.graph.states}
        self._results = [result for result in compiled._results if result[1] not in self._states]
        for index, name, _, _ in compiled._results:
            if name in self._states:
                self._outputs[index] = _address(self._states[name])

    def _restore(self) -> None:
        """Restore the states before the last time step, which was interrupted."""
        kept = [np.zeros(0, np.uint8)]  # of a network without states
        kept += [state.reshape(-1).view(np.uint8) for state in self._states.values()]
        lib.qn_begin(self._call, _address(np.concatenate(kept)))

    def load(self, start: np.ndarray) -> None:
        """Begin with these states, uint8 [1, bytes]."""
        lib.qn_begin(self._call, _address(start))
        offset = 0
        for state in self._states.values():
            state.reshape(-1).view(np.uint8)[:] = start[0, offset : offset + state.nbytes]
            offset += state.nbytes

    def states(self) -> dict[str, np.ndarray]:
        """Return copies of the states."""
        return {name: state.copy() for name, state in self._states.items()}

    def run(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Compute the outputs of the next time step from the bytes of its inputs."""
        results = {}
        for index, name, shape, dtype in self._results:
            results[name] = result = np.empty(shape, dtype)
            self._outputs[index] = _address(result)
        status = lib.qn_turn(self._call, _address(np.ascontiguousarray(x)))
        if status == lib.QN_STOPPED:
            self._restore()
            interrupt.resume()
        if status != lib.QN_OK:
            raise self._keep.make_fault(self._call, None, None)
        return results


def _build_loads(addresses: Sequence[int], tensors: Sequence[Tensor]) -> tuple[list[Any], int]:
    """Return the copies of concatenated tensors, each to its address, and the bytes of all."""
    loads, offset = [], 0
    for address, tensor in zip(addresses, tensors):
        loads.append((offset, address, tensor.nbytes))
        offset += tensor.nbytes
    return loads, offset


def _get_address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


_QN_RUN = _get_address(ffi.addressof(lib, "qn_run"))


def _view_like(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array of this shape and type that takes no memory."""
    return np.broadcast_to(np.empty((), dtype), shape)


def _open_thread_pool(threads: int) -> Any:
    """Return threads that end with this object; NULL for a single thread, or without memory."""
    pool = lib.qn_thread_pool_new(threads) if threads > 1 else NULL
    return ffi.gc(pool, lib.qn_thread_pool_free) if pool else NULL


def _build_chain(plan: Plan, first: int, last: int, after: int) -> list[dict[str, Any]]:
    """Make one task of whole steps, if any, or of a result to store."""
    stores = any(store.after == first - 1 for store in plan.stores)
    chain = {"part": NULL, "first": first, "last": last, "after": after}
    return [chain] if last > first or stores else []
