"""C functions under Arm's names that compute a network's calls with the project's plain kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union

from ..kernels import Row
from ..layers import Function
from ..layers.prototypes import SCRATCH, STRUCTS, Prototype, prototype
from ..targets import Profile
from . import plain_kernels
from .c_text import signature, wrapped
from .memory import Call

#: The headers of Arm's that are always there; the first has the types.
_TYPES, _FUNCTIONS = "arm_math.h", "arm_nnfunctions.h"


@dataclass(frozen=True)
class StandIn:
    """A function, the row that computes it, and the fields of the row's C parameters.

    spare: bytes of scratch memory that the row needs where the calls bring none.
    """

    function: Function
    row: Row
    fields: tuple[str, ...]
    spare: int


def stand_ins(calls: Iterable[Call]) -> list[StandIn]:
    """What computes these calls, each function once.

    Where one call needs the model of the device's own way, all calls of its function get it: its
    bits are those of the plain row.
    """
    found: dict[str, StandIn] = {}
    for call in sorted(calls, key=lambda call: call.step.row.kind != "model"):
        step, function = call.step, call.step.node.function
        first = found.get(function.name)
        row = first.row if first else step.row
        needed = row.scratch(step.params)
        spare = max(needed if needed > call.scratch_bytes else 0, first.spare if first else 0)
        found[function.name] = StandIn(function, row, tuple(dir(step.params)), spare)
    return sorted(found.values(), key=lambda each: each.function.name)


def sources(found: Iterable[StandIn]) -> dict[str, str]:
    """The C files of the rows: path -> content."""
    return plain_kernels.sources(plain_kernels.symbol(each.row) for each in found)


def implementation(found: Iterable[StandIn], profile: Profile) -> dict[str, Any]:
    """What the template of the C file says."""
    return {
        "profile": str(profile),
        "headers": sorted({prototype(each.function).header for each in found}),
        "spare": max(each.spare for each in found),
        "functions": [_definition(each, profile) for each in found],
    }


def headers(found: Iterable[StandIn]) -> dict[str, dict[str, Any]]:
    """File name -> what the template of a header says."""
    declared: dict[str, list[str]] = {name: [] for name in (_TYPES, _FUNCTIONS)}
    for each in found:
        one = prototype(each.function)
        declared.setdefault(one.header, []).append(signature(one, ";"))
    return {
        name: {
            "name": name,
            "guard": f"STAND_IN_{name[:-2].upper()}_H",
            "types": name == _TYPES,
            "prototypes": prototypes,
        }
        for name, prototypes in declared.items()
    }


def _definition(stand_in: StandIn, profile: Profile) -> str:
    """The function under Arm's name: fills the structs of the row and calls it."""
    function = stand_in.function
    declared = prototype(function)
    given = [each.name for each in declared.arguments if each.name in SCRATCH]
    used = given[0] if given and not stand_in.spare else ""
    scratch = {"": "NULL", "ctx": "ctx->buf"}.get(used, used)
    if stand_in.spare:
        scratch = "spare.bytes"
    params = [
        f".{name} = {value}"
        for name, value in _fields(function, declared, profile).items()
        if name in stand_in.fields
    ]
    inputs = ", ".join(f"(void *){array.name}" for array in function.inputs)
    buffers = [f".in = {{{inputs}}}"]
    for role, array in (("weights", function.weights), ("bias", function.bias)):
        buffers += [f".{role} = {array.name}"] if array else []
    buffers += [f".out = {function.output.name}", f".scratch = {scratch}"]
    return "\n".join(
        [
            signature(declared, " {"),
            f"    {wrapped(f'const {stand_in.row.op.params} params = {{', params, '};')}",
            f"    {wrapped('const qn_buffers buffers = {', buffers, '};')}",
            *(f"    (void){name};" for name in given if name != used),
            *_ending(function, declared, plain_kernels.symbol(stand_in.row)),
            "}",
        ]
    )


def _fields(
    function: Function, declared: Prototype, profile: Profile
) -> Mapping[str, Union[int, str]]:
    """Field of the row's parameters -> the C expression that fills it."""
    scalars = {name: name for name in function.params}
    for struct in (each.name for each in declared.arguments if each.name in STRUCTS):
        scalars.update({scalar: f"{struct}->{m}" for m, scalar in STRUCTS[struct].items()})
    return {"profile": profile.number, **function.struct_values(scalars)}


def _ending(function: Function, declared: Prototype, run: str) -> list[str]:
    call = f"{run}(&params, &buffers);"
    if declared.returns == "arm_status":
        return [f"    return (arm_status){call}"]
    if declared.returns == "void":
        return [f"    {call}"]
    behind = " * ".join(map(str, function.output.axes))
    return [f"    {call}", f"    return {function.output.name} + {behind};"]
