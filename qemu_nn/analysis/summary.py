"""Summary of a planned network: layers, formats, memory and cost."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

from ..errors import shorten_middle
from ..functions.shapes import get_extent
from ..io.terminal import terminal_width
from ..ir.graph import Graph, Node, Tensor
from ..ir.original import Original
from ..ir.stored import layer_bytes, weight_bytes
from ..ir.tflm_memory import TflmFigures
from ..runtime.arena import TFLM_ALIGNMENT, Arena, TensorArena, plan_tensor_arena, plan_tflm_memory
from ..runtime.plan import Plan
from ..runtime.step import Step
from .charts import Block, MemoryChart
from .npu_summary import NPU_FACTS, list_npu_facts, tabulate_operators
from .result import TableResult
from .table import Cell, Said, Table, spell, values_of
from .table_layout import narrow_table

_LAYER = ("layer", "function", "output", "format")
_SHIFTS = ("bias_shift", "out_shift")
_COSTS = ("macs", "weight_bytes", "scratch_bytes")
_ARENA = ("arena_offset", "needed_until", "bytes_in_use")

_TFLM = "head: tensors as TFLite Micro plans them; tail: the interpreter's structures, estimated"


@dataclass(frozen=True, eq=False)
class Summary(TableResult):
    """A network on a device; describe() returns it.

    Attributes
    ----------
    facts : mapping of str to value
        Facts about the whole: bytes, multiply-accumulates, kernel rows.
    layers : Table
        A row for each layer.
    memory : MemoryChart or None
        The arena over time; None where the firmware has buffers of its own.
    operators : Table or None
        Of a network that vela compiled, with its original: each operator of the original file,
        where it is computed, by how many operations of the NPU, vela's estimate of its cycles, and
        the reason why the core computes it.
    """

    facts: Mapping[str, Cell]
    layers: Table
    memory: Optional[MemoryChart] = None
    operators: Optional[Table] = None

    def __repr__(self) -> str:
        return f"Summary\n{format_facts(self.facts)}"

    def _repr_html_(self) -> str:
        chart = "" if self.memory is None else self.memory.svg()
        return f"<pre>{html.escape(repr(self))}</pre>{chart}{self.layers.html()}"

    def text(self, full: bool = False) -> str:
        """Return the summary for a terminal.

        Parameters
        ----------
        full : bool, default False
            Every column and every fact, however wide; without it at most 120 columns, with short
            names.

        Returns
        -------
        str
            The table, then a line for each fact.
        """
        if full:
            operators = "" if self.operators is None else f"\n\n{self.operators.text()}"
            return f"{self.layers.text()}{operators}\n\n{format_facts(self.facts)}"
        ends = ("network", "profile", "input", "input_format", "inputs", "outputs", "states")
        facts = {name: self.facts[name] for name in ends if name in self.facts}
        facts["in_all"] = self._in_all()
        if "file_bytes" in self.facts:
            facts["in_tflm"] = self._in_tflm()
        facts.update({name: self.facts[name] for name in NPU_FACTS if name in self.facts})
        tables = [each for each in (self.layers, self.operators) if each is not None]
        return "\n\n".join([*(narrow_table(t).text() for t in tables), format_facts(facts)])

    def _in_all(self) -> str:
        """Return flash, RAM and multiply-accumulates in a line."""
        flash, ram, macs = (
            spell(self.facts[name]) for name in ("weight_bytes", "activation_bytes", "macs")
        )
        return f"flash {flash} bytes of weights, RAM {ram} bytes with scratch, {macs} MACs"

    def _in_tflm(self) -> str:
        """Return flash and arena of the file in TensorFlow Lite Micro in a line."""
        names = ("file_bytes", "tflm_arena_bytes", "tflm_head_bytes", "tflm_tail_bytes")
        file, arena, head, tail = (spell(self.facts[name]) for name in names)
        size = f"kTensorArenaSize {arena} (head {head} + tail {tail})"
        if "ESP-NN" in str(self.facts["profile"]):  # addresses decide some of its bits
            size += f", tensors at multiples of {TFLM_ALIGNMENT} bytes"
        return f"flash {file} bytes of the file, {size}"

    def table(self) -> Table:
        """Return a row for each layer.

        Returns
        -------
        Table
            The layers.
        """
        return self.layers

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            The facts, and the list of layers.
        """
        operators = {} if self.operators is None else {"operators": self.operators.records()}
        return {**self.values(), "layers": self.layers.records(), **operators}

    def values(self) -> dict[str, Any]:
        """Return the facts as JSON has them.

        Returns
        -------
        dict
            Inputs, outputs and states are lists, with types, shapes and formats as numbers.
        """
        facts = values_of(self.facts)
        if "input" in facts:  # its format is part of it
            facts["inputs"] = facts.pop("input")
            facts.pop("input_format")
        return facts


