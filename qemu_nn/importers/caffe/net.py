"""Network of a .prototxt, in Caffe's TEST phase: the inputs of each layer."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ...errors import ModelError
from ...io import files
from ...io.optional_deps import require
from ...operators import Shape
from .schema import new

_LIMIT = 2 * files.MEGABYTE
#: Types of the older form whose newer name is a different word.
_RENAMED = {
    "RELU": "ReLU",
    "TANH": "TanH",
    "LRN": "LRN",
    "SOFTMAX_LOSS": "SoftmaxWithLoss",
    "HDF5_OUTPUT": "HDF5Output",
}


@dataclass(frozen=True)
class Step:
    """A layer, its input and output tensors; fields: its protobuf message."""

    name: str
    type: str
    fields: Any
    reads: tuple[str, ...]
    makes: tuple[str, ...]


@dataclass(frozen=True)
class Net:
    """Layers in order. Every write to a blob is a tensor of its own, with the layer's name.

    sources: the inputs, with a leading batch axis, or None if the file lacks it. crops: height and
    width to which an input is cut, or 0. tensors: name of a layer or blob -> its tensor. outputs:
    tensors without readers.
    """

    name: str
    sources: dict[str, Optional[Shape]]
    crops: dict[str, int]
    steps: tuple[Step, ...]
    tensors: dict[str, str]
    outputs: tuple[str, ...]

    def tensor(self, name: str) -> str:
        """Return the output of a layer, or the last tensor of a blob."""
        if name not in self.tensors:
            have = textwrap.shorten(", ".join(self.tensors), 400, placeholder=" ...")
            raise ModelError(f"no layer or blob {name!r} is computed; have: {have}")
        return self.tensors[name]

    def between(self, start: Optional[str], ends: Iterable[str]) -> tuple[str, list[Step]]:
        """Return the only tensor that the ends depend on, and the layers after it.

        start: first tensor; the network's input if None.
        """
        wanted, steps = set(ends), []
        for step in reversed(self.steps):
            if any(tensor in wanted and tensor != start for tensor in step.makes):
                steps.append(step)
                wanted.update(step.reads)
        found = [name for name in dict.fromkeys((start, *self.sources)) if name in wanted]
        if start not in (None, *found):
            raise ModelError(f"the output does not depend on {start!r}")
        if not found:
            raise ModelError("there are no layers between an input and the output")
        if len(found) > 1:
            raise ModelError(
                f"it has the inputs {', '.join(map(repr, found))}; only networks with one are "
                "supported: choose a part with input= and output="
            )
        return str(found[0]), steps[::-1]


def read_net(path: Path) -> Net:
    """Return the TEST net of a .prototxt, in the current or the older (V1) form."""
    text = files.read_bytes(path, _LIMIT).decode("utf-8", "replace")
    text_format = require("google.protobuf.text_format", "caffe", "reading a Caffe network")
    net = new("NetParameter")
    try:
        text_format.Parse(text, net, allow_unknown_field=True)
    except text_format.ParseError as error:
        reason = textwrap.shorten(str(error), 300, placeholder=" ...")
        raise ModelError(f"this is not a Caffe network: {reason}") from None
    except RecursionError:
        raise ModelError("this is nested too deeply") from None
    if net.layer and net.layers:
        raise ModelError("it mixes 'layer' and 'layers', the current form and the older one")
    if any(layer.HasField("layer") for layer in net.layers):
        raise ModelError(
            "this is Caffe's oldest form (V0); convert it with Caffe's upgrade_net_proto_text"
        )
    return _connect_blobs(net, [layer for layer in net.layer or net.layers if _is_tested(layer)])


def _is_tested(layer: Any) -> bool:
    """True if a layer is part of the TEST net, at level 0 and without stages."""
    if layer.include:
        return any(map(_is_met, layer.include))
    return not any(map(_is_met, layer.exclude))


def _is_met(rule: Any) -> bool:
    other_phase = rule.HasField("phase") and rule.phase != 1
    return not (other_phase or rule.min_level > 0 or rule.max_level < 0 or rule.stage)


def _connect_blobs(net: Any, layers: Sequence[Any]) -> Net:
    """Connect layers by blobs; None marks blobs that depend on labels, or exist in
    training only.
    """
    sources, crops = _inputs(net.input, _read_declared_shapes(net)), {}
    blobs: dict[str, Optional[str]] = {name: name for name in sources}
    first: dict[str, Optional[str]] = {}
    names = {layer.name for layer in layers}
    steps = []
    for layer in layers:
        kind, reads = _type(layer), [_get_tensor(blobs, name, layer.name) for name in layer.bottom]
        made: list[Optional[str]] = [None] * len(layer.top)
        if not reads:
            found = _read_input_layers(layer, kind)
            sources.update(found)
            crops.update(dict.fromkeys(found, layer.transform_param.crop_size))
            made[: len(found)] = found  # what follows are labels
        elif kind == "Split":
            made = reads[:1] * len(layer.top)
        elif not (None in reads or _is_for_training(kind)):
            if layer.name in first:
                raise ModelError(f"two layers of the TEST net are called {layer.name!r}")
            makes = _name_tensors(layer, kind, names)
            steps.append(Step(layer.name, kind, layer, tuple(map(str, reads)), makes))
            made[: len(makes)] = makes
        blobs.update(zip(layer.top, made))
        first.update((layer.name, tensor) for tensor in made[:1])
    read = {name for step in steps for name in step.reads}
    return Net(
        name=net.name,
        sources=sources,
        crops=crops,
        steps=tuple(steps),
        tensors={name: tensor for name, tensor in {**blobs, **first}.items() if tensor is not None},
        outputs=tuple(name for step in steps for name in step.makes if name not in read),
    )


def _get_tensor(blobs: dict[str, Optional[str]], name: str, reader: str) -> Optional[str]:
    """Return the current tensor of a blob."""
    if name not in blobs:
        raise ModelError(
            f"layer {reader!r} reads the blob {name!r}, which no earlier layer of the TEST net "
            "writes"
        )
    return blobs[name]


def _name_tensors(layer: Any, kind: str, names: set[str]) -> tuple[str, ...]:
    """Return the names of a layer's outputs: its own name, or the tops' if there are several."""
    if kind != "Slice":
        return (layer.name,) * bool(layer.top)
    return tuple(f"{layer.name}/{top}" if top in names else top for top in layer.top)


def _type(layer: Any) -> str:
    """Return the type in the current spelling."""
    if isinstance(layer.type, str):
        return layer.type
    enum = layer.DESCRIPTOR.fields_by_name["type"].enum_type
    name: str = enum.values_by_number[layer.type].name
    return _RENAMED.get(name, name.title().replace("_", ""))


def _is_for_training(kind: str) -> bool:
    return kind in ("Accuracy", "HDF5Output") or kind.endswith("Loss")


def _read_declared_shapes(net: Any) -> list[Shape]:
    """Return the shapes of inputs declared outside layers: as lists, or four numbers for each."""
    flat = list(net.input_dim)
    pieces = [tuple(flat[i : i + 4]) for i in range(0, len(flat), 4)]
    return [tuple(shape.dim) for shape in net.input_shape] or pieces


def _read_input_layers(layer: Any, kind: str) -> dict[str, Optional[Shape]]:
    """Return the inputs that a layer without bottoms supplies: all its tops, or the images only."""
    if kind != "Input":
        return _inputs(layer.top[:1], [])
    return _inputs(layer.top, [tuple(shape.dim) for shape in layer.input_param.shape])


def _inputs(names: Sequence[str], shapes: list[Shape]) -> dict[str, Optional[Shape]]:
    """Return each input and its shape; a single shape applies to all, and none leaves it open."""
    given: list[Optional[Shape]] = [*shapes] if shapes else [None]
    given = given * len(names) if len(given) == 1 else given
    if len(given) != len(names):
        raise ModelError(f"it has {len(names)} inputs, but shapes for {len(given)}")
    return dict(zip(names, given))
