"""Computation of calls with unbounded integers: no sum wraps, and nothing saturates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Optional, Union

import numpy as np

from ..functions.float_semantics import get_bias_row
from ..ir.graph import Graph, Node
from ..operators import Conv, Dense
from ..releases import place_of
from ..targets import Profile
from . import unbounded_s8
from .exact_matmul import Products

#: Argument `chip` of calls of ESP-DL that round halves to even.
_ESP32P4 = 2


@dataclass(frozen=True)
class Unlimited:
    """A device's call with unbounded integers."""

    graph: Graph
    node: Node
    profile: Profile

    @cached_property
    def _affine(self) -> bool:
        return unbounded_s8.is_affine(self.graph)

    @cached_property
    def _layer(self) -> Optional[Products]:
        operator = make_product_layer(self.graph, self.node)
        if operator is not None and self._is_esp_dl and self.node.bias is not None:
            bias = get_bias_row(self.node.function, self.graph.arrays[self.node.bias])
            return Products(replace(operator, bias=np.asarray(bias, np.float64)))
        if operator is not None and not self._affine and self.node.bias is not None:
            bias = self.graph.arrays[self.node.bias].astype(np.float64)
            start = np.ldexp(bias, self.node.params["bias_shift"])
            operator = replace(operator, bias=start + _get_rounding_term(self.node, self.profile))
        return None if operator is None else Products(operator)

    def compute_accumulators(self, x: np.ndarray) -> Optional[np.ndarray]:
        """Return the sums over integers x [N, ...], with bias and rounding; None without weights.

        The sums are exact, without wrap-around, in a floating type that represents them.
        """
        if self._layer is None:
            return None
        if self._affine:
            return unbounded_s8.compute_accumulators(self.graph, self.node, x, self._layer)
        if self.node.bias is None:
            return None
        shape = self.node.function.inputs[0].shape(self.node.params)
        if self._is_esp_dl:  # the batch axis is first
            sums = self._layer.of(x.reshape(-1, *shape[1:]))
            return sums.reshape(len(x), -1, sums.shape[-1])
        return self._layer.of(x.reshape(len(x), *shape))

    def compute_unsaturated(
        self, inputs: Sequence[np.ndarray], sums: Optional[np.ndarray]
    ) -> Optional[np.ndarray]:
        """Return the output [N, ...] for these inputs; None if the call does not add or multiply.

        sums: its accumulators, if any.
        """
        if self._affine:
            return unbounded_s8.compute_unsaturated(self.graph, self.node, inputs, sums)
        if self._is_esp_dl:
            return self._compute_esp_dl(inputs, sums)
        if sums is None:
            a, b = (inputs[0].astype(np.float64), inputs[-1].astype(np.float64))
            op = self.node.function.op
            if op == "nn_mult":
                sums = a * b + _get_rounding_term(self.node, self.profile)
            elif op in ("add", "sub"):
                return a + b if op == "add" else a - b
            else:
                return None
        steps = sums * 2.0 ** -self.node.params["out_shift"]
        return np.asarray(np.floor(steps, out=steps))

    @property
    def _is_esp_dl(self) -> bool:
        return self.node.function.name.startswith("esp_dl_")

    def _compute_esp_dl(
        self, inputs: Sequence[np.ndarray], sums: Optional[np.ndarray]
    ) -> Optional[np.ndarray]:
        """Return the output of a call of ESP-DL; None if it does not add or multiply."""
        op, params = self.node.function.op, self.node.params
        if sums is None:
            a, b = inputs[0].astype(np.float64), inputs[-1].astype(np.float64)
            if op in ("dl_add", "dl_sub"):
                return a + b if op == "dl_add" else a - b
            if op not in ("dl_mul", "dl_requantize"):
                return None
            sums = a * b if op == "dl_mul" else a
        shifts = params.get("right_shift")
        if shifts is None:  # of channels
            shifts = self.graph.arrays[self.node.bias or ""][1]
        values = np.ldexp(sums, -np.asarray(shifts, np.int64))
        return np.asarray(np.rint(values) if params["chip"] == _ESP32P4 else np.floor(values + 0.5))


def _get_rounding_term(node: Node, profile: Profile) -> float:
    """Return the term added before the right shift; csrc/common/fixed.h defines its special case at
    31.
    """
    shift = node.params["out_shift"]
    if profile.rounding == "truncate":
        return 0.0
    is_signed = place_of(profile.cmsis) >= place_of("bff28575")
    return -(2.0**30) if shift == 31 and is_signed else float(2**shift // 2)


def make_product_layer(graph: Graph, node: Node) -> Union[Conv, Dense, None]:
    """Return a convolution or fully connected layer as an operator on integers; None for all
    further calls.
    """
    if node.function.product is None:
        return None
    return node.function.product(node.params, graph.arrays[node.weights or ""])
