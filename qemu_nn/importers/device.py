"""Networks as firmware runs them: network.json with weights.npz or the firmware's C headers.

Keys that only describe may be missing or unknown; whatever decides bits is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import Error, ModelError
from ..functions import FUNCTIONS, Function
from ..io import files
from ..io.typed_json import Fields, parse_json
from ..ir.graph import CallAddresses, Graph, Memory, Node, Tensor
from .symbols import Symbols, read_entries, read_symbols
from .weights import Headers, is_reference, read_arrays

_LIMIT = 16 * files.MEGABYTE
_FORMAT = 1


def load(path: Path) -> Graph:
    """The network that a network.json describes, in the firmware's own memory.

    Weights and biases come from weights.npz beside it, or from C headers beside it where they
    are named "weights.h:CONV1_WT". Raises ModelError, which names file, layer and key.
    """
    path = Path(path)
    description = parse_json(files.read_bytes(path, _LIMIT), str(path))
    version = description.integer("format", _FORMAT)
    if version != _FORMAT:
        raise description.error(f"'format' is {version}; this version reads {_FORMAT}")
    layers = [(layer, _function(layer)) for layer in _layers(description)]
    symbols, headers = read_symbols(description.object("buffers")), Headers(path.parent)
    nodes, addresses = [], {}
    wanted: dict[str, tuple[str, str]] = {}
    for layer, function in layers:
        node = _node(layer, function, headers)
        nodes.append(node)
        addresses[node.name] = _addresses(layer, symbols)
        wanted.update(_wanted(layer, node))
    entry, states = read_entries(description, symbols, addresses)
    memory = Memory(
        buffers=symbols.buffers,
        calls=addresses,
        input=entry[1],
        states={tensor.name: address for tensor, address in states},
    )
    arrays = read_arrays(path.parent, wanted, headers)
    try:
        return Graph(
            name=description.text("name", path.resolve().parent.name or "network"),
            inputs=(entry[0],),
            nodes=tuple(nodes),
            outputs=tuple(description.texts("outputs", [node.name for node in nodes[-1:]])),
            arrays=arrays,
            memory=memory,
            states=tuple(tensor for tensor, _ in states),
            classes=tuple(description.texts("classes", [])),
        )
    except ModelError as error:
        raise description.error(str(error)) from None


def _layers(description: Fields) -> Iterator[Fields]:
    """The layers, which messages call by name from here on."""
    names = set()
    for layer in description.objects("layers"):
        name = layer.text("name")
        if name in names:
            raise layer.error(f"the name {name!r} is used twice")
        names.add(name)
        yield Fields(layer.values, f"{description.where}: layer {name!r}")


def _function(layer: Fields) -> Function:
    """What a layer calls."""
    name = layer.text("function")
    if name not in FUNCTIONS:
        have = ", ".join(sorted(FUNCTIONS))
        raise layer.error(f"the function {name!r} is not known; have: {have}")
    return FUNCTIONS[name]


def _node(layer: Fields, function: Function, headers: Headers) -> Node:
    """One call: its function, scalar arguments and arrays."""
    params = _params(layer, function, headers)
    shape = tuple(layer.integers("output_shape", function.output.shape(params)))
    return Node(
        function=function,
        params=params,
        inputs=(),
        output=Tensor(layer.text("name"), shape, function.output.dtype),
        weights=layer.text("weights", None),
        bias=layer.text("bias", None),
    )


def _params(layer: Fields, function: Function, headers: Headers) -> dict[str, int]:
    """The scalar arguments: numbers, enumerators, or integers of a header."""
    given = dict(layer.object("params").values)
    try:
        for name, value in given.items():
            if isinstance(value, bool):
                raise Error(f"{name!r} must be an integer")
            if is_reference(value):
                given[name] = headers.integer(value)
        return function.parse_params(given)
    except Error as error:
        raise layer.error(f"params: {error}") from None


def _addresses(layer: Fields, symbols: Symbols) -> CallAddresses:
    """The addresses of one call."""
    return CallAddresses(
        inputs=tuple(symbols.address(fields) for fields in layer.objects("inputs")),
        output=symbols.address(layer.object("output")),
        scratch=symbols.address(layer.object("scratch")) if "scratch" in layer else None,
    )


def _wanted(layer: Fields, node: Node) -> Iterator[tuple[str, tuple[str, str]]]:
    """The arrays that a call reads: name -> (dtype, where it is named)."""
    function = node.function
    for key, array, name in (
        ("weights", function.weights, node.weights),
        ("bias", function.bias, node.bias),
    ):
        if array is not None and name is not None:
            yield name, (array.dtype, f"{layer.where}: {key}")
