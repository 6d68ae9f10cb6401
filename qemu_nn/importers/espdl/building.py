"""Network under construction: its calls, and the value of each tensor of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions import NETWORK_FUNCTIONS
from ...ir.graph import Node, Tensor
from ..arguments import CALL_LIMIT, SUFFIXES, check_spent
from .model import EspConstant, EspModel, EspValue


class EspBuilder:
    """Calls of a network, by the tensors of the file.

    blocks: the order of the weights, None if nothing tells. chip: of the calls, until a session
    names its own. values: by the names of the file.
    """

    def __init__(self, model: EspModel, blocks: Optional[bool], chip: int) -> None:
        self.model, self.blocks, self.chip = model, blocks, chip
        self.nodes: list[Node] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.states: list[Tensor] = []
        self.values: dict[str, EspValue] = {}
        self._spent = 0

    def value(self, name: str) -> EspValue:
        """Return the value of a tensor that an earlier node computes, of an input or a constant."""
        if name not in self.values:
            if name not in self.model.constants:
                raise ModelError(
                    f"it reads {name[:60]!r}; an earlier operator must compute that tensor"
                )
            self.values[name] = self._load(self.model.constants[name])
        return self.values[name]

    def set(self, name: str, value: EspValue) -> None:
        """Record the value of a tensor of the file."""
        if name in self.values or name in self.model.constants:
            raise ModelError(
                f"it computes {name[:60]!r}, as an earlier operator does; names must be unique"
            )
        self.values[name] = value

    def call(
        self,
        function: str,
        params: Mapping[str, int],
        inputs: Sequence[EspValue],
        output: EspValue,
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
    ) -> EspValue:
        """Add a call that makes `output`; a missing bias is None."""
        if function not in NETWORK_FUNCTIONS:
            raise ModelError(f"no function computes its types: {function}")
        if len(self.nodes) >= CALL_LIMIT:
            raise ModelError(f"it has more than {CALL_LIMIT} calls, the most that are supported")
        declared = NETWORK_FUNCTIONS[function]
        if "chip" in declared.params:
            params = {**params, "chip": self.chip}
        self.nodes.append(
            Node(
                function=declared,
                params=declared.parse_params(params),
                inputs=tuple(value.name for value in inputs),
                output=as_tensor(output),
                weights=self._keep(f"{output.name}/weights", weights),
                bias=self._keep(f"{output.name}/bias", bias),
            )
        )
        return output

    def add_state(self, value: EspValue) -> EspValue:
        """Add a state: calls read and write it, runs keep it, and after reset it is zeros."""
        self.states.append(as_tensor(value))
        return value

    def copy_value(self, value: EspValue, name: str) -> None:
        """Add a call that copies a value under another name."""
        function = f"tflm_read_variable_{SUFFIXES[value.dtype]}"
        self.call(function, {"length": value.size}, [value], replace(value, name=name))

    def _load(self, constant: EspConstant) -> EspValue:
        """Add the call that loads a constant."""
        if constant.dtype not in SUFFIXES or not constant.data.size:
            raise ModelError(f"it reads {constant}; constants must be integers or float32")
        value = EspValue(constant.name, constant.dtype, constant.shape, constant.exponent)
        function = f"tflm_constant_{SUFFIXES[constant.dtype]}"
        return self.call(function, {"length": value.size}, [], value, constant.data)

    def _keep(self, name: str, array: Optional[np.ndarray]) -> Optional[str]:
        if array is None:
            return None
        self._spent += array.nbytes
        check_spent(self._spent)
        self.arrays[name] = np.ascontiguousarray(array)
        return name


def as_tensor(value: EspValue) -> Tensor:
    """Return the tensor of a value, without the axis of a single image."""
    shape = value.shape[1:] if value.shape[:1] == (1,) else value.shape
    frac = -value.exponent if value.dtype in ("int8", "int16") else None
    return Tensor(value.name, shape or (1,), value.dtype, frac)
