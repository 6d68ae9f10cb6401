"""Reading and writing of layers as text: .prototxt files with the manual's field names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Union

from ..errors import ModelError
from .layers import ATTRIBUTES, Layer

#: Layer type -> the block with its attributes; Input has its own form.
_BLOCKS = {
    "ReLU": "relu_param",
    "InnerProduct": "inner_product_param",
    "Convolution": "convolution_param",
    "Pooling": "pooling_param",
    "Scale": "scale_param",
    "Slice": "slice_param",
    "Concat": "concat_param",
    "Eltwise": "eltwise_param",
    "ShuffleChannel": "shuffle_channel_param",
}

#: Attribute that is a tuple -> its fields.
_FIELDS = {
    "kernel_size": ("kernel_size_h", "kernel_size_w"),
    "stride": ("stride_h", "stride_w"),
    "pad": ("pad_n", "pad_s", "pad_w", "pad_e"),
    "dilation": ("dilation_h", "dilation_w"),
}

Value = Union[str, int, float, bool, "Block"]
#: Fields in order, with repetitions.
Block = list[tuple[str, Any]]

_TOKEN = re.compile(
    r'\s+|#[^\n]*|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<word>[^\s{}:"#]+)|(?P<mark>[{}:])'
)
_DEPTH = 8


def write_layers(layers: Sequence[Layer]) -> str:
    """Return the text of a network."""
    return "".join(f"layer {{\n{_spell(_format_layer(layer), 1)}}}\n" for layer in layers)


def read_layers(text: str, where: str) -> list[Layer]:
    """Return the layers of a text; raise ModelError, with the line, for other text."""
    tokens = _tokens(text, where)
    fields = list(_parse_fields(tokens, where, 0))
    layers = [_to_layer(value, where) for name, value in fields if name in ("layer", "layers")]
    if len(layers) < len(fields) or not layers:
        raise ModelError(f"{where} is not a list of layers")
    return layers


def _format_layer(layer: Layer) -> Block:
    fields: Block = [("name", layer.name), ("type", layer.type)]
    fields += [("bottom", name) for name in layer.bottoms]
    fields += [("top", name) for name in layer.tops]
    if layer.type == "Input":
        shape = [("dim", size) for size in layer.attributes()["dim"]]
        return [*fields, ("input_param", [("shape", shape)])]
    inner: Block = []
    for key, value in layer.attributes().items():
        if key in _FIELDS:
            inner += zip(_FIELDS[key], value)
        elif isinstance(value, list):
            inner += [(key, item) for item in value]
        else:
            inner.append((key, _Word(value.upper()) if key in ("pool", "operation") else value))
    return [*fields, (_BLOCKS[layer.type], inner)] if inner else fields


class _Word(str):
    """A text that is written without quotes."""


def _spell(block: Block, depth: int) -> str:
    lines, indent = [], "  " * depth
    for name, value in block:
        if isinstance(value, list):
            lines.append(f"{indent}{name} {{\n{_spell(value, depth + 1)}{indent}}}\n")
        else:
            lines.append(f"{indent}{name}: {_scalar(value)}\n")
    return "".join(lines)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not isinstance(value, _Word):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return repr(value) if isinstance(value, float) else str(value)


def _tokens(text: str, where: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and line of every token, then the end."""
    at, line = 0, 1
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ModelError(f"{where}:{line}: the text is not that of a network")
        if token.lastgroup is not None:
            yield token.lastgroup, token.group(), line
        line += token.group().count("\n")
        at = token.end()
    yield "end", "", line


def _parse_fields(
    tokens: Iterator[tuple[str, str, int]], where: str, depth: int
) -> Iterator[tuple[str, Any]]:
    """Yield the fields up to the end of a block."""
    if depth > _DEPTH:
        raise ModelError(f"{where} is nested too deeply")
    for kind, text, line in tokens:
        if ((kind, text) == ("mark", "}") and depth) or (kind == "end" and not depth):
            return
        if kind != "word":
            raise ModelError(
                f"{where}:{line}: expected the name of a field, found {text or 'the end'!r}"
            )
        mark = next(tokens)[1]
        if mark == ":":
            kind, value, line = next(tokens)
            if value == "{":
                yield text, list(_parse_fields(tokens, where, depth + 1))
            elif kind in ("word", "text"):
                yield text, _value(kind, value)
            else:
                raise ModelError(f"{where}:{line}: {text} has no value")
        elif mark == "{":
            yield text, list(_parse_fields(tokens, where, depth + 1))
        else:
            raise ModelError(f"{where}:{line}: {text} has no value")
    raise ModelError(f"{where} ends in the middle of a layer")


def _value(kind: str, text: str) -> Union[str, int, float, bool]:
    if kind == "text":
        plain = {"n": "\n", "\\": "\\", '"': '"'}
        return re.sub(r"\\(.)", lambda m: plain.get(m.group(1), m.group(1)), text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except (ValueError, OverflowError):
            continue
    return text


def _to_layer(block: Any, where: str) -> Layer:
    fields = block if isinstance(block, list) else []
    known = {"name", "type", "bottom", "top", "input_param", *_BLOCKS.values()}
    for name, _ in fields:
        if name not in known:
            raise ModelError(f"{where}: a layer has no field {name!r}")
    kind, name = (_single(fields, key, where) for key in ("type", "name"))
    if not isinstance(kind, str) or not isinstance(name, str):
        raise ModelError(f"{where}: a layer has no name or no type")
    tensors = {key: [v for n, v in fields if n == key] for key in ("bottom", "top")}
    if not all(isinstance(v, str) for values in tensors.values() for v in values):
        raise ModelError(f"{where}: the tensors of layer {name!r} must be texts")
    ends = {
        key: values[0] if len(values) == 1 else values or None for key, values in tensors.items()
    }
    attributes = _attributes(str(kind), fields, f"{where}: layer {name!r}")
    try:
        return Layer(str(kind), str(name), ends["bottom"], ends["top"], **attributes)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{where}: {error}") from None


def _single(fields: Block, key: str, where: str) -> Any:
    values = [value for name, value in fields if name == key]
    if len(values) > 1:
        raise ModelError(f"{where}: a layer has {len(values)} fields {key!r}")
    return values[0] if values else None


def _attributes(kind: str, fields: Block, where: str) -> dict[str, Any]:
    """Return the attributes in the block of the type."""
    if kind == "Input":
        shape = _single(_single(fields, "input_param", where) or [], "shape", where) or []
        return {"dim": tuple(value for name, value in shape if name == "dim")}
    block = _single(fields, _BLOCKS.get(kind, ""), where) or []
    values: dict[str, list[Any]] = {}
    for name, value in block:
        values.setdefault(name, []).append(value)
    attributes: dict[str, Any] = {}
    for key, default in ATTRIBUTES.get(kind, {}).items():
        if key in _FIELDS:
            given = [values.pop(field, [None])[0] for field in _FIELDS[key]]
            if any(value is not None for value in given):
                usual = default if isinstance(default, tuple) else (1,) * len(given)
                attributes[key] = tuple(u if v is None else v for v, u in zip(given, usual))
        elif key in values:
            items = values.pop(key)
            attributes[key] = items if key == "slice_point" else items[0]
    if values:
        raise ModelError(f"{where}: {kind} has no {next(iter(values))!r}")
    return attributes
