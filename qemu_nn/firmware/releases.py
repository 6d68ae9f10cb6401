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


#: The first state with a macro of Arm's headers that tells it from earlier states with its guard:
#: the version of CMSIS-Core, 5.3 of 5.6.0, which came with arithmetic of its own.
_CORE_VERSION = ("5.6.0", "0x50003")


def list_releases(profile: Profile) -> dict[str, Any]:
    """Return the template values of the release: its name, and conditions for different headers.

    The conditions begin with the newest header, because the first defined guard counts.
    """
    own = known.BY_NAME[profile.cmsis]
    groups = [list(group) for _, group in groupby(known.ALL, attrgetter("guard"))]
    revisions: dict[str, list[Release]] = {}
    for each in known.ALL:
        revisions.setdefault(each.revision, []).append(each)
    return {
        "exported_for": str(own),
        "revision": own.revision,
        "revisions": {name: _words(states) for name, states in revisions.items()},
        "rounds_unsigned": _rounds_unsigned(own),
        "releases": [
            *(
                {
                    "condition": f"defined({group[0].guard})",
                    "words": _words(group),
                    "other": own not in group,
                }
                for group in reversed(groups[1:])
            ),
            *_oldest(groups[0], own),
        ],
    }


def _oldest(group: list[Release], own: Release) -> list[dict[str, Any]]:
    """Return the conditions of the oldest headers, which the version of CMSIS-Core splits."""
    first, version = _CORE_VERSION
    guard, core = f"defined({group[0].guard})", "defined(__CM_CMSIS_VERSION)"
    if own not in group:
        return [{"condition": guard, "words": _words(group), "other": True}]
    old = [each for each in group if each.place < known.place_of(first)]
    new = [each for each in group if each.place >= known.place_of(first)]
    return [
        {
            "condition": f"{guard} && {core} && __CM_CMSIS_VERSION {sign} {version}",
            "words": _words(states),
            "other": own not in states,
        }
        for sign, states in (("<", old), (">=", new))
    ]


def _rounds_unsigned(own: Release) -> str:
    """Return the text in arm_nnsupportfunctions.h that tells states of one $Revision apart.

    NN_ROUND shifts 0x1u from 5.6.0 on: "0x1u", or "" for older states; "any" for other revisions.
    """
    shared = own.revision == known.BY_NAME["5.6.0"].revision
    first = known.place_of(_CORE_VERSION[0])
    return ("0x1u" if own.place >= first else "") if shared else "any"


def _words(group: list[Release]) -> str:
    """Return neighboring releases in words, such as "CMSIS 5.6.0 or 5.7.0"."""
    tags = [each for each in group if each.is_tag]
    first, *more = tags or group[-1:]
    if not tags and first.name in known.WHOLE:
        before = [each for each in known.ALL if each.is_tag and each.place < first.place][-1]
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
