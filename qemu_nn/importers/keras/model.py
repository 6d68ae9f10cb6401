"""Connections of the layers of a model: sequential, functional, nested models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from ...ir.float_graph import FloatGraph
from ...ir.tensors import make_free_name
from .building import KerasBuilder
from .config import OPERANDS, KerasLayer
from .layers import CONVERTERS, Converter
from .operations import OPERATIONS
from .qkeras import CONVERTERS as QKERAS
from .reading import Stored

_MODELS = ("Sequential", "Functional", "Model")

#: (layer, index of its call)
Call = tuple[str, int]


def build(name: str, stored: Stored) -> FloatGraph:
    """Return the network of an open file."""
    builder = KerasBuilder(name)
    outputs = _model(builder, stored, stored.config, "", [])
    return builder.graph(outputs)


def _model(
    builder: KerasBuilder,
    stored: Stored,
    config: Mapping[str, Any],
    place: str,
    given: Sequence[str],
    owners: tuple[str, ...] = (),
) -> list[str]:
    """Add a model, with its position among the weights, on given inputs; return its outputs.

    owners: see Stored.arrays().
    """
    kind, inner = config.get("class_name"), config.get("config")
    if kind not in _MODELS:
        raise ModelError(f"{builder.name} is of the class {kind!r}; have: {', '.join(_MODELS)}")
    layers = inner if isinstance(inner, list) else _entry(inner, builder.name).get("layers")
    if not isinstance(layers, list):
        raise ModelError(f"{builder.name}: its description has no layers")
    entries = [_entry(layer, builder.name) for layer in layers]
    whole = _Model(builder, stored, entries, place, given, owners)
    if kind == "Sequential":
        return whole.sequential(inner if isinstance(inner, dict) else {})
    return whole.functional(_entry(inner, builder.name))


class _Model:
    """One model: its layers, and the tensors of their calls so far."""

    def __init__(
        self,
        builder: KerasBuilder,
        stored: Stored,
        layers: list[dict[str, Any]],
        place: str,
        given: Sequence[str],
        owners: tuple[str, ...],
    ) -> None:
        self.owners = owners
        self.builder, self.stored, self.given = builder, stored, list(given)
        self.layers: dict[str, dict[str, Any]] = {}
        self.places: dict[str, str] = {}
        self.made: dict[Call, list[str]] = {}
        self.busy: set[Call] = set()
        seen: Counter[str] = Counter()
        for layer in layers:
            kind, name = self._kind(layer), self._name(layer)
            if name in self.layers:
                raise ModelError(f"{builder.name}: two layers are called {name!r}")
            stem = _snake_case(kind)
            index = seen[stem]
            seen[stem] += 1
            self.layers[name] = layer
            self.places[name] = f"{place}layers/{stem}{f'_{index}' if index else ''}"

    def _kind(self, layer: Mapping[str, Any]) -> str:
        kind = layer.get("class_name")
        if not isinstance(kind, str):
            place = f"layer {layer['name']!r}" if "name" in layer else "a layer"
            raise ModelError(f"{self.builder.name}: {place} has no class_name")
        return kind

    def _name(self, layer: Mapping[str, Any]) -> str:
        inner = layer.get("config")
        name = layer.get("name") or (inner.get("name") if isinstance(inner, dict) else None)
        if not isinstance(name, str) or not name:
            raise ModelError(f"{self.builder.name}: a {layer.get('class_name')!r} has no name")
        return name

    def sequential(self, config: Mapping[str, Any]) -> list[str]:
        """Return each layer on the one before."""
        last: Optional[str] = self.given[0] if self.given else None
        for name, layer in self.layers.items():
            options = _entry(layer.get("config"), self.builder.name)
            shape = options.get("batch_shape") or options.get("batch_input_shape")
            if layer["class_name"] == "InputLayer":
                last = last or self.builder.start(name, shape)
                continue
            if last is None:
                shape = shape or config.get("build_input_shape")
                last = self.builder.start(f"{name}_input", shape)
            last = self._convert(name, layer, [last], {}, name)[0]
        if last is None:
            raise ModelError(f"{self.builder.name} has no layers")
        return [last]

    def functional(self, config: Mapping[str, Any]) -> list[str]:
        """Return the outputs and their dependencies."""
        starts = _refs(config.get("input_layers"), self.builder.name)
        if self.given and len(starts) != len(self.given):
            counts = f"{len(starts)} inputs, but is called with {len(self.given)}"
            raise ModelError(f"{self.builder.name}: a model inside it has {counts}")
        for (name, call, _), tensor in zip(starts, self.given):
            self.made[name, call] = [tensor]
        for start in [] if self.given else starts:
            self._tensor(*start)
        outputs = _refs(config.get("output_layers"), self.builder.name)
        for name in self.layers:  # in the order of the file, if that is executable
            for call in range(self._calls(name)):
                self._tensor(name, call, 0)
        return [self._tensor(name, call, index) for name, call, index in outputs]

    def _calls(self, name: str) -> int:
        nodes = self.layers[name].get("inbound_nodes")
        return len(nodes) if isinstance(nodes, list) and nodes else 1

    def _tensor(self, name: str, call: int, index: int) -> str:
        """Return the output of one call of a layer; compute its dependencies first."""
        if (name, call) not in self.made:
            if name not in self.layers:
                raise ModelError(f"{self.builder.name}: there is no layer {name!r}")
            if (name, call) in self.busy or len(self.busy) > 500:
                raise ModelError(f"{self.builder.name}: layer {name!r} depends on itself")
            self.busy.add((name, call))
            self.made[name, call] = self._call_model(name, call)
            self.busy.remove((name, call))
        made = self.made[name, call]
        if not 0 <= index < len(made):
            raise ModelError(f"{self.builder.name}: layer {name!r} has no output {index}")
        return made[index]

    def _call_model(self, name: str, call: int) -> list[str]:
        layer = self.layers[name]
        if layer["class_name"] == "InputLayer":
            options = _entry(layer.get("config"), self.builder.name)
            shape = options.get("batch_shape") or options.get("batch_input_shape")
            return [self.builder.start(name, shape)]
        nodes = layer.get("inbound_nodes")
        if not isinstance(nodes, list) or not 0 <= call < len(nodes):
            raise ModelError(f"{self.builder.name}: layer {name!r} is not called {call + 1} times")
        sources, arguments = _sources(nodes[call], f"{self.builder.name}: layer {name!r}")
        inputs = [self._tensor(*source) for source in sources]
        return self._convert(name, layer, inputs, arguments, f"{name}/{call}" if call else name)

    def _converter(self, name: str, entry: Mapping[str, Any]) -> tuple[bool, Converter]:
        """Return true if a layer has weights, and its converter."""
        kind, operation = entry["class_name"], ".ops." in str(entry.get("module"))
        if kind in OPERATIONS and (operation or kind not in CONVERTERS):
            return False, OPERATIONS[kind]
        if kind in CONVERTERS:
            return CONVERTERS[kind]
        where = f"{self.builder.name}: {kind} {name!r}"
        if kind.startswith("Q") and kind[1:] in CONVERTERS:
            raise ModelError(
                f"{where} is a layer of QKeras, whose quantizers change its weights; have: "
                f"{', '.join(sorted(QKERAS))}. Build the model of {kind[1:]} with the weights of "
                "qkeras.utils.model_save_quantized_weights, and save that"
            )
        have = ", ".join(sorted({*CONVERTERS, *OPERATIONS}))
        raise ModelError(f"{where} is not supported; have: {have}")

    def _weights(self, name: str) -> list[np.ndarray]:
        return self.stored.arrays(name, self.places[name], self.owners)

    def _convert(
        self,
        name: str,
        entry: Mapping[str, Any],
        inputs: list[str],
        arguments: Mapping[str, Any],
        as_name: str,
    ) -> list[str]:
        builder, kind = self.builder, entry["class_name"]
        if as_name in builder.shapes:  # a layer of another model has this name
            as_name = make_free_name("/".join((*self.owners, as_name)), builder.shapes)
        if kind in _MODELS:
            place, owners = f"{self.places[name]}/", (*self.owners, name)
            return _model(builder, self.stored, entry, place, inputs, owners)
        needs, convert = self._converter(name, entry)
        if not inputs:
            raise ModelError(f"{builder.name}: layer {name!r} has no inputs")
        weights = self._weights(name) if needs else []
        options = _entry(entry.get("config"), builder.name)
        layer = KerasLayer(kind, as_name, options, weights, arguments, self.stored.version)
        try:
            return [convert(layer, builder, inputs)]
        except ModelError as error:
            text = str(error)
            raise ModelError(
                text if text.startswith(builder.name) else f"{builder.name}: {text}"
            ) from None


def _entry(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ModelError(f"{where}: this is not a description as Keras writes it")
    return value


def _ref(value: Any) -> bool:
    """True if the value is [layer, call, index of the output, ...]."""
    return (
        isinstance(value, list)
        and len(value) >= 3
        and isinstance(value[0], str)
        and type(value[1]) is int
        and type(value[2]) is int
    )


def _refs(value: Any, where: str) -> list[tuple[str, int, int]]:
    """Return one reference, or a list of them, or one for each name."""
    refs = [value] if _ref(value) else list(value.values()) if isinstance(value, dict) else value
    if not isinstance(refs, list) or not refs or not all(map(_ref, refs)):
        raise ModelError(f"{where}: its inputs or outputs are not described")
    return [(ref[0], ref[1], ref[2]) for ref in refs]


def _sources(node: Any, where: str) -> tuple[list[tuple[str, int, int]], dict[str, Any]]:
    """Return the input tensors of a call, and its further arguments, in any of Keras's three
    spellings.
    """
    if isinstance(node, dict):
        found: list[Any] = []
        _histories([node.get("args"), node.get("kwargs")], found, 0)
        named = node.get("kwargs")
        arguments = dict(named) if isinstance(named, dict) else {}
        arguments[OPERANDS] = _list_operands(node.get("args"))
        return _refs(found, where), arguments
    flat = [node] if _ref(node) else node
    if not isinstance(flat, list) or not flat:
        raise ModelError(f"{where}: its inputs are not described")
    last = flat[-1][3] if isinstance(flat[-1], list) and len(flat[-1]) > 3 else {}
    arguments = dict(last) if isinstance(last, dict) else {}
    operands: list[Any] = []
    refs: list[Any] = []
    for value in (*flat, *(arguments.get(key) for key in ("y", "b") if key in arguments)):
        if isinstance(value, list) and value[:1] == [_CONSTANT] and len(value) > 2:
            operands.append(value[2])
        elif _ref(value):
            refs.append(value)
            operands.append(None)
        elif value in flat:
            refs.append(value)  # which _refs() refuses
        else:
            operands.append(value)
    arguments[OPERANDS] = operands
    return _refs(refs, where), arguments


#: The place of a number among the inputs of a call in Keras 2.
_CONSTANT = "_CONSTANT_VALUE"


def _list_operands(args: Any) -> list[Any]:
    """Return the arguments of a call in order: None for each tensor, and for each of a list."""
    found: list[Any] = []
    for value in args if isinstance(args, list) else []:
        inside: list[Any] = []
        _histories(value, inside, 0)
        found += [None] * len(inside) if inside else [value]
    return found


def _histories(value: Any, found: list[Any], depth: int) -> None:
    """Yield every __keras_tensor__ in the arguments of a call."""
    if isinstance(value, list) and depth < 8:
        for item in value:
            _histories(item, found, depth + 1)
    elif isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
        config = value.get("config")
        found.append(config.get("keras_history") if isinstance(config, dict) else None)


def _snake_case(kind: str) -> str:
    """Return a class name in the spelling of .keras files."""
    split = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", kind))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", split).lower()
