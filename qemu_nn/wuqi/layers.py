"""Networks in the form of the NPU's kit: lists of Layer objects, and the names of their tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Optional, Union

import numpy as np

from ..errors import ModelError

Names = Union[str, Sequence[str], None]

#: The default of attributes that a layer must be given.
_NEEDED = object()

_WINDOW = {"kernel_size": _NEEDED, "stride": (1, 1), "pad": (0, 0, 0, 0), "dilation": (1, 1)}

#: Layer type -> its own attributes and their defaults, named as in chapter 6 of the manual.
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "Input": {"dim": _NEEDED},
    "Sigmoid": {},
    "ReLU": {"negative_slope": 0.0},
    "ReLU6": {},
    "TanH": {},
    "InnerProduct": {"num_output": _NEEDED, "bias_term": True},
    "Convolution": {"num_output": _NEEDED, **_WINDOW, "bias_term": True, "group": 1},
    "Pooling": {**_WINDOW, "pool": "MAX"},
    "BatchNorm": {},
    "Bias": {},
    "Scale": {"bias_term": True},
    "Slice": {"axis": 1, "slice_point": _NEEDED},
    "Concat": {"axis": 1},
    "Eltwise": {"operation": "sum"},
    "Softmax": {},
    "LogSoftmax": {},
    "ShuffleChannel": {"group": _NEEDED},
    "ScaleByTensor": {},
}

#: Types with weights, and with biases (Convolution, InnerProduct, Scale: if bias_term).
WEIGHTED = ("Convolution", "InnerProduct", "BatchNorm", "Scale")
BIASED = (*WEIGHTED, "Bias")

#: Lengths of the attributes that are tuples: four for "dim" and the pads, else two.
_TUPLES = {"dim": 4, "kernel_size": 2, "stride": 2, "pad": 4, "dilation": 2}


class Layer:
    """One layer: its type, its name, its input and output tensors, and its attributes.

    Parameters
    ----------
    type : str
        A type of chapter 6 of the manual, such as "Convolution".
    name : str
        The name of the layer; parameters are called after it.
    bottom, top : str or list of str, optional
        The tensors that it reads and makes; an Input has no bottom.
    **attributes
        The attributes of the type: kernel_size, stride and dilation (vertical, horizontal), pad
        (north, south, west, east), dim (1, channels, height, width), num_output, bias_term, group,
        pool, negative_slope, axis, slice_point, operation.

    Attributes
    ----------
    type, name, bottom, top
        See the parameters; every attribute of the type is an attribute of the object, too.

    Raises
    ------
    ModelError
        The type is unknown, or an attribute is missing, unknown, or of another type.

    References
    ----------
    The kit's manual, chapters 3.1 and 6.

    Examples
    --------
    >>> Layer("Convolution", "conv", "x", "y", num_output=8, kernel_size=3, pad=(1, 1, 1, 1)).stride
    (1, 1)
    """

    def __init__(
        self, type: str, name: str, bottom: Names = None, top: Names = None, **attributes: Any
    ) -> None:
        if type not in ATTRIBUTES:
            raise ModelError(f"there is no layer type {type!r}; have: {', '.join(ATTRIBUTES)}")
        own = ATTRIBUTES[type]
        for key in attributes:
            if key not in own:
                have = ", ".join(own) or "none of its own"
                raise ModelError(f"{type} {name!r} has no attribute {key!r}; have: {have}")
        missing = [
            key for key, default in own.items() if default is _NEEDED and key not in attributes
        ]
        if missing:
            raise ModelError(f"{type} {name!r} lacks {', '.join(missing)}")
        self.type, self.name = type, name
        self.bottom = list(bottom) if isinstance(bottom, (list, tuple)) else bottom
        self.top = list(top) if isinstance(top, (list, tuple)) else top
        for key, default in own.items():
            setattr(self, key, _check_attribute(self, key, attributes.get(key, default)))

    @property
    def bottoms(self) -> list[str]:
        """Input tensors, as a list."""
        return _list_names(self.bottom)

    @property
    def tops(self) -> list[str]:
        """Output tensors, as a list."""
        return _list_names(self.top)

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of its type, by name.

        Returns
        -------
        dict of str to object
            Integers, tuples, texts and numbers, as chapter 6 of the manual has them.
        """
        return {key: getattr(self, key) for key in ATTRIBUTES[self.type]}

    def __repr__(self) -> str:
        parts = [repr(self.type), f"name={self.name!r}"]
        parts += [f"{key}={value!r}" for key, value in (("bottom", self.bottom), ("top", self.top))]
        parts += [f"{key}={value!r}" for key, value in self.attributes().items()]
        return f"Layer({', '.join(parts)})"


