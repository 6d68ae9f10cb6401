"""Releases of CMSIS-NN: their names, their numbers, and the marks that tell their headers apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .errors import Error

#: Number of the NPU's profile: the last bit of a mask of profiles (csrc/include/qn.h).
NPU_PROFILE = 63

#: Profiles of a release: four core paths in two roundings.
PROFILES = 8


@dataclass(frozen=True)
class Release:
    """A state of Arm's sources.

    name: as users write it. library: "CMSIS" or "CMSIS-NN". revision: `$Revision` in its
    arm_nnfunctions.h. guard: the newest include guard of its headers; neighbors may share one.
    number: QN_RELEASE_... of csrc/include/qn.h; None: exports recognize its headers, but no kernel
    computes its bits. affine: True if it has the s8 and s16 API and no q7 and q15 API. helium: True
    if it supports cores with Helium.
    """

    name: str
    library: str
    revision: str
    guard: str
    number: Optional[int] = None
    affine: bool = False
    helium: bool = True

    def __post_init__(self) -> None:
        most = NPU_PROFILE // PROFILES - 1
        if self.number is not None and not 0 <= self.number <= most:
            raise Error(
                f"release {self.name} has the number {self.number}; a mask of 64 profiles holds "
                f"the numbers 0..{most}; use a free one, or widen `profiles` in csrc/include/qn.h"
            )

    def __str__(self) -> str:
        return f"{self.library} {self.name}"

    @property
    def is_tag(self) -> bool:
        """True if the name is a version, and not a state of a branch."""
        return self.name[0].isdigit()

    @property
    def symbol(self) -> str:
        """The enumerator of its number in csrc/include/qn.h."""
        return f"QN_RELEASE_{self.name.upper().replace('.', '').replace('-', '_')}"


#: Every release that the project knows, the oldest first. 5.x have the q7 and q15 functions.
#: main-2026-07 is commit 99f736a6 of Arm's main branch.
ALL = (
    Release("5.6.0", "CMSIS", "V.1.0.0", "_ARM_NNFUNCTIONS_H", number=0, helium=False),
    Release("5.7.0", "CMSIS", "V.2.0.0", "_ARM_NNFUNCTIONS_H"),
    Release("5.8.0", "CMSIS", "V.7.0.0", "_ARM_NN_TYPES_H"),
    Release("5.9.0", "CMSIS", "V.9.0.0", "_ARM_NN_MATH_TYPES_H_", number=1),
    Release("4.0.0", "CMSIS-NN", "V.11.2.0", "_ARM_NN_MATH_TYPES_H_"),
    Release("4.1.0", "CMSIS-NN", "V.11.3.0", "ARM_NN_MATH_TYPES_H"),
    Release("5.0.0", "CMSIS-NN", "V.12.4.0", "ARM_NN_MATH_TYPES_H"),
    Release("6.0.0", "CMSIS-NN", "V.16.0.0", "ARM_NN_TYPES_H"),
    Release("7.0.0", "CMSIS-NN", "V.18.0.0", "ARM_NN_TYPES_H", number=2, affine=True),
    Release("main-2026-07", "CMSIS-NN", "V.19.1.0", "ARM_NN_CONFIG_H", number=3, affine=True),
)

#: Name -> release, of those that kernels compute.
COMPUTED = {each.name: each for each in ALL if each.number is not None}

#: The default releases of the q7 and q15 API, and of the s8 and s16 API.
LEGACY, AFFINE = "5.9.0", "7.0.0"


def choices(affine: bool) -> list[str]:
    """Return names of the computed releases of an API: the default, then the others, newest
    first.
    """
    default = AFFINE if affine else LEGACY
    names = [each.name for each in COMPUTED.values() if each.affine == affine]
    return [default, *(name for name in reversed(names) if name != default)]
