"""Networks as data: tensors, calls in order, arrays, and the firmware's own memory if known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..errors import ModelError
from ..functions import Array, Function
from ..functions.tflm_builds import DIFFERENCES
from .loops import Loop as Loop
from .loops import check_loops, may_write
from .memory import Address as Address
from .memory import CallAddresses as CallAddresses
from .memory import Memory as Memory
from .npu import NpuTensor as NpuTensor
from .tensors import MEMORY_LIMIT as MEMORY_LIMIT
from .tensors import Tensor as Tensor
from .tensors import check_tensor


@dataclass(frozen=True)
class Node:
    """One call of a layer function; its output tensor has the node's name.

    inputs: names of tensors, in the function's order, without NULL arguments; empty if the graph's
    memory has the addresses that the call reads. weights, bias: names in the graph's arrays.
    effect: an unexpected effect of a device with CMSIS-NN, as a sentence. builds: different calls
    in other builds of TensorFlow Lite Micro. tensors: those that a command stream writes, under the
    names of the network that was compiled; () if these are unknown.
    """

    function: Function
    params: Mapping[str, int]
    inputs: tuple[str, ...]
    output: Tensor
    weights: Optional[str] = None
    bias: Optional[str] = None
    effect: str = ""
    builds: tuple[Build, ...] = ()
    tensors: tuple[NpuTensor, ...] = ()

    @property
    def name(self) -> str:
        """The name of the node and of its output."""
        return self.output.name


@dataclass(frozen=True)
class Build:
    """Call that replaces a node in a different build, on the same inputs if it has none of its own.

    difference: a key of functions.tflm_builds.DIFFERENCES. refused: reason why such a build cannot
    run it; then there is no call. effect: as that of a node. states: tensors that such a build
    keeps; the call reads and writes them after the node's inputs. inputs: tensors that it reads
    instead of the node's.
    """

    difference: str
    function: Optional[Function] = None
    params: Mapping[str, int] = field(default_factory=dict)
    weights: Optional[str] = None
    bias: Optional[str] = None
    refused: str = ""
    effect: str = ""
    states: tuple[Tensor, ...] = ()
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """A quantized network: calls in program order, arrays in the device's order.

    inputs: in the order of a run's arguments. outputs: names of nodes. states: tensors that a
    recurrent network carries between steps. It has a memory, or calls that write them, and one pass
    over the nodes is one time step. An array with a state's name is its value after reset, if that
    is not zeros. classes: labels. loops: calls that run while a condition is true.
    """

    name: str
    inputs: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    arrays: Mapping[str, np.ndarray]
    memory: Optional[Memory] = None
    states: tuple[Tensor, ...] = ()
    classes: tuple[str, ...] = ()
    loops: tuple[Loop, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        starts = ", ".join(f"{each.dtype} {list(each.shape)}" for each in self.inputs[:3])
        more = ", ..." if len(self.inputs) > 3 else ""
        return f"<Graph {self.name[:60]!r}: {len(self.nodes)} calls on {starts}{more}>"

    @property
    def input(self) -> Tensor:
        """The first input, of most networks the only one."""
        return self.inputs[0]

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name: inputs, states, and outputs of calls, in this order."""
        made = (node.output for node in self.nodes)
        return {tensor.name: tensor for tensor in (*self.inputs, *self.states, *made)}

    @property
    def made(self) -> dict[str, int]:
        """Tensor -> the index of the call that computes it, -1 for inputs and states."""
        starts = dict.fromkeys((tensor.name for tensor in (*self.inputs, *self.states)), -1)
        return {**starts, **{node.name: at for at, node in enumerate(self.nodes)}}

    @property
    def ops(self) -> set[tuple[str, str]]:
        """Ops of the nodes: pairs (op, type) of the kernel table."""
        return {(node.function.op, node.function.type) for node in self.nodes}

    def node(self, name: str) -> Node:
        """Return the node with this name."""
        return next(node for node in self.nodes if node.name == name)


def _check_outputs(graph: Graph, layers: Container[str]) -> None:
    for at, name in enumerate(graph.outputs):
        if name not in layers:
            raise ModelError(f"{graph.name}: the output {name!r} is no layer of it")
        if name in graph.outputs[:at]:
            raise ModelError(f"{graph.name}: the output {name!r} is listed twice; add a copy of it")
    if not graph.outputs:
        raise ModelError(f"{graph.name} has no outputs; it needs one or more")