def format_facts(facts: Mapping[str, Cell]) -> str:
    """Return a line for each fact, for a terminal."""
    width, terminal = max(map(len, facts)), terminal_width()
    lines = (
        f"{name.replace('_', ' '):<{width}}  {shorten_middle(spell(value), 100)}"
        for name, value in facts.items()
    )
    if terminal is not None:
        hanging = " " * (width + 2)
        lines = (textwrap.fill(line, terminal, subsequent_indent=hanging) for line in lines)
    return "\n".join(lines)


def summarize(
    plan: Plan,
    buffers: Mapping[str, int],
    figures: Optional[TflmFigures] = None,
    original: Optional[Original] = None,
) -> Summary:
    """Return the summary of a plan.

    buffers: all memory of the device except weights, including scratch memory; activation_bytes is
    their sum. figures: figures of the .tflite file. scratch_bytes: largest of one call.
    peak_bytes: largest use at one time. tflm_head_bytes: TFLite Micro's plan for calls of the s8
    and s16 API. tflm_arena_bytes: kTensorArenaSize of the file. original: the network that an NPU's
    compiler read.
    """
    graph = plan.graph
    shared = graph.memory is None and plan.profile.is_affine
    scratch = {
        node.name: node.function.scratch_buffers(node.params, plan.profile.path)
        for node in graph.nodes
    }
    total = {name: sum(sizes.values()) for name, sizes in scratch.items()}
    arena = plan_tensor_arena(graph, scratch) if shared else None
    how = {name: kernel for step in plan.steps for name, kernel in _list_computed(step)}
    rows = tuple(
        (
            *(*_layer(node), *_get_place(node, arena), *_costs(graph, node, total[node.name])),
            how.get(node.name, "left out"),
        )
        for node in graph.nodes
    )
    layers = Table((*_LAYER, *(_ARENA if arena else _SHIFTS), *_COSTS, "kernel"), rows)
    facts: dict[str, Cell] = {
        "network": plan.graph.name,
        "profile": str(plan.profile),
        **_ends(plan.graph),
        "macs": sum(_macs(node) for node in plan.graph.nodes),
        "weight_bytes": weight_bytes(plan.graph),
        **_memory(plan.graph, buffers, arena),
        **_in_tflm(plan, figures),
        "scratch_bytes": max(total.values()),
        **list_npu_facts(graph, original),
    }
    operators = None if original is None else tabulate_operators(original)
    memory = None if arena is None else _chart_memory(graph, arena.arena)
    return Summary(facts, layers, memory, operators)


def _chart_memory(graph: Graph, arena: Arena) -> MemoryChart:
    """Return the buffers of an arena over the calls of a run."""
    blocks = tuple(
        Block(buffer.name, buffer.first, buffer.last, start, start + buffer.nbytes)
        for buffer, start in zip(arena.buffers, arena.offsets)
        if buffer.nbytes
    )
    moments = ("the start", *(node.name for node in graph.nodes))
    return MemoryChart("Arena over time, bytes", moments, blocks, arena.nbytes)


def _memory(
    graph: Graph, buffers: Mapping[str, int], arena: Optional[TensorArena]
) -> dict[str, Cell]:
    """Return the facts of all memory except weights."""
    words = " + ".join(f"{name} {size:,}" for name, size in buffers.items())
    own = f"{words}, scratch included" if graph.memory is None else f"the firmware's own: {words}"
    facts: dict[str, Cell] = {
        "activation_bytes": sum(buffers.values()),
        "activation_memory": Said(own, dict(buffers)),
    }
    if arena is not None:
        peak = max(arena.live, key=lambda layer: arena.live[layer])
        facts["tflm_head_bytes"] = arena.arena.nbytes
        facts.update(peak_bytes=arena.live[peak], peak_layer=peak)
    return facts


