"""Differences between a recorded node and the device, with causes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Union

import numpy as np

from ..analysis.compare import Finding, measure_difference
from ..analysis.golden_set import Entry, Goldens
from ..analysis.mismatch_diagnosis import find_likely_cause
from ..ir.formats import find_differing
from ..runtime.samples import convert_to_numbers
from ..runtime.session import make_other_profiles
from ..targets import Profile, Target
from .program import LoadedProgram

#: Known differences between the device and an operator's Python reference.
_REASONS = {
    "quantized_avg_pool2d": "the device rounds the average of integers, halves away from zero; the "
    "reference rounds its floats, halves to even",
    "quantized_div": "the device rounds halves away from zero, the reference to even",
    "quantized_transpose_conv2d": "CMSIS-NN puts rows too high and leaves the last ones unwritten "
    "where the padding is no multiple of the stride (issue 230 of CMSIS-NN)",
    "quantize_per_tensor": "Helium takes 16 values at a time another way: halves may differ by one",
    "cat": "the device joins memory, whatever the order of axes in it",
    "minimum": "the device reads the logical sizes of tensors whose channels lie last",
    "maximum": "the device reads the logical sizes of tensors whose channels lie last",
    "transpose": "the device reads the logical sizes of tensors whose channels lie last",
    "softmax": "the device reads the logical sizes of tensors whose channels lie last",
    "view_copy": "the device copies memory, whatever the order of axes in it",
}


@dataclass(frozen=True)
class Finder:
    """Values of a device for one input, and the evidence for a different recording.

    own: node -> the device's value. reference: true if the Python reference was recorded.
    """

    loaded: LoadedProgram
    inputs: Any
    target: Union[str, Target]
    own: Mapping[str, np.ndarray]
    reference: bool

    def compare_node(self, name: str, recorded: Any) -> Finding:
        """Return the comparison of one node."""
        want = np.ascontiguousarray(self.own[name])
        got = np.ascontiguousarray(convert_to_numbers(recorded, f"the node {name}"))
        unlike, differs = "", None
        if (got.dtype, got.size) != (want.dtype, want.size):
            unlike = (
                f"it is {got.dtype} {list(got.shape)}, but the device's is {want.dtype} "
                f"{list(want.shape)}"
            )
        elif find_differing(got.ravel(), want.ravel()).any():
            differs = measure_difference(
                want, got.ravel(), self._find_cause(name, want, got.ravel())
            )
        source = Path("reference" if self.reference else "recorded")
        return Finding(name, name, source, want.size, want.nbytes, differs, unlike)

    def _find_cause(self, name: str, want: np.ndarray, got: np.ndarray) -> str:
        known = _REASONS.get(self.loaded.operators[name])
        if self.reference and known:
            return known
        crc = zlib.crc32(want.tobytes())
        others = {who: sums[name] for who, sums in self._others.items()}
        entry = Entry(name, 0, name, want.dtype.name, want.shape, crc, others)
        goldens = Goldens(Path(), 1, self._profile, Target.of(self.target).core, (entry,))
        return find_likely_cause(goldens, entry, want, got, self._twins)

    @cached_property
    def _profile(self) -> Profile:
        return self.loaded.network.profile(self.target)

    @cached_property
    def _twins(self) -> dict[int, str]:
        return {crc: name for name, crc in reversed([*_sums(self.own).items()])}

    @cached_property
    def _others(self) -> dict[str, dict[str, int]]:
        """Further profile in words -> the CRC-32 of each of its nodes."""
        x, found = self.loaded.arrange_inputs(self.inputs), {}
        for profile, session in make_other_profiles(
            self.loaded.network.graph, self._profile
        ).items():
            made = {**x, **session.run(x, trace=True)}
            found[str(profile)] = _sums(self.loaded.list_values(made))
        return found


def _sums(arrays: Mapping[str, np.ndarray]) -> dict[str, int]:
    return {name: zlib.crc32(np.ascontiguousarray(a).tobytes()) for name, a in arrays.items()}
