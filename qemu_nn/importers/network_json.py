"""Networks of firmware: network.json with weights.npz or the firmware's C headers.

Descriptive keys may be missing or unknown; every key that affects bits is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from ..errors import Error, ModelError
from ..functions import FUNCTIONS, Function
from ..io import files
from ..io.archive import open_archive
from ..io.arguments import have
from ..io.typed_json import Fields, parse_json
from ..ir.formats import BITS
from ..ir.graph import Address, CallAddresses, Graph, Memory, Node, Tensor
from ..ir.model_file import ModelFile
from .c_header import Header

_LIMIT = 16 * files.MEGABYTE
_FORMAT = 1
_REFERENCE = re.compile(r"([^:\\]+):(\w+)")

#: Array -> its type, and its place for messages.
_Wanted = Mapping[str, tuple[str, str]]


def read(path: Path) -> ModelFile:
    """Read the network that a network.json describes; see load()."""
    return ModelFile(load(path))


def load(path: Path) -> Graph:
    """Return the network of a network.json, in the firmware's own memory.

    Weights and biases are in weights.npz next to it, or in C headers next to it, under names such
    as "weights.h:CONV1_WT". Raises ModelError, with file, layer and key.
    """
    path = Path(path)
    description = parse_json(files.read_bytes(path, _LIMIT), str(path))
    return _build(description, _Weights(path.parent), path.resolve().parent.name or "network")


def build(description: Fields, arrays: Mapping[str, np.ndarray], name: str) -> Graph:
    """Return the network of a description with these arrays; name: if it has none."""
    return _build(description, _Given(arrays), name)


def _build(description: Fields, weights: _Weights, name: str) -> Graph:
    if "unresolved" in description:
        first, *_ = (*description.texts("unresolved"), "")
        raise description.error(
            f"'unresolved' names what could not be followed ({first}): complete the layers, and "
            "remove the key"
        )
    if "stages" in description:
        raise description.error("it describes a chain of networks; run it with qemu_nn.chain()")
    version = description.integer("format", _FORMAT)
    if version != _FORMAT:
        raise description.error(f"'format' is {version}; this qemu_nn reads {_FORMAT}: update it")
    layers = [(layer, _function(layer)) for layer in _layers(description)]
    symbols = _read_symbols(description.object("buffers"))
    nodes, addresses = [], {}
    wanted: dict[str, tuple[str, str]] = {}
    for layer, function in layers:
        node = _node(layer, function, weights)
        nodes.append(node)
        addresses[node.name] = _addresses(layer, symbols)
        wanted.update(_iterate_wanted(layer, node))
    entry, states = _read_entries(description, symbols, addresses)
    memory = Memory(
        buffers=symbols.buffers,
        calls=addresses,
        input=entry[1],
        states={tensor.name: address for tensor, address in states},
    )
    arrays = weights.arrays(wanted)
    try:
        return Graph(
            name=description.text("name", name),
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
    """Yield the layers; messages name each one while it is read."""
    names = set()
    for layer in description.objects("layers"):
        name = layer.text("name")
        if name in names:
            raise layer.error(f"the name {name!r} is used twice; names must be unique")
        names.add(name)
        yield Fields(layer.values, f"{description.where}: layer {name!r}")


def _function(layer: Fields) -> Function:
    """Return the function of a layer."""
    name = layer.text("function")
    if name not in FUNCTIONS:
        raise layer.error(f"the function {name!r} is unknown; {have(sorted(FUNCTIONS), name)}")
    return FUNCTIONS[name]


def _node(layer: Fields, function: Function, weights: _Weights) -> Node:
    """Return one call: its function, scalar arguments and arrays."""
    params = _params(layer, function, weights)
    shape = tuple(layer.integers("output_shape", function.output.shape(params)))
    return Node(
        function=function,
        params=params,
        inputs=(),
        output=Tensor(layer.text("name"), shape, function.output.dtype),
        weights=layer.text("weights", None),
        bias=layer.text("bias", None),
    )


def _params(layer: Fields, function: Function, weights: _Weights) -> dict[str, int]:
    """Return the scalar arguments: numbers, enumerators, or integers of a header."""
    given = dict(layer.object("params").values)
    try:
        for name, value in given.items():
            if isinstance(value, bool):
                raise Error(f"{name!r} must be an integer")
            if _is_reference(value):
                given[name] = weights.integer(value)
        return function.parse_params(given)
    except Error as error:
        raise layer.error(f"params: {error}") from None


def _addresses(layer: Fields, symbols: _Symbols) -> CallAddresses:
    """Return the addresses of one call."""
    return CallAddresses(
        inputs=tuple(symbols.address(fields) for fields in layer.objects("inputs")),
        output=symbols.address(layer.object("output")),
        scratch=symbols.address(layer.object("scratch")) if "scratch" in layer else None,
    )


def _iterate_wanted(layer: Fields, node: Node) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the arrays that a call reads: name -> (dtype, where it is named)."""
    function = node.function
    for key, array, name in (
        ("weights", function.weights, node.weights),
        ("bias", function.bias, node.bias),
    ):
        if array is not None and name is not None:
            yield name, (array.dtype, f"{layer.where}: {key}")


