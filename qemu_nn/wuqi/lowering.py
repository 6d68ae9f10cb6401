"""Context of lowering a quantized network to calls of the NPU's kernels: its
parameters, checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ..errors import ModelError
from ..functions import NPU_FUNCTIONS
from ..ir.graph import Node, Tensor
from .layers import Layer
from .shapes import shape_parameter

Params = Mapping[str, Any]

#: Width -> element type of kernels and its numpy type.
_KINDS = {8: ("s8", "int8"), 16: ("s16", "int16")}
_WIDEST_SHIFT = {8: 15, 16: 31}

#: The largest magnitude of a number of fraction bits.
_FAR = 1000


def get_fraction(key: str, value: Any) -> int:
    """Return fraction bits among the parameters; raise ModelError unless they are an integer in
    range.
    """
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "iu" or abs(float(array.item())) > _FAR:
        raise ModelError(f"{key} is {value!r}, but must be an integer in -{_FAR}..{_FAR}")
    return int(array.item())


class Lowering:
    """The calls so far, and the shapes [channels, height, width] of the features."""

    def __init__(self, start: Layer, params: Params, bitwidth: int, hw_aligned: bool) -> None:
        self.params, self.bits, self.hw_aligned = params, bitwidth, hw_aligned
        self.kind, self.dtype = _KINDS[bitwidth]
        self.nodes: list[Node] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.shapes: dict[str, tuple[int, int, int]] = {}
        self.unsigned: set[str] = set()
        self.layer = start

    def error(self, text: str) -> ModelError:
        """Return an error that names the layer."""
        return ModelError(f"layer {self.layer.name!r} ({self.layer.type}): it {text}")

    def frac(self, tensor: str) -> int:
        """Return fraction bits of a feature."""
        return get_fraction(f"{tensor}_frac", self.param(f"{tensor}_frac"))

    def param(self, key: str) -> Any:
        """Return a parameter by its name."""
        if key not in self.params:
            raise self.error(f"lacks the parameter {key!r}: quantize the network first")
        return self.params[key]

    def fracs(self, role: str, channels: int) -> np.ndarray:
        """Return fraction bits of weights or bias, one for each channel."""
        value = np.asarray(self.param(f"{self.layer.name}_frac_{role}"))
        if value.size not in (1, channels) or value.dtype.kind not in "iu":
            raise self.error(
                f"has the frac_{role} {value.tolist()}, but must have one integer, or one for "
                f"each of {channels} channels"
            )
        if abs(value.astype(np.float64)).max() > _FAR:
            raise self.error(f"has a frac_{role} outside -{_FAR}..{_FAR}")
        return np.broadcast_to(value.ravel(), (channels,)).astype(np.int64)

    def integers(self, role: str) -> np.ndarray:
        """Return the quantized weights or bias of the layer, in their shape."""
        value = np.asarray(self.param(f"{self.layer.name}_quant_{role}"))
        source = self.shapes[self.layer.bottoms[0]]
        value = shape_parameter(self.layer, role, value, source, f"quant_{role}")
        limits = np.iinfo(self.dtype)
        if value.dtype.kind not in "iu" or (
            value.size and not limits.min <= value.min() <= value.max() <= limits.max
        ):
            raise self.error(
                f"has a quant_{role} that is not {self.bits}-bit integers: quantize the network "
                "again"
            )
        return value

    def shift(self, what: str, bits: int) -> int:
        """Return a shift that the hardware has."""
        if not 0 <= bits <= _WIDEST_SHIFT[self.bits]:
            raise self.error(
                f"shifts its {what} by {bits} bits, but must shift by "
                f"0..{_WIDEST_SHIFT[self.bits]}: change the fractions"
            )
        return bits

    def same(self, *tensors: str) -> int:
        """Return the common fraction bits of these tensors."""
        fracs = {name: self.frac(name) for name in tensors}
        if len(set(fracs.values())) > 1:
            spelled = ", ".join(f"{name} {frac}" for name, frac in fracs.items())
            raise self.error(f"has the fractions {spelled} for its tensors, but needs one for all")
        return next(iter(fracs.values()))

    def get_fixed_fraction(self, tensor: str, eight: int, sixteen: int) -> int:
        """Return the fraction bits that the hardware fixes for a tensor."""
        wanted, has = (eight if self.bits == 8 else sixteen), self.frac(tensor)
        if has != wanted:
            raise self.error(f"has {has} fraction bits for {tensor!r}, but needs {wanted}")
        return wanted

    def call(
        self,
        op: str,
        params: Mapping[str, int],
        inputs: Sequence[str],
        top: str,
        shape: tuple[int, int, int],
        kind: Optional[str] = None,
        bias: Optional[np.ndarray] = None,
        weights: Optional[np.ndarray] = None,
    ) -> None:
        """Append a call with the output `top`, [channels, height, width]."""
        own: dict[str, str] = {}
        for role, array in (("weights", weights), ("bias", bias)):
            if array is not None:
                own[role] = f"{top}_{role}"
                self.arrays[own[role]] = np.ascontiguousarray(array)
        channels, height, width = shape
        if not self.params.get(f"{top}_signed", True):
            raise self.error(
                f"makes {top!r} unsigned, but only the network's input can be unsigned"
            )
        output = Tensor(
            top,
            (height, width, channels),
            self.dtype,
            self.frac(top) if f"{top}_frac" in self.params else None,
        )
        function = NPU_FUNCTIONS[f"npu_{op}_{kind or self.kind}"]
        self.nodes.append(
            Node(function, dict(params), tuple(inputs), output, own.get("weights"), own.get("bias"))
        )
        self.shapes[top] = shape

    def windows(
        self, own: Mapping[str, Any], size: tuple[int, int]
    ) -> tuple[dict[str, int], tuple[int, int]]:
        """Return the geometry in the kernels' terms, and height and width of the output."""
        kernel, stride = own["kernel_size"], own.get("stride", (1, 1))
        dilation, (north, south, west, east) = (
            own.get("dilation", (1, 1)),
            own.get("pad", (0, 0, 0, 0)),
        )
        p, out = {"pad_n": north, "pad_w": west}, []
        for i, (axis, before, after) in enumerate((("h", north, south), ("w", west, east))):
            last_start = size[i] + before + after - dilation[i] * (kernel[i] - 1) - 1
            if last_start < 0 or stride[i] < 1:
                raise self.error(f"has windows {kernel} larger than the padded image {list(size)}")
            out.append(last_start // stride[i] + 1)
            p |= {f"in_{axis}": size[i], f"out_{axis}": out[i], f"kernel_{axis}": kernel[i]}
            p |= {f"stride_{axis}": stride[i], f"dilation_{axis}": dilation[i]}
        return p, (out[0], out[1])