def _check(graph: Graph) -> None:
    """Raise ModelError, with its name, for any part that a plan cannot run."""
    starts = (*graph.inputs, *graph.states)
    names = [*(tensor.name for tensor in starts), *(node.name for node in graph.nodes)]
    if not graph.inputs:
        raise ModelError(f"{graph.name} has no inputs; it needs one or more")
    ((most, times),) = Counter(names).most_common(1)
    if times > 1:
        raise ModelError(f"{graph.name}: the name {most!r} is used twice; names must be unique")
    if not graph.nodes:
        raise ModelError(f"{graph.name} has no layers; it needs one or more")
    for tensor in (*starts, *(node.output for node in graph.nodes)):
        check_tensor(f"{graph.name}: {tensor.name}", tensor)
    layers = {node.name for node in graph.nodes}
    _check_outputs(graph, layers)
    for state in graph.states:
        _check_reset(graph, state)
    tensors = {tensor.name: tensor for tensor in starts}
    for node in graph.nodes:
        _check_node(graph, node, tensors)
        tensors[node.name] = node.output
    if graph.loops:
        _check_loops(graph)
    if graph.memory is not None:
        _check_memory(graph, graph.memory)
    else:
        _check_states(graph)


def _check_reset(graph: Graph, state: Tensor) -> None:
    reset = graph.arrays.get(state.name)
    if reset is not None and (reset.dtype != state.dtype or reset.nbytes != state.nbytes):
        raise ModelError(
            f"{graph.name}: the state {state.name!r} is {state.dtype} {list(state.shape)}, "
            f"but its value after reset is {reset.dtype} {list(reset.shape)}"
        )


def _check_states(graph: Graph) -> None:
    """Check that, without a described memory, the calls' states are the network's states."""
    written, made = {}, graph.made
    for at, node in enumerate(graph.nodes):
        for array, name in zip(node.function.list_read_inputs(node.params), node.inputs):
            if array.state and not may_write(graph.loops, made[name], at):
                written[name] = f"layer {node.name!r} ({node.function.name})"
    states = {tensor.name for tensor in graph.states}
    for name, where in written.items():
        if name not in states:
            raise ModelError(
                f"{where} keeps its state in {name!r}, which is no state of the network"
            )
    for name in sorted(states - set(written)):
        raise ModelError(
            f"{graph.name}: no layer writes the state {name!r}; describe the memory of the "
            "network, or remove the state"
        )


def _check_loops(graph: Graph) -> None:
    if graph.memory is not None:
        raise ModelError(
            f"{graph.name}: its memory and its loops are both described; a network can have one "
            "of them"
        )
    try:
        reads = [node.inputs for node in graph.nodes]
        check_loops(graph.loops, graph.made, reads, graph.outputs, graph.tensors)
    except ModelError as error:
        raise ModelError(f"{graph.name}: {error}") from None


def _check_memory(graph: Graph, memory: Memory) -> None:
    """Raise ModelError unless every pointer has an address inside a buffer of legal size."""
    for name, size in memory.buffers.items():
        if size <= 0:
            raise ModelError(
                f"{graph.name}: buffer {name!r} has {size} bytes; it needs one or more"
            )
    if sum(memory.buffers.values()) > MEMORY_LIMIT:
        raise ModelError(
            f"{graph.name}: its buffers take more than {MEMORY_LIMIT // 2**20} MiB, the limit"
        )
    for what, needed, given in (
        ("layer", {node.name for node in graph.nodes}, set(memory.calls)),
        ("state", {tensor.name for tensor in graph.states}, set(memory.states)),
    ):
        for name in sorted(needed - given):
            raise ModelError(f"{graph.name}: its memory lacks the addresses of {what} {name!r}")
        for name in sorted(given - needed):
            raise ModelError(
                f"{graph.name}: its memory has addresses of {name!r}, which is no {what}"
            )
    if len(graph.inputs) > 1:
        raise ModelError(
            f"{graph.name}: a network with its own memory has one input, not {len(graph.inputs)}"
        )
    uses = [("the input", memory.input)]
    uses += [(f"state {name!r}", address) for name, address in memory.states.items()]
    for node in graph.nodes:
        uses += _check_addresses(graph, node, memory.calls[node.name])
    for what, address in uses:
        if address.buffer not in memory.buffers:
            raise ModelError(f"{graph.name}: there is no buffer {address.buffer!r} for {what}")
        if not 0 <= address.offset < memory.buffers[address.buffer]:
            raise ModelError(
                f"{graph.name}: {what} is at {address}, outside the "
                f"{memory.buffers[address.buffer]} bytes of that buffer"
            )


