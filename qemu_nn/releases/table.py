"""The states of Arm's sources that SDKs ship, in the order of their history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

#: Releases with bits of their own -> QN_RELEASE_... of csrc/include/qn.h. The rules compute every
#: call of another state as one of these.
NUMBERS = {
    **{"5.6.0": 0, "5.9.0": 1, "7.0.0": 2, "main-2026-07": 3},
    **{"5.3.0": 4, "5.4.0": 5, "5.7.0": 6, "5.8.0": 7, "6.0.0": 8},
}

#: Releases all of whose ops most rows claim: the others have some ops of their own.
WHOLE = ("5.6.0", "5.9.0", "7.0.0", "main-2026-07")

#: The default releases of the q7 and q15 API, and of the s8 and s16 API.
LEGACY, AFFINE = "5.9.0", "7.0.0"

#: Name, commit, day of the commit, `$Revision` in arm_nnfunctions.h, and the newest include guard
#: of the headers. States between two tags have the name of their commit.
_STATES = """
5fc96e5a      5fc96e5a 2018-01-22 V.1.0.0   _ARM_NNFUNCTIONS_H
5.3.0         49ac527a 2018-02-22 V.1.0.0   _ARM_NNFUNCTIONS_H
4e515bb6      4e515bb6 2018-04-09 V.1.0.0   _ARM_NNFUNCTIONS_H
ce46c7c2      ce46c7c2 2018-06-06 V.1.0.0   _ARM_NNFUNCTIONS_H
42606930      42606930 2018-07-17 V.1.0.0   _ARM_NNFUNCTIONS_H
5.4.0         0b521765 2018-08-01 V.1.0.0   _ARM_NNFUNCTIONS_H
5.5.0         a82c293b 2019-03-18 V.1.0.0   _ARM_NNFUNCTIONS_H
5.5.1         ca812421 2019-03-21 V.1.0.0   _ARM_NNFUNCTIONS_H
5.6.0         b5f0603d 2019-07-10 V.1.0.0   _ARM_NNFUNCTIONS_H
04c0b9a8      04c0b9a8 2019-08-30 V.1.0.0   _ARM_NNFUNCTIONS_H
d76d5e3a      d76d5e3a 2019-11-28 V.1.0.0   _ARM_NNFUNCTIONS_H
b214a23d      b214a23d 2020-04-06 V.2.0.0   _ARM_NNFUNCTIONS_H
5.7.0         a65b7c9a 2020-04-09 V.2.0.0   _ARM_NNFUNCTIONS_H
8a4db53f      8a4db53f 2020-04-10 V.2.0.0   _ARM_NNFUNCTIONS_H
f7e96efd      f7e96efd 2020-05-20 V.3.0.0   _ARM_NN_TYPES_H
01f5b32b      01f5b32b 2020-09-21 V.6.5.2   _ARM_NN_TYPES_H
NN/2.0.0      b9667965 2021-02-17 V.6.5.3   _ARM_NN_TYPES_H
07bb28ed      07bb28ed 2021-02-23 V.6.5.3   _ARM_NN_TYPES_H
0d7e4fa7      0d7e4fa7 2021-02-24 V.6.5.3   _ARM_NN_TYPES_H
59d62498      59d62498 2021-04-22 V.7.0.0   _ARM_NN_TYPES_H
09e071b5      09e071b5 2021-04-28 V.7.0.0   _ARM_NN_TYPES_H
5.8.0         13b9f72f 2021-06-24 V.7.0.0   _ARM_NN_TYPES_H
c43379be      c43379be 2021-08-24 V.7.3.1   _ARM_NN_MATH_TYPES_H_
bff28575      bff28575 2021-11-04 V.7.3.1   _ARM_NN_MATH_TYPES_H_
977abe98      977abe98 2021-12-29 V.7.3.1   _ARM_NN_MATH_TYPES_H_
9dc018e6      9dc018e6 2022-03-17 V.8.1.1   _ARM_NN_MATH_TYPES_H_
184ccfd0      184ccfd0 2022-04-28 V.9.0.0   _ARM_NN_MATH_TYPES_H_
5.9.0         2b7495b8 2022-05-02 V.9.0.0   _ARM_NN_MATH_TYPES_H_
6a18a74b      6a18a74b 2022-05-09 V.10.0.0  _ARM_NN_MATH_TYPES_H_
51263182      51263182 2022-08-31 V.10.1.2  _ARM_NN_MATH_TYPES_H_
5969db41      5969db41 2022-10-06 V.11.0.0  _ARM_NN_MATH_TYPES_H_
e98ee09a      e98ee09a 2022-10-12 V.11.0.0  _ARM_NN_MATH_TYPES_H_
38e92201      38e92201 2022-10-20 V.11.0.0  _ARM_NN_MATH_TYPES_H_
4.0.0         ca5dc343 2022-11-17 V.11.2.0  _ARM_NN_MATH_TYPES_H_
d071e9f7      d071e9f7 2023-02-13 V.11.3.0  ARM_NN_MATH_TYPES_H
4.1.0         61d1bb6c 2023-05-08 V.11.3.0  ARM_NN_MATH_TYPES_H
dc64e488      dc64e488 2023-05-23 V.11.3.0  ARM_NN_MATH_TYPES_H
58f17705      58f17705 2023-09-18 V.12.0.0  ARM_NN_MATH_TYPES_H
ca476254      ca476254 2023-11-06 V.12.2.0  ARM_NN_MATH_TYPES_H
5.0.0         bfc54edb 2023-11-14 V.12.4.0  ARM_NN_MATH_TYPES_H
2a999a2f      2a999a2f 2024-02-08 V.13.0.0  ARM_NN_TYPES_H
72e1ebf6      72e1ebf6 2024-02-22 V.13.0.1  ARM_NN_TYPES_H
6cc31fb3      6cc31fb3 2024-03-05 V.14.0.0  ARM_NN_TYPES_H
8492d82a      8492d82a 2024-04-11 V.15.1.0  ARM_NN_TYPES_H
15dbe7cd      15dbe7cd 2024-04-29 V.16.0.0  ARM_NN_TYPES_H
01dee38e      01dee38e 2024-05-06 V.16.0.0  ARM_NN_TYPES_H
6.0.0         69823017 2024-06-02 V.16.0.0  ARM_NN_TYPES_H
95f293df      95f293df 2024-08-28 V.16.3.0  ARM_NN_TYPES_H
f2cb41ca      f2cb41ca 2024-09-16 V.17.0.0  ARM_NN_TYPES_H
7.0.0         22080c68 2024-11-11 V.18.0.0  ARM_NN_TYPES_H
e096196a      e096196a 2025-02-18 V.18.0.0  ARM_NN_TYPES_H
098d54a6      098d54a6 2026-03-09 V.19.0.0  ARM_NN_TYPES_H
d933672e      d933672e 2026-05-04 V.19.0.0  ARM_NN_TYPES_H
6d9d61d8      6d9d61d8 2026-05-05 V.19.0.0  ARM_NN_TYPES_H
4ab83cc3      4ab83cc3 2026-06-17 V.19.1.0  ARM_NN_CONFIG_H
dbf45dbf      dbf45dbf 2026-06-25 V.19.1.0  ARM_NN_CONFIG_H
main-2026-07  99f736a6 2026-07-15 V.19.1.0  ARM_NN_CONFIG_H
"""


@dataclass(frozen=True)
class Release:
    """A state of Arm's sources.

    name: as users write it. commit: its first eight digits. date: of the commit. revision:
    `$Revision` in its arm_nnfunctions.h; several states may share one. guard: the newest include
    guard of its headers; neighbors may share one. place: in the history.
    """

    name: str
    commit: str
    date: str
    revision: str
    guard: str
    place: int

    def __str__(self) -> str:
        return f"{self.library} {self.name}"

    @property
    def is_tag(self) -> bool:
        """True if the name is a version, and not a commit or a branch."""
        return "." in self.name

    @property
    def library(self) -> str:
        """The project of the sources."""
        return "CMSIS-NN" if self.is_affine else "CMSIS"

    @property
    def number(self) -> Optional[int]:
        """QN_RELEASE_... of csrc/include/qn.h; None: the rules name another release."""
        return NUMBERS.get(self.name)

    @property
    def symbol(self) -> str:
        """The enumerator of its number in csrc/include/qn.h."""
        return f"QN_RELEASE_{self.name.upper().replace('.', '').replace('-', '_')}"

    @property
    def is_affine(self) -> bool:
        """True if it has no q7 and q15 functions."""
        return self.place >= _PLACES["5969db41"]

    @property
    def is_legacy(self) -> bool:
        """True if it has no s8 and s16 functions that this package computes."""
        return self.place < _PLACES["d76d5e3a"]

    @property
    def has_single(self) -> bool:
        """True if it has CMSIS_NN_USE_SINGLE_ROUNDING (commit 3c79bde3)."""
        return self.place >= _PLACES["9dc018e6"]

    @property
    def has_helium(self) -> bool:
        """True if it supports cores with Helium."""
        return not self.is_legacy


_LINES = [line.split() for line in _STATES.strip().splitlines()]
_PLACES = {line[0]: place for place, line in enumerate(_LINES)}

#: Every state, the oldest first.
ALL = tuple(
    Release(name, commit, date, revision, guard, place)
    for place, (name, commit, date, revision, guard) in enumerate(_LINES)
)

#: Name -> state.
BY_NAME = {each.name: each for each in ALL}


def place_of(name: str) -> int:
    """Return the place of a state in the history."""
    return _PLACES[name]


def choices(affine: bool) -> list[str]:
    """Return the tags of an API: the default, then the others, newest first."""
    default = AFFINE if affine else LEGACY
    have = (each for each in reversed(ALL) if each.is_tag or each.name in WHOLE)
    lacks = {True: "is_legacy", False: "is_affine"}[affine]
    names = [each.name for each in have if not getattr(each, lacks)]
    return [default, *(name for name in names if name != default)]