# ---- its memory: buffers, their parts, and the input and states in them ----


@dataclass(frozen=True)
class _Symbols:
    """Symbols of the memory.

    buffers: name -> bytes. regions: name of a buffer or a part -> its start and its bytes.
    """

    buffers: dict[str, int]
    regions: dict[str, tuple[Address, int]]

    def region(self, name: str, fields: Fields) -> tuple[Address, int]:
        """Return a region by name; fields: the asking object, for errors."""
        if name not in self.regions:
            have = ", ".join(self.regions)
            raise fields.error(f"there is no buffer or part {name!r}; have: {have}")
        return self.regions[name]

    def address(self, fields: Fields) -> Address:
        """Return the address of {"symbol": name, "offset": bytes}."""
        start, _ = self.region(fields.text("symbol"), fields)
        offset = start.offset + fields.integer("offset", 0)
        size = self.buffers[start.buffer]
        if not 0 <= offset < size:
            raise fields.error(
                f"'offset' leads to byte {offset} of {start.buffer!r}, which has only {size} bytes"
            )
        return Address(start.buffer, offset)


def _read_symbols(buffers: Fields) -> _Symbols:
    """Return every buffer, and every part as [offset, bytes]; parts may overlap."""
    symbols = _Symbols({}, {})
    for name, fields in buffers.children():
        size = fields.integer("bytes")
        if size <= 0:
            raise fields.error(f"'bytes' must be positive, not {size}")
        symbols.buffers[name] = size
        _add(symbols, fields, name, Address(name, 0), size)
        parts = fields.object("parts") if "parts" in fields else Fields({}, "")
        for part in parts.values:
            region = parts.integers(part)
            if len(region) != 2 or min(region) < 0 or region[1] == 0 or sum(region) > size:
                raise parts.error(f"{part!r} must be [offset, bytes] within {size} bytes")
            _add(symbols, parts, part, Address(name, region[0]), region[1])
    return symbols


def _add(symbols: _Symbols, fields: Fields, name: str, start: Address, size: int) -> None:
    if symbols.regions.setdefault(name, (start, size))[0] != start:
        raise fields.error(f"the name {name!r} is given two addresses; it must have one")
    symbols.regions[name] = start, size


def _read_entries(
    description: Fields, symbols: _Symbols, taken: Iterable[str]
) -> tuple[tuple[Tensor, Address], list[tuple[Tensor, Address]]]:
    """Return the input, and the states of a recurrent network, each with its address.

    taken: names of layers; an input or a state of the same name is renamed.
    """
    recurrent = description.object("recurrent") if "recurrent" in description else None
    if "input" in description or recurrent is None:
        entry = _plain_input(description.object("input"), symbols)
    else:
        entry = _vector(recurrent, recurrent.text("input", "input"), symbols)
    states = [_vector(recurrent, name, symbols) for name in _states(recurrent)] if recurrent else []
    used = set(taken)
    return _rename_tensor(entry, used), [_rename_tensor(state, used) for state in states]


def _plain_input(fields: Fields, symbols: _Symbols) -> tuple[Tensor, Address]:
    shape = tuple(fields.integers("shape"))
    tensor = Tensor("input", shape, _dtype(fields), fields.integer("frac_bits", None))
    return tensor, symbols.address(fields.object("buffer"))


