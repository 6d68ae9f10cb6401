"""ESP-DL: networks of .espdl files, as Espressif's chips compute them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from ...errors import Error, ModelError
from ...io.files import MEGABYTE, read_bytes
from ...ir.graph import Graph, Tensor
from ...ir.model_file import ModelFile
from .activation import ACTIVATION
from .building import EspBuilder, as_tensor
from .call import Converter, EspCall
from .container import open_model
from .elementwise import ELEMENTWISE
from .layers import LAYERS
from .model import EspModel, EspValue
from .movement import MOVEMENT
from .norms import NORMS
from .pooling import POOLING
from .recurrent import RECURRENT
from .weights import ORDERS, are_in_blocks, find_chip, needs_blocks

#: Operator -> function that adds its calls to a network.
CONVERTERS: dict[str, Converter] = {
    **LAYERS,
    **ELEMENTWISE,
    **ACTIVATION,
    **POOLING,
    **NORMS,
    **RECURRENT,
    **MOVEMENT,
}

#: Most bytes of a file.
FILE_LIMIT = 512 * MEGABYTE


def read(path: Path, model: Optional[str] = None, target: Optional[str] = None) -> ModelFile:
    """Read a network, with notes.

    model: the name of a model in a pack. target: the chip that the file was exported for, if
    neither the file nor the labels of its weights tell. Raises ModelError with one sentence for a
    damaged file, or for unsupported content.
    """
    try:
        file = EspModel(open_model(read_bytes(path, FILE_LIMIT), model))
        graph, builder = _convert(path.stem, file, target)
        return ModelFile(graph, notes=_list_notes(file, builder))
    except Error as error:
        raise ModelError(f"{path.name}: {error}") from None


def read_network(name: str, data: bytes) -> Graph:
    """Return the network of the bytes of a file of one model, under a name.

    Raises as read(), without the name of a file.
    """
    return _convert(name, EspModel(open_model(data, None)), None)[0]


def load_with_values(path: Path) -> tuple[Graph, dict[str, EspValue], EspModel]:
    """Return the network of a file, the value of each tensor of the file, and its content.

    Raises as read().
    """
    try:
        file = EspModel(open_model(read_bytes(path, FILE_LIMIT), None))
        graph, builder = _convert(path.stem, file, None)
        return graph, builder.values, file
    except Error as error:
        raise ModelError(f"{path.name}: {error}") from None


def read_for_chip(name: str, data: bytes, chip: str) -> tuple[dict[str, EspValue], EspModel]:
    """Return the value of each tensor of a file of one model, and its content, for firmware of a
    chip.

    Raises ModelError for a pack, and if the chip's kernels read weights in another order.
    """
    if data[:4] != b"EDL2":
        raise ModelError(f"{name}: it is a pack; give a file of one model")
    file = EspModel(open_model(data, None))
    blocks = are_in_blocks(file.target, None, file.constants.values())
    if blocks is not None and blocks != needs_blocks(chip):
        raise ModelError(
            f"{name}: its weights are in the order {ORDERS[blocks]}, and the kernels of the "
            f"{chip} read them in the order {ORDERS[not blocks]}; export the network for this chip"
        )
    return _convert(name, file, None)[1].values, file


def list_results(
    file: EspModel, values: Mapping[str, EspValue], graph: Graph
) -> list[tuple[str, int]]:
    """Return the results of nodes that the network has as well, and their bytes."""
    made = {node.name: node.output.nbytes for node in graph.nodes}
    names = [name for node in file.nodes for name in node.outputs]
    return [(name, made[name]) for name in names if values[name].name == name in made]


def _convert(name: str, file: EspModel, target: Optional[str]) -> tuple[Graph, EspBuilder]:
    _check_operators(file)
    blocks = are_in_blocks(file.target, target, file.constants.values())
    chip = find_chip(file.target or target, blocks, file.constants.values())
    builder = EspBuilder(file, blocks, chip)
    inputs = [_add_input(builder, value) for value in file.inputs]
    for node in file.nodes:
        try:
            CONVERTERS[node.operator](EspCall(node, builder))
        except Error as error:
            raise ModelError(f"{node}: {error}") from None
    for value in file.outputs:
        found = builder.value(value.name)
        if found.name != value.name or value.name not in {node.name for node in builder.nodes}:
            builder.copy_value(found, value.name)
    graph = Graph(
        name=name,
        inputs=tuple(inputs),
        nodes=tuple(builder.nodes),
        outputs=tuple(value.name for value in file.outputs),
        arrays=builder.arrays,
        states=tuple(builder.states),
    )
    return graph, builder


def _check_operators(file: EspModel) -> None:
    """Refuse all operators that are not supported, at once, with a node of each."""
    first = {node.operator: node for node in reversed(file.nodes)}
    unknown = [str(node) for name, node in first.items() if name not in CONVERTERS]
    if unknown:
        raise ModelError(f"it has operators that are not supported: {', '.join(unknown[:20])}")


def _list_notes(file: EspModel, builder: EspBuilder) -> tuple[str, ...]:
    chips = "an ESP32-S3 or ESP32-P4" if builder.blocks else "generic C (ESP32, S2, C3, C6)"
    target = file.target or chips
    return (
        f"it was exported for {target}: a chip whose kernels read weights in another order needs "
        "another file of the same network",
    )


def _add_input(builder: EspBuilder, value: EspValue) -> Tensor:
    if value.dtype not in ("int8", "int16", "float32") or not value.size:
        raise ModelError(f"its input {value} must be int8, int16 or float32, and not empty")
    builder.set(value.name, value)
    return as_tensor(value)
