"""Checks of the arguments that many functions of the kit have in common."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Any, Callable, TypeVar, cast

from ..errors import Error
from ..io.arguments import format_value
from .layers import Layer

Function = TypeVar("Function", bound=Callable[..., Any])


def check_arguments(function: Function) -> Function:
    """Return a function of the kit that checks its network, parameters and names before it begins.

    Arguments are known by the names of their parameters: layer_list, param_dict, and lists of
    tensors or layers. None is allowed where it is the default.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        for name, value in given.items():
            check = _CHECKS.get(name)
            if check and not (value is None and signature.parameters[name].default is None):
                check(name, value)
        return function(*args, **kwargs)

    return cast(Function, call)


def _check_layers(name: str, value: Any) -> None:
    if isinstance(value, Layer):
        raise Error(f"{name} is one Layer, but must be a list of layers: give [{value.name}]")
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise Error(f"{name} is {format_value(value)}, but must be a list of layers")
    for layer in value:
        if not isinstance(layer, Layer):
            raise Error(
                f"{name} contains {format_value(layer)}, but must contain Layer objects only"
            )


def _check_params(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise Error(f"{name} is {format_value(value)}, but must be a dictionary of parameters")


def _check_names(name: str, value: Any) -> None:
    if isinstance(value, str):
        raise Error(f"{name} is a text, but must be a list of names: give [{value!r}]")
    if not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        raise Error(f"{name} is {format_value(value)}, but must be a list of names")


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "layer_list": _check_layers,
    "param_dict": _check_params,
    "target_tensor_list": _check_names,
    "target_feature_tensor_list": _check_names,
    "perlayer_quant_layer_names": _check_names,
}


def check_float_params(param_dict: Mapping[str, Any], what: str) -> None:
    """Raise Error where a dictionary has fixed-point parameters, which `what` would leave as they
    are.
    """
    fixed = [key for key in param_dict if "_quant_" in key or "_frac" in key]
    if fixed:
        raise Error(
            f"the parameters contain fixed-point ones, such as {fixed[0]!r}, but {what} "
            "needs a float network: call it before quantize_model()"
        )
