"""Builds of TensorFlow Lite Micro whose bits differ: with CMSIS-NN or without, and of which month.

What differs is data here, and nowhere else: a node of a network names a difference where it calls
something else on builds that have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..targets import KERNELS, TFLM, Profile


@dataclass(frozen=True)
class Difference:
    """What builds compute otherwise than the recorded one with CMSIS-NN. operator: of the format;
    words: what they do; source: where that is known from; kernels: those of the builds that have
    it, empty for all; since, before: their months."""

    operator: str
    words: str
    source: str
    kernels: str = ""
    since: str = TFLM[0]
    before: str = "9999-12"

    def holds(self, profile: Profile) -> bool:
        """Say whether the build of a profile has it."""
        return self.kernels in ("", profile.kernels) and self.since <= profile.tflm < self.before


#: Its name -> a difference.
DIFFERENCES: Mapping[str, Difference] = {
    "sub_ratios_2022": Difference(
        "SUB",
        "the three ratios of the scales are float64, as those of ADD, not float32",
        "micro/kernels/sub_common.cc from October 2022 to February 2023",
        before="2023-02",
    ),
    "sub_ratios_2026": Difference(
        "SUB",
        "the three ratios of the scales are float64, as those of ADD, not float32",
        "recorded from the Python wheel of 23 October 2026",
        since="2026-10",
    ),
    "div_ratio_2026": Difference(
        "DIV",
        "the ratio of the scales is float64, not float32",
        "recorded from the Python wheel of 23 October 2026",
        since="2026-10",
    ),
    "rows_in_place": Difference(
        "MAXIMUM, MINIMUM",
        "an int8 operand [n, h, 1, 1] beside one with w > 1 is read row by row",
        "micro/kernels/maximum_minimum.cc",
        kernels="reference",
    ),
    "rows_astray": Difference(
        "MAXIMUM, MINIMUM",
        "of an int8 operand [n, h, 1, 1] beside one with w > 1 every second row is read, and then "
        "what lies behind it",
        "arm_maximum_s8.c, arm_minimum_s8.c",
        kernels=KERNELS[0],
    ),
}
