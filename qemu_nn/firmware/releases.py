"""What a network's C says of releases and compilers, checked while it compiles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ir.graph import Node
from ..targets import Profile

#: Include guards of Arm's headers -> the releases that have them, those that C is exported for;
#: from new to old, the first that is defined counts.
_HEADERS = (
    ("ARM_NN_CONFIG_H", "a CMSIS-NN later than 7.0.0", ("main-2026-07",)),
    ("ARM_NN_TYPES_H", "CMSIS-NN 6.0.0 or 7.0.0", ("7.0.0",)),
    ("ARM_NN_MATH_TYPES_H", "CMSIS-NN 4.1.0 or 5.0.0", ()),
    ("_ARM_NN_MATH_TYPES_H_", "CMSIS 5.9.0 or CMSIS-NN 4.0.0", ("5.9.0",)),
    ("_ARM_NN_TYPES_H", "CMSIS 5.8.0", ()),
    ("_ARM_NNFUNCTIONS_H", "CMSIS 5.6.0 or 5.7.0", ("5.6.0",)),
)

#: The revision that Arm wrote into arm_nnfunctions.h -> its release.
REVISIONS = {
    "V.1.0.0": "5.6.0",
    "V.2.0.0": "5.7.0",
    "V.7.0.0": "5.8.0",
    "V.9.0.0": "5.9.0",
    "V.11.2.0": "CMSIS-NN 4.0.0",
    "V.11.3.0": "CMSIS-NN 4.1.0",
    "V.12.4.0": "CMSIS-NN 5.0.0",
    "V.16.0.0": "CMSIS-NN 6.0.0",
    "V.18.0.0": "7.0.0",
    "V.19.1.0": "main-2026-07",
}

_GCC = "defined(__GNUC__) && !defined(__clang__) && !defined(__ARMCC_VERSION)"
_OLD_GCC = f"defined(__ARM_FEATURE_MVE) && {_GCC} && (__GNUC__ * 100 + __GNUC_MINOR__ <= 1202)"

_PACKED = ("arm_depthwise_conv_s4", "arm_depthwise_conv_s4_opt", "arm_depthwise_conv_wrapper_s4")

#: From so many classes on a sum of exponentials may be too large for the scalar softmax.
_CLASSES = 512


def releases(profile: Profile) -> dict[str, Any]:
    """What the templates say of the release: its name, and conditions of headers of others."""
    library = "CMSIS" if profile.cmsis.startswith("5.") else "CMSIS-NN"
    return {
        "exported_for": f"{library} {profile.cmsis}",
        "revision": next(rev for rev, name in REVISIONS.items() if name == profile.cmsis),
        "revisions": REVISIONS,
        "releases": [
            {"condition": f"defined({guard})", "words": words, "other": profile.cmsis not in own}
            for guard, words, own in _HEADERS
        ],
    }


def caveats(nodes: Iterable[Node]) -> list[dict[str, str]]:
    """Condition and words of warnings: where a compiler is known to make other bits of Arm's C."""
    found = []
    nodes = list(nodes)
    if any(node.function.name in _PACKED for node in nodes):
        words = (
            "GCC 12.2 miscompiles packed 4-bit depthwise convolutions for Helium: compile "
            "arm_depthwise_conv_s4_opt.c and arm_nn_depthwise_conv_nt_t_s4.c with -O0"
        )
        found.append({"condition": _OLD_GCC, "words": words})
    softmax = [node for node in nodes if node.function.name == "arm_softmax_s8"]
    if any(node.params["row_size"] >= _CLASSES for node in softmax):
        words = (
            "GCC up to 12.2 takes the scalar path of arm_softmax_s8: of many equal classes "
            "results are -127 where the golden of a Cortex-M55 has -128"
        )
        found.append({"condition": _OLD_GCC, "words": words})
    return found