def _in_tflm(plan: Plan, figures: Optional[TflmFigures]) -> dict[str, Cell]:
    """Return the facts of a .tflite file in TensorFlow Lite Micro."""
    if figures is None:
        return {}
    memory = plan_tflm_memory(plan.graph, plan.profile, figures)
    return {
        "file_bytes": memory.file,
        "tflm_head_bytes": memory.head,
        "tflm_tail_bytes": memory.tail,
        "tflm_arena_bytes": memory.arena,
        "tflm_arena": _TFLM,
    }


def _list_computed(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the layers that a step computes, and their functions."""
    yield step.node.name, str(step.row)
    for node in (*step.folds, *([step.relu.node] if step.relu else [])):
        yield node.name, f"with {step.node.name}"


def _layer(node: Node) -> tuple[Cell, ...]:
    output = node.output
    return (node.name, node.function.name, format_tensor_shape(output), make_format_cell(output))


def _get_place(node: Node, arena: Optional[TensorArena]) -> tuple[Cell, ...]:
    """Return the address of its output in the arena, or its shifts without an address."""
    if arena is None:
        return tuple(node.params.get(name) for name in _SHIFTS)
    return (arena.tensors[node.name], arena.until[node.name], arena.live[node.name])


def _costs(graph: Graph, node: Node, scratch: int) -> tuple[Cell, ...]:
    return (_macs(node), layer_bytes(graph, node), scratch)


def _macs(node: Node) -> int:
    return get_extent(node.function.macs, node.params)


def format_tensor_shape(tensor: Tensor) -> Said:
    """Return type and shape."""
    value = {"dtype": tensor.dtype, "shape": list(tensor.shape)}
    return Said(f"{tensor.dtype} {'x'.join(map(str, tensor.shape))}", value)


def make_format_cell(tensor: Tensor) -> Optional[Said]:
    """Return the format, in JSON fraction bits, or a scale and a zero point; None if unknown."""
    spelled = tensor.spelled
    return None if spelled is None else Said(spelled, _get_format(tensor))


def _get_format(tensor: Tensor) -> dict[str, Union[int, float, None]]:
    if tensor.scale is None:
        return {"frac": tensor.frac}
    return {"scale": tensor.scale, "zero_point": tensor.zero_point}


def _describe_end(tensor: Tensor) -> dict[str, Any]:
    """Return all of an input, an output or a state, as JSON has it."""
    shapes = {"shape": list(tensor.shape), "shape_in_file": list(tensor.logical)}
    known = None if tensor.spelled is None else _get_format(tensor)
    return {"name": tensor.name, "dtype": tensor.dtype, **shapes, "format": known}


def format_end_shape(tensor: Tensor) -> str:
    """Return type and shape in memory, and the source file's shape if the axis order differs."""
    if tensor.logical == tensor.shape:
        return format_tensor_shape(tensor)
    return f"{format_tensor_shape(tensor)} ({'x'.join(map(str, tensor.logical))} in the file)"


def describe_tensor(tensor: Tensor) -> str:
    """Return type, shape and format, if any."""
    spelled = tensor.spelled if tensor.scale is None else str(tensor.format)
    return f"{format_end_shape(tensor)} {spelled or ''}".strip()


def _ends(graph: Graph) -> dict[str, Cell]:
    """Return the facts of inputs, outputs and states."""
    first, tensors = graph.input, graph.tensors
    start = Said(format_end_shape(first), [_describe_end(first)])
    facts: dict[str, Cell] = {"input": start, "input_format": first.spelled}
    if len(graph.inputs) > 1:
        facts = {"inputs": _name_facts(graph.inputs)}
    facts["outputs"] = _name_facts([tensors[name] for name in graph.outputs])
    for number, loop in enumerate(graph.loops, 1):
        ends = (graph.nodes[at].name for at in (loop.first, loop.last - 1))
        facts[f"loop_{number}"] = f"{' to '.join(ends)}, while {loop.condition} is true"
    return {**facts, "states": _name_facts(graph.states)} if graph.states else facts


def _name_facts(tensors: Sequence[Tensor]) -> Said:
    words = ", ".join(f"{tensor.name}: {describe_tensor(tensor)}" for tensor in tensors)
    return Said(words, [_describe_end(tensor) for tensor in tensors])