def _check_addresses(graph: Graph, node: Node, call: CallAddresses) -> list[tuple[str, Address]]:
    """Return the pointers of one call by name; raise ModelError if they do not fit its function."""
    where = f"layer {node.name!r} ({node.function.name})"
    declared = [array.name for array in node.function.list_read_inputs(node.params)]
    if len(call.inputs) != len(declared):
        raise ModelError(
            f"{graph.name}: {where} has {len(call.inputs)} inputs, but its function takes "
            f"{len(declared)}"
        )
    if node.function.in_place:
        shared = call.inputs[declared.index(node.function.output.name)]
        if shared != call.output:
            raise ModelError(
                f"{graph.name}: {where} works in place at {shared}, so its output cannot "
                f"be at {call.output}"
            )
    pointers = [(f"an input of {where}", address) for address in call.inputs]
    pointers += [(f"the output of {where}", call.output)]
    return pointers + ([(f"the scratch of {where}", call.scratch)] if call.scratch else [])


def _check_node(graph: Graph, node: Node, tensors: Mapping[str, Tensor]) -> None:
    where = f"layer {node.name!r} ({node.function.name})"
    declared = node.function.output
    computed = declared.shape(node.params)
    same_size = min(computed) > 0 and node.output.nbytes == declared.nbytes(node.params)
    if node.output.dtype != declared.dtype or not same_size:
        raise ModelError(
            f"{where} computes {declared.dtype} {list(computed)}, but its output is "
            f"declared as {node.output.dtype} {list(node.output.shape)}"
        )
    _check_arrays(graph, where, node.function, node.params, (node.weights, node.bias))
    for build in node.builds:
        _check_build(graph, node, build)
        if build.function is not None and build.inputs:
            named = f"layer {node.name!r} ({build.function.name})"
            _check_inputs(named, build.function, build.params, build.inputs, tensors)
    if graph.memory is None:
        _check_inputs(where, node.function, node.params, node.inputs, tensors)


def _check_inputs(
    where: str,
    function: Function,
    params: Mapping[str, int],
    inputs: Sequence[str],
    tensors: Mapping[str, Tensor],
) -> None:
    """Check that a call reads earlier tensors of the sizes and types that its function takes."""
    declared_inputs = function.list_read_inputs(params)
    if len(inputs) != len(declared_inputs):
        raise ModelError(
            f"{where} has {len(inputs)} inputs, but its function takes {len(declared_inputs)}"
        )
    for array, name in zip(declared_inputs, inputs):
        if name not in tensors:
            raise ModelError(f"{where} reads {name!r}, which no earlier layer computes")
        tensor = tensors[name]
        if (tensor.dtype, tensor.nbytes) != (array.dtype, array.nbytes(params)):
            raise ModelError(
                f"{where} reads {array.dtype} {list(array.shape(params))}, "
                f"but {name!r} is {tensor.dtype} {list(tensor.shape)}"
            )


def _check_build(graph: Graph, node: Node, build: Build) -> None:
    """Check that a node's replacement writes the tensor of the node, and reads its inputs if it has
    none of its own.
    """
    if build.difference not in DIFFERENCES:
        raise ModelError(f"layer {node.name!r}: no build differs in {build.difference!r}")
    function, params = build.function, build.params
    if function is None:
        return
    where = f"layer {node.name!r} ({function.name})"
    _check_arrays(graph, where, function, params, (build.weights, build.bias))
    wanted = [*_describe_call(node.function, node.params)]
    wanted += [(state.dtype, state.nbytes, True) for state in build.states]
    made = [*_describe_call(function, params)]
    if wanted[:1] != made[:1] or (not build.inputs and wanted != made):
        raise ModelError(
            f"{where} takes arrays that differ from those of {node.function.name}, which it "
            "replaces"
        )


def _describe_call(
    function: Function, params: Mapping[str, int]
) -> Iterator[tuple[str, int, bool]]:
    """Yield properties of a call's output and inputs, in this order: types, bytes, and states."""
    for array in (function.output, *function.list_read_inputs(params)):
        yield array.dtype, array.nbytes(params), array.state


def _check_arrays(
    graph: Graph,
    where: str,
    function: Function,
    params: Mapping[str, int],
    names: tuple[Optional[str], Optional[str]],
) -> None:
    for array, name in zip((function.weights, function.bias), names):
        if array is not None:
            _check_array(graph, where, array, name, params)
        elif name is not None:
            raise ModelError(f"{where} has the array {name!r}, which its function does not take")


def _check_array(
    graph: Graph, where: str, array: Array, name: Optional[str], params: Mapping[str, int]
) -> None:
    if name is None:
        raise ModelError(f"{where} needs an array for {array.name}")
    if name not in graph.arrays:
        raise ModelError(f"{where} names the array {name!r}, which the network does not have")
    value = graph.arrays[name]
    if value.dtype != np.dtype(array.dtype):
        raise ModelError(f"{where}: {name!r} is {value.dtype}, but must be {array.dtype}")
    if value.nbytes != array.nbytes(params):
        raise ModelError(
            f"{where}: {name!r} has {value.size} elements, but must have "
            f"{math.prod(array.shape(params))}"
        )
