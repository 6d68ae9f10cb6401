"""Context of lowering one operator to calls of the s8 and s16 functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from ..errors import ModelError
from ..functions import FUNCTIONS
from ..functions.scaling import quantize_multiplier
from ..ir.formats import Format, activation_limits
from ..ir.graph import Node, Tensor
from ..operators import Shape
from .layer_context import AnySite

#: The largest shift to the left that a kernel takes.
_LARGEST_SHIFT = 30

#: Type of activations -> suffix of the names of its functions.
SUFFIXES = {"int8": "s8", "int16": "s16"}


@dataclass
class S8Site(AnySite):
    """An operator whose tensors each have a scale and a zero point.

    formats: of the inputs, then of the output. ends: float limits of the output. scales: of the
    weights, broadcast to them; None without weights. most: the largest integer of a weight.
    """

    formats: tuple[Format, ...]
    ends: tuple[float, float]
    scales: Optional[np.ndarray]
    most: int

    @property
    def output(self) -> Format:
        """The format of the output."""
        return self.formats[-1]

    @property
    def wide(self) -> bool:
        """True if activations have 16 bits."""
        return self.output.dtype == "int16"

    @property
    def suffix(self) -> str:
        """The end of the names of functions for this type of activations."""
        return SUFFIXES[self.output.dtype]

    def clamp(self) -> dict[str, int]:
        """Return act_min and act_max."""
        return activation_limits(*self.ends, self.output)

    def make_scaling(self, real: float, most: int = _LARGEST_SHIFT) -> tuple[int, int]:
        """Return multiplier and shift of a real factor; most: the largest shift of the function."""
        return self.check_multiplier(quantize_multiplier(real), most)

    def check_multiplier(
        self, pair: tuple[int, int], most: int = _LARGEST_SHIFT
    ) -> tuple[int, int]:
        """Return a multiplier and a shift; raise ModelError if the function does not
        accept them.
        """
        multiplier, shift = pair
        if shift > most:
            raise ModelError(
                f"its output {self.output} is too fine: it needs a shift of {shift} bits, and the "
                f"functions shift by at most {most}; give it a wider range"
            )
        return multiplier, shift

    def same_formats(self) -> None:
        """Check that formats are equal, as assigned."""
        assert len(set(self.formats)) == 1, (self.name, self.formats)

    def call(
        self,
        function: str,
        params: Mapping[str, int],
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        part: str = "",
        shape: Optional[Shape] = None,
        sources: Optional[tuple[str, ...]] = None,
        output_format: Optional[Format] = None,
    ) -> str:
        """Append a call, and return the name of the tensor that it writes.

        params: may contain more than the function's. weights, bias: integers in the function's
        order. part: suffix of the name, if this is not the last call. shape, sources,
        output_format: if they differ from the operator's.
        """
        name = f"{self.name}/{part}" if part else self.name
        written = output_format or self.output
        own_shape = self.shapes[-1] if shape is None else shape
        output = Tensor(name, own_shape, written.dtype)
        if written.dtype != "float32":
            output = replace(output, scale=written.scale, zero_point=written.zero_point)
        own = {}
        for role, array in (("weights", weights), ("bias", bias)):
            if array is not None:
                own[role] = f"{name}_{role}"
                self.arrays[own[role]] = array
        declared = FUNCTIONS[function]
        taken = {key: params[key] for key in declared.params}
        self.nodes.append(
            Node(
                declared,
                taken,
                self.sources if sources is None else sources,
                output,
                own.get("weights"),
                own.get("bias"),
            )
        )
        return name
