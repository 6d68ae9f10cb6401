"""Releases of CMSIS-NN: the states that SDKs ship, whose rows compute them, and their names."""

from .functions import FIRST, c_name, has_function, is_brought, name_in_network
from .names import canonical
from .rules import RULES, Call, Rule, computed_as
from .sdks import SDKS, Sdk
from .table import AFFINE, ALL, BY_NAME, LEGACY, WHOLE, Release, choices, place_of

#: Number of the NPU's profile, and its bit in a mask of profiles (csrc/include/qn.h).
NPU_PROFILE, NPU_BIT = 1023, 63

__all__ = [
    "AFFINE",
    "ALL",
    "BY_NAME",
    "FIRST",
    "LEGACY",
    "NPU_BIT",
    "NPU_PROFILE",
    "RULES",
    "SDKS",
    "WHOLE",
    "Call",
    "Release",
    "Rule",
    "Sdk",
    "c_name",
    "canonical",
    "choices",
    "computed_as",
    "has_function",
    "is_brought",
    "name_in_network",
    "place_of",
]
