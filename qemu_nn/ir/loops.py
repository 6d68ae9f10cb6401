"""Loops of calls that run while a condition is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import ModelError
from .tensors import Tensor

#: Most loops of a network.
_MOST = 100


@dataclass(frozen=True)
class Loop:
    """Loop in a network.

    Calls first..test-1 compute the condition, test..last-1 are the body. Both are repeated until
    the condition, a tensor of one bool, is false; then the calls from `last` on run. Calls of the
    body write to tensors computed before the loop: its variables. An outer loop is listed before
    its inner loops.
    """

    first: int
    test: int
    last: int
    condition: str

    def holds(self, call: int) -> bool:
        """True if the call with this index belongs to the loop."""
        return self.first <= call < self.last


#: Event of a network, in order: ("call", index of the call), or ("begin", "test" or "end",
#: index of the loop).
Event = tuple[str, int]


def list_program(calls: int, loops: Sequence[Loop]) -> list[Event]:
    """Return all calls of a network and the ends of its loops, in the order of their code.

    Raises ModelError for loops that are neither nested nor disjoint.
    """
    events: list[Event] = []
    begun: list[int] = []  # open loops, the innermost last
    tested: set[int] = set()
    waiting = 0
    for call in range(calls + 1):
        events += _list_passed(call, loops, begun, tested)
        while waiting < len(loops) and loops[waiting].first == call:
            events.append(("begin", waiting))
            begun.append(waiting)
            waiting += 1
            events += _list_passed(call, loops, begun, tested)
        events.append(("call", call))
    if begun or waiting < len(loops):
        raise ModelError(
            f"loop {(begun or [waiting])[-1]} begins or ends in the middle of another one"
        )
    return events[:-1]


def _list_passed(
    call: int, loops: Sequence[Loop], begun: list[int], tested: set[int]
) -> Iterator[Event]:
    """Yield conditions and ends of loops before a call."""
    while begun:
        number = begun[-1]
        if number not in tested and loops[number].test == call:
            tested.add(number)
            yield "test", number
        elif number in tested and loops[number].last == call:
            yield "end", begun.pop()
        else:
            return


def check_loops(
    loops: Sequence[Loop],
    made: Mapping[str, int],
    reads: Sequence[Sequence[str]],
    outputs: Sequence[str],
    tensors: Mapping[str, Tensor],
) -> None:
    """Raise ModelError for loops that a plan cannot run.

    made: tensor -> the call that computes it, -1 for inputs and states. reads: of each call. Only
    calls inside a loop may read its tensors, because the body may have no iteration.
    """
    if len(loops) > _MOST:
        raise ModelError(f"it has {len(loops)} loops; at most {_MOST} are supported")
    for number, loop in enumerate(loops):
        if not 0 <= loop.first <= loop.test <= loop.last <= len(reads) or loop.first == loop.last:
            raise ModelError(
                f"loop {number} begins at call {loop.first}, tests at {loop.test} and ends at "
                f"{loop.last}; these must follow one another among {len(reads)} calls"
            )
        tensor = tensors.get(loop.condition)
        if tensor is None or made[loop.condition] >= loop.test:
            raise ModelError(
                f"loop {number}: nothing before its test computes the condition {loop.condition!r}"
            )
        if (tensor.dtype, tensor.nbytes) != ("bool", 1):
            raise ModelError(
                f"loop {number}: the condition {loop.condition!r} is {tensor.dtype} "
                f"{list(tensor.shape)}, but must be one bool"
            )
    list_program(len(reads), loops)
    readers = [(name, call) for call, names in enumerate(reads) for name in names]
    readers += [(name, len(reads)) for name in outputs]
    for number, loop in enumerate(loops):
        conditions = [other.condition for other in loops if not _is_inside(other, loop)]
        late = [name for name in conditions if loop.holds(made[name])]
        late += [n for n, call in readers if loop.holds(made.get(n, -1)) and not loop.holds(call)]
        if late:
            raise ModelError(
                f"{late[0]!r} is made in loop {number} and read outside of it, where it may not be"
            )


def _is_inside(inner: Loop, outer: Loop) -> bool:
    """True if a loop is inside another one, or equal to it; loops do not cross."""
    return outer.first <= inner.first and inner.last <= outer.last


def may_write(loops: Sequence[Loop], made: int, call: int) -> bool:
    """True if a call may write to another call's tensor, because it is a variable of its loop."""
    return made >= 0 and any(made < loop.first and loop.holds(call) for loop in loops)


def find_needed_until(loops: Sequence[Loop], made: int, read: int) -> int:
    """Return the last call before which a tensor, computed by one call and read by another, must be
    intact.

    A loop reads tensors from before the loop in each iteration.
    """
    turns = (loop.last for loop in loops if loop.holds(read) and not loop.holds(made))
    return max((read, *turns))


def iterate_conditions(loops: Sequence[Loop], made: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield each condition, and the last call before which it must be intact."""
    for loop in loops:
        yield (
            loop.condition,
            max(loop.test, find_needed_until(loops, made[loop.condition], loop.first)),
        )
