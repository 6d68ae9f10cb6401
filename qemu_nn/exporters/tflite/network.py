"""A whole network as a .tflite file, call by call."""

from __future__ import annotations

from ...errors import ModelError
from ...ir.graph import Graph
from ...operators import Shape
from .building import File, Site
from .dense import DENSE
from .elementwise import ELEMENTWISE
from .moving import MOVING
from .rewriting import rewritten
from .schema import FileGraph
from .windows import WINDOWS, Maker

#: Function -> what writes its calls.
MAKERS: dict[str, Maker] = {**WINDOWS, **DENSE, **ELEMENTWISE, **MOVING}

#: Ends of the names of functions whose operators repeat a smaller operand by themselves.
_REPEATING = ("_add_", "_sub_", "_mul_", "_div_", "_squared_difference_", "_maximum_", "_minimum_")


def converted(graph: Graph) -> tuple[Graph, FileGraph]:
    """The network in the calls that a reader of the file finds in it, and the file."""
    _check(graph)
    graph = rewritten(graph)
    file = File(graph, {node.name: node for node in graph.nodes if _is_copy(graph, node.name)})
    inputs = [file.hold(tensor, (1, *tensor.shape)) for tensor in graph.inputs]
    for node in graph.nodes:
        if node.name in file.copies:
            continue
        site = Site(node, file)
        if node.function.name not in MAKERS:
            raise site.refuse("no operator of .tflite files stands for it; save it as .qnz")
        MAKERS[node.function.name](site)
    return graph, file.result(
        inputs, [file.view(name, _last(graph, name)) for name in graph.outputs]
    )


def _last(graph: Graph, name: str) -> Shape:
    return (1, *graph.tensors[name].shape)


def _is_copy(graph: Graph, name: str) -> bool:
    """Whether a node only repeats a tensor for operators that do so by themselves."""
    node = graph.node(name)
    readers = [each.function.name for each in graph.nodes if name in each.inputs]
    return (
        node.function.op == "broadcast"
        and name not in graph.outputs
        and all(any(part in reader for part in _REPEATING) for reader in readers)
    )


def _check(graph: Graph) -> None:
    """Refuse networks of which .tflite files know nothing."""
    if graph.memory is not None:
        raise ModelError(
            f"{graph.name} describes the memory of its firmware, which no .tflite file holds; save "
            "it as .qnz"
        )
    if any(tensor.frac is not None for tensor in graph.tensors.values()):
        raise ModelError(
            f"{graph.name} has formats of powers of two, which no .tflite file holds: quantize it "
            "with scheme='affine', or save it as .qnz"
        )
    if graph.states:
        names = ", ".join(tensor.name for tensor in graph.states[:3])
        raise ModelError(
            f"{graph.name} keeps states between its runs ({names}), which this version does not "
            "write to .tflite files; save it as .qnz"
        )
