"""Context of lowering one operator: its tensors, and the calls so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..errors import Error, ModelError
from ..functions import FUNCTIONS
from ..ir.formats import quantize
from ..ir.graph import Node, Tensor
from ..operators import Operator, Shape
from ..quantizer.assign import Formats

Dims = tuple[int, int, int]


@dataclass
class AnySite:
    """An operator and its calls, with formats of either kind.

    name: of the tensor it writes. sources: the device's tensors with the inputs. shapes: of the
    inputs, then of the output. asked: the user's function, or None.
    """

    name: str
    operator: Operator
    sources: tuple[str, ...]
    shapes: tuple[Shape, ...]
    asked: Optional[str]
    nodes: list[Node] = field(default_factory=list, init=False)
    arrays: dict[str, np.ndarray] = field(default_factory=dict, init=False)

    def image(self, index: int = 0) -> Dims:
        """Return height, width and channels of an input, or with -1 of the output."""
        shape = self.shapes[index]
        if len(shape) != 3:
            raise ModelError(
                f"its input has the shape {list(shape)}, but must be an image of 3 axes"
            )
        return (shape[0], shape[1], shape[2])

    def choose(self, candidates: Sequence[tuple[str, bool]], hint: str = "") -> str:
        """Return the first function that fits, or the user's; raise Error if none does.

        hint: the end of the error's sentence.
        """
        fits = [name for name, suits in candidates if suits]
        if self.asked is not None:
            if self.asked not in fits:
                have = ", ".join(fits) or "none"
                raise Error(f"{self.asked} does not compute this layer; these do: {have}")
            return self.asked
        if not fits:
            tried = ", ".join(name for name, _ in candidates)
            raise ModelError(f"no function of CMSIS-NN takes this geometry; tried {tried}{hint}")
        return fits[0]


@dataclass
class Site(AnySite):
    """An operator for the q7 and q15 functions, whose formats are powers of two.

    fracs: fraction bits of the inputs, then of the output. old: true for CMSIS 5.6.0, which lacks
    the s8 and s16 functions.
    """

    fracs: tuple[int, ...]
    formats: Formats
    dsp: bool
    old: bool

    @property
    def dtype(self) -> str:
        """The element type of activations and weights."""
        return "int8" if self.formats.bits == 8 else "int16"

    @property
    def suffix(self) -> str:
        """Suffixes of Arm's function names."""
        return "q7" if self.formats.bits == 8 else "q15"

    def call(
        self,
        function: str,
        params: Mapping[str, int],
        weights: Optional[np.ndarray] = None,
        part: str = "",
        frac: Optional[int] = None,
    ) -> None:
        """Append a call on the inputs, or on the output of the previous call.

        weights: integers in the function's order, with a bias. part: suffix of the name, if this is
        not the last call. frac: of the output, if it differs from the operator's.
        """
        sources = (self.nodes[-1].name,) if self.nodes else self.sources
        name = f"{self.name}/{part}" if part else self.name
        frac = self.fracs[-1] if frac is None else frac
        output = Tensor(name, self.shapes[-1], self.dtype, frac)
        own = {}
        if weights is not None:
            own = {"weights": f"{name}_weights", "bias": f"{name}_bias"}
            self.arrays[own["weights"]] = weights
        self.nodes.append(
            Node(
                FUNCTIONS[function],
                dict(params),
                sources,
                output,
                own.get("weights"),
                own.get("bias"),
            )
        )

    def filters(self, real: np.ndarray) -> np.ndarray:
        """Return the operator's weights as integers."""
        return quantize(real, self.formats.weights[self.name], self.dtype)

    def shifts(self, bias: Optional[np.ndarray], rows: int) -> dict[str, int]:
        """Return bias_shift and out_shift; store the rounded bias, or zeros without one."""
        product = self.fracs[0] + self.formats.weights[self.name]
        frac = self.formats.biases.get(self.name, product)
        real = np.zeros(rows) if bias is None else bias
        self.arrays[f"{self.name}_bias"] = quantize(real, frac, self.dtype)
        return {"bias_shift": product - frac, "out_shift": product - self.fracs[-1]}
