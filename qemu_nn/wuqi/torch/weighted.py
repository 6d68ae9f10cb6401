"""One layer with weights or a bias as a PyTorch module: its parameters, and its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor, nn

from ...errors import ModelError
from .. import weights
from ..layers import Layer
from ..shapes import Shape, shape_parameter
from .nodes import quantize
from .pooling import pad_image

ROLES = ("weight", "bias")


class Weighted(nn.Module):  # type: ignore[misc]
    """Layer with `weight` and `bias` (parameters, if present), their steps and lifts (buffers).

    A lift is added to a parameter so that rounding down rounds to nearest; a layer without
    quantization has no lift.
    """

    weight: Optional[nn.Parameter]
    bias: Optional[nn.Parameter]

    def __init__(
        self,
        layer: Layer,
        params: Mapping[str, Any],
        shapes: Mapping[str, Shape],
        bits: int,
        quant: Mapping[str, bool],
        floats: bool,
    ) -> None:
        """Build the module; see the class.

        quant: role -> whether it has a quantization node. floats: begin with the float parameters,
        not with the chip's.
        """
        super().__init__()
        self.layer, self.bits = layer, bits
        channels = shapes[layer.tops[0]][0]
        for role in ROLES:
            fracs = _fractions(layer, role, channels, params) if quant[role] else None
            source = (
                params if floats or not quant[role] else _to_grid_floats(layer, role, params, bits)
            )
            values = weights.get_float_parameter(layer, role, channels, source)
            self.register_parameter(role, None)
            if values is None:
                continue
            shape_parameter(layer, role, values, shapes[layer.bottoms[0]])
            self.register_parameter(role, nn.Parameter(torch.tensor(values, dtype=torch.float32)))
            step = None
            if fracs is not None:
                powers = np.ldexp(1.0, -fracs).reshape(-1, *[1] * (values.ndim - 1))
                step = torch.tensor(powers, dtype=torch.float32)
            self.register_buffer(f"{role}_step", step)
            self.register_buffer(f"{role}_lift", torch.zeros([1] * values.ndim))

    def lift(self, role: str, amount: Any) -> None:
        """Add a lift, one number or one for each channel, which get_float_parameter() subtracts."""
        parameter, lift = getattr(self, role), getattr(self, f"{role}_lift")
        with torch.no_grad():
            parameter += amount
            setattr(self, f"{role}_lift", lift + amount)

    def real(self, role: str) -> Tensor:
        """Return the float parameter without its lift."""
        result: Tensor = getattr(self, role) - getattr(self, f"{role}_lift")
        return result

    def value(self, role: str, quantized: bool) -> Tensor:
        """Return the effective parameter, rounded down if it has a node."""
        step = getattr(self, f"{role}_step")
        if not quantized:
            return self.real(role)
        parameter: Tensor = getattr(self, role)
        return parameter if step is None else quantize(parameter, step, self.bits)

    def integers(self, role: str) -> np.ndarray:
        """Return the chip's integers."""
        exact = getattr(self, role).detach().double(), getattr(self, f"{role}_step").double()
        codes = torch.round(quantize(*exact, self.bits) / exact[1])
        integers: np.ndarray = codes.cpu().numpy().astype(f"int{self.bits}")
        return integers

    def forward(self, x: Tensor, quantized: bool) -> Tensor:
        """Return the output for an image [N, C, H, W] or vector [N, C, 1, 1], before rounding."""
        if self.weight is not None:
            x = self._product(x, self.value("weight", quantized))
        if self.bias is not None:
            x = x + self.value("bias", quantized).reshape(1, -1, 1, 1)
        return x

    def _product(self, x: Tensor, weight: Tensor) -> Tensor:
        if self.layer.type == "Convolution":
            own = self.layer.attributes()
            x = pad_image(x, self.layer)
            return F.conv2d(x, weight, None, own["stride"], 0, own["dilation"], own["group"])
        if self.layer.type == "InnerProduct":
            return F.linear(x.flatten(1), weight.flatten(1))[:, :, None, None]
        return x * weight.reshape(1, -1, 1, 1)


def _fractions(
    layer: Layer, role: str, channels: int, params: Mapping[str, Any]
) -> Optional[np.ndarray]:
    key = f"{layer.name}_frac_{role}"
    if weights.role_missing(layer, role):
        return None
    if key not in params:
        raise ModelError(f"layer {layer.name!r}: the parameters lack {key!r}; quantize it first")
    value = np.asarray(params[key])
    if value.dtype.kind not in "iu" or value.size not in (1, channels):
        raise ModelError(
            f"{key} is {value.dtype} {list(value.shape)}, but must be one integer, or one for "
            f"each of {channels} channels"
        )
    return value.ravel().astype(np.int64)


def _to_grid_floats(
    layer: Layer, role: str, params: Mapping[str, Any], bits: int
) -> dict[str, Any]:
    """Return the values of the chip's integers, as float parameters."""
    name, key = f"{layer.name}_{role}", f"{layer.name}_quant_{role}"
    if weights.role_missing(layer, role):
        return {}
    if key not in params:
        raise ModelError(f"layer {layer.name!r}: the parameters lack {key!r}; quantize it first")
    values = np.asarray(params[key])
    half = 2 ** (bits - 1)
    if values.dtype.kind not in "iu" or values.min() < -half or values.max() >= half:
        raise ModelError(
            f"{key} contains numbers that are not integers of {bits} bits: quantize the network "
            "again"
        )
    fracs = np.asarray(params[f"{layer.name}_frac_{role}"]).ravel()
    return {name: np.ldexp(values.astype(np.float64), -fracs.reshape(-1, *[1] * (values.ndim - 1)))}
