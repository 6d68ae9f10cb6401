"""One operator on its way to calls of the s8 API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..errors import ModelError
from ..functions import FUNCTIONS
from ..functions.scaling import quantize_multiplier
from ..ir.formats import Format, activation_limits
from ..ir.graph import Node, Tensor
from ..operators import Shape
from .site import AnySite

#: The largest shift to the left that a kernel takes.
_LARGEST_SHIFT = 30


@dataclass
class AffineSite(AnySite):
    """With a scale and a zero point for each tensor.

    formats: of the inputs, then of the output. ends: real values that the output is clamped to.
    scales: of the weights, broadcast to them; None where there are none.
    """

    formats: tuple[Format, ...]
    ends: tuple[float, float]
    scales: Optional[np.ndarray]

    @property
    def output(self) -> Format:
        """Of the tensor that is made."""
        return self.formats[-1]

    def clamp(self) -> dict[str, int]:
        """act_min and act_max."""
        return activation_limits(*self.ends, self.output)

    def scaling(self, real: float) -> tuple[int, int]:
        """Multiplier and shift of a real factor."""
        multiplier, shift = quantize_multiplier(real)
        if shift > _LARGEST_SHIFT:
            raise ModelError(f"its output {self.output} is too fine for what it is computed of")
        return multiplier, shift

    def same_formats(self) -> None:
        """Formats were settled so that this holds."""
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
        held: Optional[Format] = None,
    ) -> str:
        """Append a call; returns the name of what it makes.

        params: more than the function takes may be given. weights, bias: integers as it reads them.
        part: what is appended to the name where this is not the last call. shape, sources, held
        (the format): of it, if not the operator's.
        """
        name = f"{self.name}/{part}" if part else self.name
        held = held or self.output
        output = Tensor(
            name, shape or self.shapes[-1], held.dtype, None, held.scale, held.zero_point
        )
        own = {}
        for role, array in (("weights", weights), ("bias", bias)):
            if array is not None:
                own[role] = f"{name}_{role}"
                self.arrays[own[role]] = array
        declared = FUNCTIONS[function]
        taken = {key: params[key] for key in declared.params}
        self.nodes.append(Node(declared, taken, sources or self.sources, output, **own))
        return name