def _list_names(names: Names) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def _check_attribute(layer: Layer, key: str, value: Any) -> Any:
    """Return an attribute in its own type; an integer for both directions becomes a pair."""
    where = f"{layer.type} {layer.name!r}: {key}"
    if key in _TUPLES:
        count = _TUPLES[key]
        values = (value,) * count if type(value) is int and count == 2 else value
        if not isinstance(values, (tuple, list)) or len(values) != count:
            raise ModelError(f"{where} is {value!r}, but must be {count} integers")
        if not all(_is_integer(item) for item in values):
            raise ModelError(f"{where} is {value!r}, but must be {count} integers")
        return tuple(int(item) for item in values)
    if key == "slice_point":
        points = value if isinstance(value, (tuple, list)) else [value]
        if not all(_is_integer(point) for point in points):
            raise ModelError(f"{where} is {value!r}, but must be integers")
        return [int(point) for point in points]
    if key == "bias_term":
        if not isinstance(value, (bool, np.bool_, int)) or value not in (0, 1):
            raise ModelError(f"{where} is {value!r}, but must be True or False")
        return bool(value)
    if key == "negative_slope":
        if not isinstance(value, (int, float, np.integer, np.floating)):
            raise ModelError(f"{where} is {value!r}, but must be a number")
        return float(value)
    if key in ("pool", "operation"):
        return str(value).upper() if key == "pool" else str(value).lower()
    if not _is_integer(value):
        raise ModelError(f"{where} is {value!r}, but must be an integer")
    return int(value)


def _is_integer(value: Any) -> bool:
    """True if a value is an integer; files may write 2.0 for 2."""
    if isinstance(value, (bool, np.bool_)):
        return False
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return whole or isinstance(value, (int, np.integer))


def get_layer_name_list(layer_list: Sequence[Layer]) -> list[str]:
    """List the names of all layers.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.

    Returns
    -------
    list of str
        Names, in order.

    References
    ----------
    The kit's manual, chapter 4.6.3.
    """
    return [layer.name for layer in layer_list]


def get_tensor_name_list(layer_list: Sequence[Layer], feature_only: bool = False) -> list[str]:
    """List the names of all tensors.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    feature_only : bool, default False
        Leave out weights and biases.

    Returns
    -------
    list of str
        Feature tensors in order; then LAYER_weight and LAYER_bias.

    References
    ----------
    The kit's manual, chapter 4.6.4.
    """
    features = list(dict.fromkeys(name for layer in layer_list for name in layer.tops))
    return features if feature_only else features + list(_parameters(layer_list))


def _parameters(layer_list: Sequence[Layer]) -> Iterator[str]:
    for layer in layer_list:
        if layer.type in WEIGHTED:
            yield f"{layer.name}_weight"
        if has_bias(layer):
            yield f"{layer.name}_bias"


def has_bias(layer: Layer) -> bool:
    """True if a layer adds a bias.

    Parameters
    ----------
    layer : Layer
        Any layer.

    Returns
    -------
    bool
        True for a Bias, and for a layer with weights unless its bias_term is False.
    """
    return layer.type in BIASED and bool(getattr(layer, "bias_term", True))


def get_network_output(layer_list: Sequence[Layer]) -> list[str]:
    """List the output tensors of a network.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.

    Returns
    -------
    list of str
        The tensors that no layer reads.
    """
    read = {name for layer in layer_list for name in layer.bottoms}
    return [name for name in get_tensor_name_list(layer_list, True) if name not in read]


def get_net_input_output(layer_list: Sequence[Layer]) -> tuple[list[str], list[str]]:
    """List the input and the output tensors of a network.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.

    Returns
    -------
    inputs : list of str
        The tensors of the Input layers.
    outputs : list of str
        The tensors that no layer reads.
    """
    inputs = [name for layer in layer_list if layer.type == "Input" for name in layer.tops]
    return inputs, get_network_output(layer_list)


def find(layer_list: Sequence[Layer], tensor: str) -> Optional[Layer]:
    """Find the layer that computes a tensor.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    tensor : str
        The name of a feature tensor.

    Returns
    -------
    Layer or None
        The layer; None where no layer makes it.
    """
    return next((layer for layer in layer_list if tensor in layer.tops), None)


def replace_softmax(layer_list: Sequence[Layer], tell: bool = True) -> list[Layer]:
    """Return the layers with a LogSoftmax in place of each final Softmax (§6.15 of the manual).

    tell: print a message for each.
    """
    layers, ends = list(layer_list), get_network_output(layer_list)
    for i, layer in enumerate(layers):
        if layer.type == "Softmax" and set(layer.tops) <= set(ends):
            layers[i] = Layer("LogSoftmax", layer.name, layer.bottom, layer.top)
            if tell:
                print(f"warning: the Softmax {layer.name!r} becomes a LogSoftmax")
    return layers
