"""Devices as data: which core takes which path through CMSIS-NN, and what a profile is."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import Error

#: Path through the library -> its number in csrc/qn.h. "m0" is Armv6-M and Armv8-M Baseline,
#: "scalar" the portable path as a Cortex-M3 runs it, "mve" the portable path of a core with
#: Helium (a few support functions keep their DSP body there), "dsp" the DSP extension.
PATHS = {"m0": 0, "scalar": 1, "mve": 2, "dsp": 3}

#: Core -> the path its build of CMSIS-NN takes (q7/q15 functions).
CORES = {
    "cortex-m0": "m0",
    "cortex-m0+": "m0",
    "cortex-m0plus": "m0",
    "cortex-m1": "m0",
    "cortex-m3": "scalar",
    "cortex-m4": "dsp",
    "cortex-m7": "dsp",
    "cortex-m23": "m0",
    "cortex-m33": "dsp",
    "cortex-m35p": "dsp",
    "cortex-m55": "mve",
}

#: CMSIS release -> its number in csrc/qn.h.
RELEASES = {"5.6.0": 0, "5.9.0": 1}

#: Rounding -> its number: "nearest" as Arm ships it, "truncate" as with ARM_NN_TRUNCATE.
ROUNDINGS = {"nearest": 0, "truncate": 1}

_NPU_NUMBER = 16

DEFAULT_CORE = "cortex-m4"
DEFAULT_CMSIS = "5.9.0"
DEFAULT_ROUNDING = "nearest"


@dataclass(frozen=True)
class Profile:
    """Whose arithmetic it is. It shows in the bits, so the user chooses it.

    cmsis: release of CMSIS; path: see PATHS; rounding: see ROUNDINGS.
    """

    cmsis: str
    path: str
    rounding: str

    @property
    def number(self) -> int:
        """The profile as csrc/qn.h counts it; rows of the kernel table claim sets of these."""
        if self.path == "npu":
            return _NPU_NUMBER
        return 8 * RELEASES[self.cmsis] + 2 * PATHS[self.path] + ROUNDINGS[self.rounding]

    def __str__(self) -> str:
        return "NPU" if self.path == "npu" else f"CMSIS {self.cmsis}, {self.path}, {self.rounding}"


#: The NPU of the WuQi WQ5007: every shift rounds down.
NPU = Profile("none", "npu", "floor")


def _one_of(choices: dict[str, int], value: str, what: str) -> str:
    if value not in choices:
        raise Error(f"no {what} {value!r}; have: {', '.join(choices)}")
    return value


def core_path(core: str) -> str:
    """The path of a core ("cortex-m4") or of a path's own name ("dsp")."""
    name = str(core).lower()
    if name in PATHS:
        return name
    if name not in CORES:
        raise Error(f"no core {core!r}; have: {', '.join([*CORES, *PATHS])}")
    return CORES[name]


def profile(
    core: str = DEFAULT_CORE, cmsis: str = DEFAULT_CMSIS, rounding: str = DEFAULT_ROUNDING
) -> Profile:
    """The profile of a device, from names; unknown ones raise Error with the choices."""
    path = core_path(core)
    _one_of(RELEASES, cmsis, "CMSIS release")
    _one_of(ROUNDINGS, rounding, "rounding")
    if path == "mve" and cmsis == "5.6.0":
        raise Error(f"CMSIS 5.6.0 does not know {core} (Helium came later); use cmsis='5.9.0'")
    return Profile(cmsis, path, rounding)


def all_profiles() -> list[Profile]:
    """Every profile of CMSIS that exists."""
    return [
        Profile(cmsis, path, rounding)
        for cmsis in RELEASES
        for path in PATHS
        for rounding in ROUNDINGS
        if not (path == "mve" and cmsis == "5.6.0")
    ]