def _states(recurrent: Fields) -> list[str]:
    """Return the symbols under "state"; without it every X of the keys dim_X except for the
    input's.
    """
    if "state" in recurrent:
        single = isinstance(recurrent.values["state"], str)
        return [recurrent.text("state")] if single else recurrent.texts("state")
    entry = recurrent.text("input", "input")
    names = [key[4:] for key in recurrent.values if key.startswith("dim_")]
    states = [name for name in names if name not in ("input", entry)]
    if not states:
        raise recurrent.error(
            "'state' must name the buffer that keeps its values between time steps"
        )
    return states


def _vector(recurrent: Fields, name: str, symbols: _Symbols) -> tuple[Tensor, Address]:
    """Return a vector in the region of a name: dim_<name> elements, or all of the region."""
    address, size = symbols.region(name, recurrent)
    dtype = _dtype(recurrent)
    length = recurrent.integer(f"dim_{name}", size * 8 // BITS[dtype])
    return Tensor(name, (length,), dtype), address


def _dtype(fields: Fields) -> str:
    dtype = fields.text("dtype")
    if dtype not in BITS:
        raise fields.error(f"'dtype' is {dtype!r}; have: {', '.join(BITS)}")
    return dtype


def _rename_tensor(entry: tuple[Tensor, Address], used: set[str]) -> tuple[Tensor, Address]:
    tensor, address = entry
    name = tensor.name
    while name in used:
        name = f"{name}_buffer"
    used.add(name)
    return Tensor(name, tensor.shape, tensor.dtype, tensor.frac), address


# ---- its weights: arrays of weights.npz, or names in C headers ----


class _Weights:
    """Files next to a network.json; each header is read once.

    A name is an array of weights.npz; a reference, "weights.h:NAME", is a name in a header.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._headers: dict[str, Header] = {}

    def integer(self, reference: str) -> int:
        """Return an integer #define of a header."""
        header, name = self._find(reference)
        return header.integer(name)

    def arrays(self, wanted: _Wanted) -> dict[str, np.ndarray]:
        """Return arrays by their names or references."""
        arrays = {}
        for name, (dtype, where) in wanted.items():
            if _is_reference(name):
                try:
                    header, symbol = self._find(name)
                    arrays[name] = header.array(symbol, dtype)
                except ModelError as error:
                    raise ModelError(f"{where}: {error}") from None
        stored = [name for name in wanted if name not in arrays]
        if stored:
            arrays.update(_read_npz(self._folder / "weights.npz", stored, wanted))
        return arrays

    def _find(self, reference: str) -> tuple[Header, str]:
        parts = _REFERENCE.fullmatch(reference)
        path = PurePosixPath(parts[1]) if parts else PurePosixPath("..")
        if parts is None or path.is_absolute() or ".." in path.parts:
            raise ModelError(
                f"{reference!r} must be a header next to network.json and a name in it, "
                "such as weights.h:CONV1_WT"
            )
        if parts[1] not in self._headers:
            self._headers[parts[1]] = Header(self._folder / path)
        return self._headers[parts[1]], parts[2]


class _Given(_Weights):
    """Arrays that a caller has."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(Path())
        self._arrays = arrays

    def arrays(self, wanted: _Wanted) -> dict[str, np.ndarray]:
        """Return arrays by their names."""
        for name, (_, where) in wanted.items():
            if name not in self._arrays:
                raise ModelError(f"{where}: there is no array {name!r}")
        return {name: self._arrays[name] for name in wanted}


def _is_reference(name: object) -> bool:
    """True if a string names an entry of a header."""
    return isinstance(name, str) and ":" in name


def _read_npz(path: Path, names: list[str], wanted: _Wanted) -> dict[str, np.ndarray]:
    if not path.exists():
        _, where = wanted[names[0]]
        raise ModelError(f"{where} names the array {names[0]!r}, but there is no file {path}")
    with open_archive(path) as archive:
        for name in names:
            if f"{name}.npy" not in archive.names:
                raise ModelError(f"{wanted[name][1]}: there is no array {name!r} in {path}")
        return {name: archive.array(f"{name}.npy") for name in names}
