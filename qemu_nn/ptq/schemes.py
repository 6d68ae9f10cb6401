"""The schemes of quantization, powers of two and affine: how each prepares, assigns and lowers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error
from ..io.arguments import as_count, as_mapping, as_text, one_of
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..ir.statistics import Statistics, make_statistics
from ..lowering import (
    count_bias_bits,
    describe_limited_biases,
    lower,
    lower_esp_dl,
    lower_s8,
    prepare,
    prepare_esp_dl,
    prepare_s8,
)
from ..lowering.s8_conv_dense import NARROW, PER_ROW
from ..operators import Dense
from ..quantizer.affine_rules import find_fixed_formats, get_affine_rule, infer_types
from ..quantizer.assign import Formats, assign_formats
from ..quantizer.assign_affine import AffineFormats, assign_affine_formats
from ..quantizer.fusion import find_clamps
from ..quantizer.policies import Policy, get_policy, minmax, name_method
from ..quantizer.ranges import Ranges, get_range_method
from ..quantizer.rules import find_format_groups
from ..quantizer.search import Given, Variable
from ..releases import has_function
from ..targets import AFFINE_CMSIS, LEGACY_CMSIS, Profile, is_affine

#: Name -> release of CMSIS with its functions, used if the user names none.
SCHEMES = {"power2": None, "affine": AFFINE_CMSIS}

#: Method for activations that quantize.py implements, besides the policies.
_SEARCH = ("search",)

#: Formats that the user gives: layer -> role -> fraction bits, or a range.
Overrides = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Scheme(ABC):
    """A quantization scheme for one device.

    functions: layer -> the C function that it calls. octave: steps of a search that halve a range.
    powers: true if scales are powers of two.
    """

    profile: Profile
    functions: Mapping[str, str] = field(default_factory=dict)
    octave = 1
    powers = True

    @abstractmethod
    def prepare(self, graph: FloatGraph, softmax: bool = True) -> tuple[FloatGraph, list[str]]:
        """Return the network in operators that have functions, and notes about the cost."""

    @abstractmethod
    def draft(self, graph: FloatGraph) -> Any:
        """Return formats to lower with before any data are read."""

    @abstractmethod
    def assign_formats(
        self,
        graph: FloatGraph,
        statistics: Mapping[str, Statistics],
        given: Overrides,
        tried: Optional[Given] = None,
    ) -> Any:
        """Return all formats. given: overrides; tried: trial formats of a search, in
        its own steps.
        """

    @abstractmethod
    def lower(self, graph: FloatGraph, formats: Any) -> Graph:
        """Return the calls."""

    @abstractmethod
    def with_methods(self, method: Union[str, float], weight_method: Union[str, float]) -> Scheme:
        """Return the same scheme with different methods for activations and weights."""

    @property
    @abstractmethod
    def methods(self) -> tuple[Union[str, float], Union[str, float]]:
        """Methods that with_methods() takes."""

    @abstractmethod
    def variables(self, graph: FloatGraph, formats: Any, given: Overrides) -> list[Variable]:
        """Return the formats that a search tries, in order."""


@dataclass(frozen=True)
class PowersOfTwo(Scheme):
    """The q7 and q15 functions."""

    bits: int = 8
    policy: Policy = minmax
    weight_policy: Policy = minmax

    @property
    def sum_bits(self) -> int:
        """Bits of an accumulator."""
        return 32

    def prepare(self, graph: FloatGraph, softmax: bool = True) -> tuple[FloatGraph, list[str]]:
        """See lowering.prepare."""
        return prepare(graph, self.bits, softmax)

    def draft(self, graph: FloatGraph) -> Formats:
        """Return formats without integer bits."""
        weights = {node.name: self.bits - 1 for node in graph.nodes}
        return Formats(self.bits, dict.fromkeys(graph.shapes, self.bits - 1), weights, {})

    def assign_formats(
        self,
        graph: FloatGraph,
        statistics: Mapping[str, Statistics],
        given: Overrides,
        tried: Optional[Given] = None,
    ) -> Formats:
        """See quantizer.assign_formats; fraction bits are tried."""
        whole = {name: {**given.get(name, {}), **roles} for name, roles in (tried or {}).items()}
        taken = {**given, **whole}
        policies = (self.bits, self.policy, self.weight_policy)
        return assign_formats(graph, statistics, *policies, taken, self.sum_bits)

    def lower(self, graph: FloatGraph, formats: Formats) -> Graph:
        """See lowering.lower."""
        return lower(graph, formats, self.profile, self.functions)

    def with_methods(self, method: Union[str, float], weight_method: Union[str, float]) -> Scheme:
        """See Scheme."""
        return replace(self, policy=get_policy(method), weight_policy=get_policy(weight_method))

    @property
    def methods(self) -> tuple[Union[str, float], Union[str, float]]:
        """See Scheme."""
        return name_method(self.policy), name_method(self.weight_policy)

    def variables(self, graph: FloatGraph, formats: Formats, given: Overrides) -> list[Variable]:
        """Return weights, outputs of layers that have some, biases."""
        variables: list[Variable] = [(n, "weights", f) for n, f in formats.weights.items()]
        outputs = (*graph.starts, *formats.weights)
        variables += [(n, "output", formats.tensors[n]) for n in outputs]
        variables += [(n, "bias", f) for n, f in formats.biases.items()]
        return [(n, role, f) for n, role, f in variables if role not in given.get(n, {})]


@dataclass(frozen=True)
class EspDl(PowersOfTwo):
    """The operators of ESP-DL on a chip of the ESP32 family."""

    @property
    def sum_bits(self) -> int:
        """See PowersOfTwo."""
        return 32 if self.bits == 8 else 40

    def prepare(self, graph: FloatGraph, softmax: bool = True) -> tuple[FloatGraph, list[str]]:
        """See lowering.prepare_esp_dl; a softmax at the end is always removed."""
        return prepare_esp_dl(graph)

    def assign_formats(
        self,
        graph: FloatGraph,
        statistics: Mapping[str, Statistics],
        given: Overrides,
        tried: Optional[Given] = None,
    ) -> Formats:
        """Return formats whose biases have the fraction bits of the products."""
        found = super().assign_formats(graph, statistics, given, tried)
        notes = tuple(note for note in found.notes if ": bias " not in note)
        bits = count_bias_bits(self.profile.path, self.bits)
        limited = describe_limited_biases(graph, found, bits)
        return replace(found, biases={}, bias_bits=bits, notes=(*notes, *limited))

    def lower(self, graph: FloatGraph, formats: Formats) -> Graph:
        """See lowering.lower_esp_dl."""
        return lower_esp_dl(graph, formats, self.profile.path)


@dataclass(frozen=True)
class AffineScheme(Scheme):
    """The s8 functions, or the s16 ones of dtype int16, by TensorFlow Lite's scheme.

    fallback: true if operators without an integer function are computed in float32.
    """

    activations: Ranges = field(default_factory=Ranges)
    weights: Ranges = field(default_factory=Ranges)
    fallback: bool = False
    octave = 2
    powers = False

    def prepare(self, graph: FloatGraph, softmax: bool = True) -> tuple[FloatGraph, list[str]]:
        """See lowering.prepare_s8."""
        return prepare_s8(graph, softmax, self._dtype)

    def draft(self, graph: FloatGraph) -> AffineFormats:
        """Assign ranges from -1 to 1, including weights: the ranges of outputs are not
        yet known.
        """
        one = make_statistics(np.array([-1.0, 1.0]))
        formats = assign_affine_formats(
            graph,
            dict.fromkeys(graph.shapes, one),
            Ranges(dtype=self._dtype),
            Ranges(),
            per_row=self._per_row(graph),
            narrow=self._narrow,
        )
        weights = {n: np.full_like(s, 1 / formats.most(n)) for n, s in formats.weights.items()}
        return replace(formats, weights=weights)

    def assign_formats(
        self,
        graph: FloatGraph,
        statistics: Mapping[str, Statistics],
        given: Overrides,
        tried: Optional[Given] = None,
    ) -> AffineFormats:
        """See quantizer.assign_affine_formats; narrower ranges are tried."""
        return assign_affine_formats(
            *(graph, statistics, self.activations, self.weights, given, tried),
            per_row=self._per_row(graph),
            narrow=self._narrow,
        )

    @property
    def _dtype(self) -> str:
        return self.activations.dtype

    def _per_row(self, graph: FloatGraph) -> set[str]:
        """Return the 8-bit fully connected layers without a named function, or with the per-row
        function.
        """
        if not has_function(PER_ROW, self.profile.cmsis):
            return set()
        dtypes, clamped = infer_types(graph, self._dtype), find_clamps(graph)
        layers = [node.name for node in graph.nodes if isinstance(node.operator, Dense)]
        named = {n: {self.functions.get(n), self.functions.get(clamped[n].tensor)} for n in layers}
        return {n for n in layers if dtypes[n] == "int8" and named[n] <= {None, PER_ROW}}

    @property
    def _narrow(self) -> set[str]:
        return {name for name, function in self.functions.items() if function.endswith(NARROW)}

    def lower(self, graph: FloatGraph, formats: AffineFormats) -> Graph:
        """See lowering.lower_s8."""
        return lower_s8(graph, formats, self.functions, self.fallback)

    def with_methods(self, method: Union[str, float], weight_method: Union[str, float]) -> Scheme:
        """See Scheme."""
        activations = get_range_method(method, dtype=self._dtype)
        return replace(self, activations=activations, weights=get_range_method(weight_method))

    @property
    def methods(self) -> tuple[Union[str, float], Union[str, float]]:
        """See Scheme."""
        return self.activations.method, self.weights.method

    def variables(
        self, graph: FloatGraph, formats: AffineFormats, given: Overrides
    ) -> list[Variable]:
        """Return weights, and all formats that are free."""
        fixed = find_fixed_formats(graph, self._dtype)
        taken = {n for n, roles in given.items() if "output" in roles}
        variables: list[Variable] = [(name, "weights", 0) for name in formats.weights]
        for group in {
            id(group): group for group in find_format_groups(graph, get_affine_rule).values()
        }.values():
            if fixed[group.tensors[0]] is None and not taken & set(group.tensors):
                variables.append((group.tensors[0], "output", 0))
        return variables


def get_scheme(
    name: str,
    wanted: Profile,
    functions: Optional[Mapping[str, str]],
    bits: int,
    method: Union[str, float],
    weight_method: Union[str, float],
    fallback: bool = False,
) -> Scheme:
    """Return a scheme and its methods by name; raise Error with the choices for unknown names."""
    one_of(SCHEMES, name, "scheme")
    functions, bits = dict(as_mapping(functions, "functions")), as_count(bits, "bits")
    for layer, function in functions.items():
        as_text(function, f"the function of {layer}")
    if bits not in (8, 16):
        raise Error(f"bits is {bits}, but must be 8 or 16")
    if isinstance(weight_method, str) and weight_method == "extrapolate":
        raise Error("weight_method is 'extrapolate', but weights are known values: give 'minmax'")
    if name == "power2":
        if fallback:
            raise Error(
                "fallback needs scheme='affine', as q7 and q15 have no functions of "
                "floats: leave it out"
            )
        methods = get_policy(method, _SEARCH), get_policy(weight_method)
        if wanted.esp_dl:
            if functions:
                raise Error(
                    "functions= is given, but ESP-DL has one function for each layer: leave it out"
                )
            return EspDl(wanted, functions, bits, *methods)
        if is_affine(wanted.cmsis):
            raise Error(
                f"CMSIS {wanted.cmsis} has no q7 and q15 functions: use {LEGACY_CMSIS}, or "
                "scheme='affine' for the s8 and s16 functions"
            )
        return PowersOfTwo(wanted, functions, bits, *methods)
    if not wanted.is_affine:
        raise Error(
            f"CMSIS is {wanted.cmsis}, but the scheme affine needs {AFFINE_CMSIS} or a state "
            "with its functions"
        )
    dtype = "int8" if bits == 8 else "int16"
    activations = get_range_method(method, _SEARCH, dtype)
    return AffineScheme(wanted, functions, activations, get_range_method(weight_method), fallback)
