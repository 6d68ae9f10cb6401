"""Conditions on releases and compilers, checked by a network's C at compile time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

from .. import releases as known
from ..ir.graph import Node
from ..releases import Release
from ..targets import Profile

_GCC = "defined(__GNUC__) && !defined(__clang__) && !defined(__ARMCC_VERSION)"
_OLD_GCC = f"defined(__ARM_FEATURE_MVE) && {_GCC} && (__GNUC__ * 100 + __GNUC_MINOR__ <= 1202)"

_PACKED = ("arm_depthwise_conv_s4", "arm_depthwise_conv_s4_opt", "arm_depthwise_conv_wrapper_s4")

#: Number of classes from which a sum of exponentials may overflow the scalar softmax.
_CLASSES = 512


#: Releases whose headers the C distinguishes.
_CHECKED = [each for each in known.ALL if each.place >= known.place_of("5.6.0")]
_CHECKED = [each for each in _CHECKED if each.is_tag or each.name in known.WHOLE]


def list_releases(profile: Profile) -> dict[str, Any]:
    """Return the template values of the release: its name, and conditions for different headers.

    The conditions begin with the newest header, because the first defined guard counts.
    """
    own = known.BY_NAME[profile.cmsis]
    groups = [list(group) for _, group in groupby(_CHECKED, attrgetter("guard"))]
    return {
        "exported_for": str(own),
        "revision": own.revision,
        "revisions": {each.revision: str(each) for each in _CHECKED},
        "releases": [
            {
                "condition": f"defined({group[0].guard})",
                "words": _describe_releases(group),
                "other": own.guard != group[0].guard,
            }
            for group in reversed(groups)
        ],
    }


def _describe_releases(group: list[Release]) -> str:
    """Return neighboring releases in words, such as "CMSIS 5.6.0 or 5.7.0"."""
    first, *more = group
    if not first.is_tag:
        before = [each for each in _CHECKED if each.place < first.place][-1]
        return f"a {first.library} later than {before.name}"
    names = [str(first)]
    names += [each.name if each.library == first.library else str(each) for each in more]
    return " or ".join(names)


def list_caveats(nodes: Iterable[Node]) -> list[dict[str, str]]:
    """Return condition and text of warnings about compilers that change the bits of Arm's C."""
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
