"""Activations by their names in Keras, as layers of their own or inside layers."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ...operators import Affine, Elementwise, Identity, Operator, Relu, Sigmoid, Softmax, Tanh
from ...operators.curve import SELU, X, celu, elu, gelu, mish
from .building import KerasBuilder
from .config import KerasLayer

#: Name -> operator; softmax needs the shape.
_NAMED: dict[str, Operator] = {
    "linear": Identity(),
    "relu": Relu(),
    "relu6": Relu(limit=6.0),
    "leaky_relu": Relu(0.2),
    "sigmoid": Sigmoid(),
    "tanh": Tanh(),
    "celu": celu(),
    "elu": elu(),
    "exponential": X.of("exp"),
    "gelu": gelu(),
    "gelu_tanh": gelu(approximate=True),
    "mish": mish(),
    "selu": elu(*SELU),
    "softplus": X.of("softplus"),
    "softsign": X / (X.of("abs") + 1.0),
    "square": X * X,
}

#: Further names, of functions of several operators.
_SEVERAL = ("softmax", "log_softmax", "hard_sigmoid", "hard_silu", "silu")

#: Names of Keras 2 and of classes -> names of functions.
_ALIASES = {"ReLU": "relu", "Softmax": "softmax", "LeakyReLU": "leaky_relu", "ELU": "elu"}
_ALIASES.update({"swish": "silu", "hard_swish": "hard_silu", "exp": "exponential"})


def find_inner_tensor(layer: KerasLayer) -> str:
    """Return the name of the tensor before the activation of a layer: its own if there is none."""
    return layer.name if _get_name(layer) == "linear" else f"{layer.name}/linear"


def finish(layer: KerasLayer, build: KerasBuilder, source: str) -> str:
    """Return the activation inside a layer, if there is one."""
    return source if _get_name(layer) == "linear" else activate(layer, build, source, layer.name)


def activate(
    layer: KerasLayer, build: KerasBuilder, source: str, name: str, function: Optional[str] = None
) -> str:
    """Return an activation as a node; function: its name, by default the layer's option."""
    wanted = function or _get_name(layer)
    wanted = _ALIASES.get(wanted, wanted)
    if wanted in ("softmax", "log_softmax"):
        rank = len(build.shapes[source])
        return build.add(name, Softmax(rank - 1, wanted == "log_softmax"), source)
    if wanted == "silu":
        gate = build.add(f"{name}/gate", Sigmoid(), source)
        return build.add(name, Elementwise("multiply"), source, gate)
    if wanted in ("hard_sigmoid", "hard_silu"):
        gated = wanted == "hard_silu"
        slope = 0.2 if layer.version[:2] in ("1.", "2.") and not gated else 1 / 6
        line = build.add(f"{name}/line", Affine(np.array(slope), np.array(0.5)), source)
        gate = build.add(f"{name}/gate" if gated else name, Relu(limit=1.0), line)
        return build.add(name, Elementwise("multiply"), source, gate) if gated else gate
    if wanted not in _NAMED:
        have = ", ".join([*_NAMED, *_SEVERAL])
        raise layer.error(f"the activation {wanted!r} is not supported; have: {have}")
    return build.add(name, _NAMED[wanted], source)


def _get_name(layer: KerasLayer) -> str:
    """Return the option `activation`: a name, or an object with one."""
    value: Any = layer.options.get("activation")
    if value is None:
        return "linear"
    if isinstance(value, dict):
        config = value.get("config")
        value = config if isinstance(config, str) else value.get("class_name")
    if not isinstance(value, str):
        raise layer.error(f"its activation is {value!r}")
    return _ALIASES.get(value, value)
