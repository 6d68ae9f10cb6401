"""One call of a layer on given arrays, computed by the kernel rows."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..functions import Function
from ..kernels.table import (
    allocate_aligned,
    call,
    check,
    check_arrays,
    choose,
    list_rows,
    make_params,
    run_row,
)
from ..targets import Profile


@dataclass(frozen=True, eq=False)
class LayerCall:
    """A call: function, scalar arguments, and arrays in the device's order.

    inputs: in the function's order, without NULL arguments. bias: with the rows of function.stack.
    """

    function: Function
    params: Mapping[str, int]
    inputs: tuple[np.ndarray, ...]
    weights: Optional[np.ndarray]
    bias: Optional[np.ndarray]
    profile: Profile

    def with_params(self, **params: int) -> LayerCall:
        """Return the call with other scalar arguments."""
        return replace(self, params={**self.params, **params})

    def with_input(self, values: np.ndarray) -> LayerCall:
        """Return the call with another first input."""
        return replace(self, inputs=(values, *self.inputs[1:]))

    def make_key(self) -> tuple[object, ...]:
        """Return a key that equal calls share."""
        arrays = (*self.inputs, self.weights, self.bias)
        sums = (None if a is None else zlib.crc32(a.tobytes()) for a in arrays)
        return self.function.name, *sorted(self.params.items()), *sums

    def compute(self) -> Optional[np.ndarray]:
        """Return the output, flat; None for a call outside the function's contract."""
        legal = {**self.params, **dict(self._clip_offsets())}
        try:
            params, rows = self._params(self.params)
            if legal == self.params:
                row = choose(rows, self.profile, params)
            else:
                row = choose(rows, self.profile, params, "plain")
            inputs = [np.array(x, order="C").ravel() for x in self.inputs]
            output = self._output()
            sizes = check(row, self._params(legal)[0])
            check_arrays(row, sizes, inputs, output, self.weights, self.bias)
            run_row(row, params, inputs, output, self.weights, self.bias)
        except (Error, OverflowError):
            return None
        return output

    def _clip_offsets(self) -> Iterator[tuple[str, int]]:
        """Yield legal values of zero points that only plain rows compute with.

        Their contract excludes what no quantizer writes, such as -128 for an input's offset.
        """
        for name, value in self.params.items():
            if name.endswith("_offset") and self.function.type == "s8" and abs(value) <= 1024:
                yield name, min(max(value, -127), 128)

    def compute_overlapped(self, scratch: bool) -> Optional[np.ndarray]:
        """Return the output of the device's own row if memory overlaps from the first byte on:
        output and first input, or with `scratch` output and scratch memory.

        None without a row that accesses memory in the device's order.
        """
        try:
            params, rows = self._params(self.params)
            kind = "model" if self.profile.path == "dsp" else "plain"
            models = [row for row in rows if row.kind == kind and row.serves(params)]
            if not models or (scratch and kind != "model"):
                return None
            row, sizes = models[0], check(models[0], params)
            memory = allocate_aligned(max(row.scratch(params), *sizes.inputs, sizes.output) + 8)
            output: np.ndarray = memory[: sizes.output].view(self.function.output.dtype)
            inputs = [np.array(x, order="C").ravel() for x in self.inputs]
            if scratch:
                call(row, params, inputs, output, self.weights, self.bias, memory)
            else:
                first = inputs[0].view(np.uint8)
                memory[: first.size] = first
                inputs[0] = memory[: first.size]
                call(row, params, inputs, output, self.weights, self.bias)
        except (Error, OverflowError):
            return None
        return np.array(output)

    def _params(self, params: Mapping[str, int]) -> tuple[Any, Any]:
        function = self.function
        rows = list_rows(function.op, function.type)
        values = function.struct_values(dict(params))
        return make_params(rows[0].op, self.profile, values), rows

    def _output(self) -> np.ndarray:
        declared = self.function.output
        if min(declared.shape(self.params)) < 1:
            raise Error(f"{declared.name} has no elements")
        return np.zeros(declared.nbytes(self.params), np.uint8).view(declared.dtype)
