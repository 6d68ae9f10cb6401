"""C functions that compute a network's calls with the project's plain kernels.

They have Arm's names in a build without CMSIS-NN; functions that CMSIS-NN lacks are in every build.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Union

import numpy as np

from ..functions import Array, Function
from ..functions.c_signature import Elements
from ..functions.prototypes import (
    OWN_HEADER,
    SCRATCH,
    Prototype,
    get_status_type,
    is_own,
    make_prototype,
    make_vector_sum,
)
from ..functions.shapes import Extent
from ..kernels.table import Row
from ..releases import place_of
from ..runtime.step import Step
from ..targets import Profile
from . import plain_kernels, scratch
from .c_text import format_extent, format_signature, wrap_lines
from .memory import MemoryCall

#: Arm's headers of the types, by the first state that has them without those before (CMSIS-DSP left
#: the repository in 2022), and of functions.
_TYPES = {
    "5fc96e5a": "arm_math.h",
    "6a18a74b": "arm_nn_math_types.h",
    "5969db41": "arm_nn_types.h",
}
_FUNCTIONS = "arm_nnfunctions.h"


#: Header of ML-KWS-for-MCU, whose functions are part of exports.
LOCAL_HEADER = "local_NN.h"

#: Status type -> the enumerator for success.
_SUCCESS = {"arm_status": "ARM_MATH_SUCCESS", "arm_cmsis_nn_status": "ARM_CMSIS_NN_SUCCESS"}


#: A field's number, or the C name of a row.
Value = Union[int, str]


@dataclass(frozen=True)
class Choice:
    """Values of a field of a row's parameters, or rows, by arguments of the call.

    names: the arguments; none: one value for all calls. values: the arguments -> the value.
    """

    names: tuple[str, ...]
    values: Mapping[tuple[int, ...], Value]

    def format(self, texts: Mapping[str, str]) -> str:
        """Return the C text; texts: argument -> its C text."""
        *cases, (_, last) = sorted(self.values.items(), key=lambda case: case[1])
        text = str(last)
        for given, value in reversed(cases):
            if value != last:
                tests = " && ".join(f"{texts[n]} == {v}" for n, v in zip(self.names, given))
                text = f"{tests} ? {value} : {text}"
        return text if len(self.values) == 1 else f"({text})"


@dataclass(frozen=True)
class StandIn:
    """A function, the rows that compute it, and the fields of their C parameters.

    run: the C name of the row of a call.

    spare: bytes of scratch memory that the row needs if the calls have none. stacked, joined: bytes
    of the arrays for per-channel parameters and for weights, if the calls have several.
    has_scratch: true if the calls have scratch memory `ctx` (`bufferA` of the legacy API).
    cmsis: the state that the export is for. changed:
    the profile's number in calls, and fields to which the release gives other values than the call.
    """

    function: Function
    rows: tuple[Row, ...]
    run: Choice
    fields: tuple[str, ...]
    spare: int
    stacked: int
    joined: int
    has_scratch: bool
    cmsis: str
    changed: Mapping[str, Choice]

    @property
    def folder(self) -> str:
        """Its folder in an export: for functions of CMSIS-NN, or for further ones that firmware
        needs.
        """
        if is_own(self.function, self.cmsis):
            return "tflm"
        order = self.function.order
        return "local" if order and order.header == LOCAL_HEADER else "kernels"


def make_stand_ins(calls: Iterable[MemoryCall], cmsis: str) -> list[StandIn]:
    """Return the stand-ins of these calls for a state of CMSIS-NN, each function once."""
    functions: dict[str, list[MemoryCall]] = {}
    for call in calls:
        functions.setdefault(call.step.node.function.name, []).append(call)
    return [_make_stand_in(own, cmsis) for _, own in sorted(functions.items())]


def _make_stand_in(calls: Sequence[MemoryCall], cmsis: str) -> StandIn:
    """Return the stand-in of all calls of a function.

    If one call needs the model of the device's path, all use it: its bits equal those of the plain
    row. Plain rows differ by profile, and rules of the release may give calls different profiles.
    """
    steps = [call.step for call in calls]
    function = steps[0].node.function
    models = [step.row for step in steps if step.row.kind == "model"]
    rows = [models[0] if models else step.row for step in steps]
    needed = [row.scratch(step.params) for row, step in zip(rows, steps)]
    return StandIn(
        function,
        tuple(dict.fromkeys(rows)),
        _choose_value(steps, [row.symbol for row in rows]),
        tuple(dir(steps[0].params)),
        spare=max(n if n > call.scratch_bytes else 0 for n, call in zip(needed, calls)),
        stacked=max(step.sizes.bias for step in steps) if function.stack else 0,
        joined=max(step.sizes.weights for step in steps) if function.parts else 0,
        has_scratch=any("ctx" in call.scratch for call in calls),
        cmsis=cmsis,
        changed=_list_changes(steps),
    )


def _list_changes(steps: Sequence[Step]) -> dict[str, Choice]:
    """Return the profile, and the fields that rules of the release change: field -> its values."""
    declared = [step.node.function.struct_values(step.node.params) for step in steps]
    changed = {
        name
        for own, step in zip(declared, steps)
        for name, value in own.items()
        if hasattr(step.params, name) and getattr(step.params, name) != value
    }
    return {
        name: _choose_value(steps, [getattr(step.params, name) for step in steps])
        for name in ("profile", *sorted(changed))
    }


def _choose_value(steps: Sequence[Step], wanted: Sequence[Value]) -> Choice:
    """Return the values of calls by the fewest arguments that tell the calls apart."""
    names = steps[0].node.function.params
    for count in range(len(names) + 1):
        for chosen in combinations(names, count):
            values: dict[tuple[int, ...], set[Value]] = {}
            for step, value in zip(steps, wanted):
                given = tuple(step.node.params[name] for name in chosen)
                values.setdefault(given, set()).add(value)
            if all(len(found) == 1 for found in values.values()):
                return Choice(chosen, {given: found.pop() for given, found in values.items()})
    raise AssertionError(
        f"equal calls of {steps[0].node.function.name} have different kernels in this plan; an "
        "export needs one"
    )


def list_sources(functions: Iterable[StandIn]) -> dict[str, str]:
    """Return the C files of the rows: path -> content."""
    return plain_kernels.list_sources(row.symbol for each in functions for row in each.rows)


def make_implementation(functions: Iterable[StandIn], profile: Profile) -> dict[str, Any]:
    """Return the template values of the C file."""
    functions = list(functions)
    return {
        "profile": str(profile),
        "headers": sorted(
            {make_prototype(each.function, profile.cmsis).header for each in functions}
        ),
        "kernel_headers": plain_kernels.list_headers(
            row.symbol for each in functions for row in each.rows
        ),
        **{
            name: max((getattr(each, name) for each in functions), default=0)
            for name in ("spare", "stacked", "joined")
        },
        "success": _SUCCESS[get_status_type(profile.cmsis)],
        **_make_sums(functions, profile.cmsis),
        "functions": (texts := [_definition(each, profile) for each in functions]),
        "spoils": any("spoil(scratch" in text for text in texts),
    }


def guard(header: str) -> str:
    """Return the macro that a stand-in for this header defines."""
    return f"STAND_IN_{header[:-2].upper()}_H"


def _find_types(cmsis: str) -> str:
    """Return the header of a state that declares the types."""
    place = place_of(cmsis)
    return [header for state, header in _TYPES.items() if place_of(state) <= place][-1]


def list_arm_headers(called: Iterable[str], cmsis: str) -> list[str]:
    """Return Arm's headers that a network includes for functions of these headers."""
    own = {OWN_HEADER, LOCAL_HEADER}
    return sorted({*called, _find_types(cmsis), _FUNCTIONS} - own)


def list_headers(functions: Iterable[StandIn], cmsis: str) -> dict[str, dict[str, Any]]:
    """Return file name -> template values of a header, Arm's or ours."""
    functions = list(functions)
    prototypes = [make_prototype(each.function, cmsis) for each in functions]
    sums = make_vector_sum(cmsis)
    prototypes += [sums] if sums and _needs_sums(functions, cmsis) else []
    always = [_find_types(cmsis), _FUNCTIONS]
    for brought in (OWN_HEADER, LOCAL_HEADER):
        if any(one.header == brought for one in prototypes):
            always = [brought]
    declared: dict[str, list[str]] = {name: [] for name in always}
    for one in prototypes:
        declared.setdefault(one.header, []).append(format_signature(one, ";"))
    return {
        name: {
            "name": name,
            "guard": guard(name),
            "types": always[0],
            "own": name == OWN_HEADER,
            "local": name == LOCAL_HEADER,
            "prototypes": prototypes,
        }
        for name, prototypes in declared.items()
    }


def _make_sums(functions: Iterable[StandIn], cmsis: str) -> dict[str, Any]:
    """Return the signature of the function that sums weights, and its arguments."""
    sums = make_vector_sum(cmsis)
    if sums is None or not _needs_sums(functions, cmsis):
        return {"sums": "", "sum_arguments": []}
    names = [argument.name for argument in sums.arguments]
    return {"sums": format_signature(sums, " {"), "sum_arguments": names}


def _needs_sums(functions: Iterable[StandIn], cmsis: str) -> bool:
    return any(each.has_scratch and make_prototype(each.function, cmsis).sums for each in functions)


def _definition(stand_in: StandIn, profile: Profile) -> str:
    """Return the function with Arm's name: it fills the structs of the row and calls it."""
    function = stand_in.function
    declared = make_prototype(function, profile.cmsis)
    values = _list_expressions(declared)
    params = [
        f".{name} = {value}"
        for name, value in _list_fields(stand_in, values).items()
        if name in stand_in.fields
    ]
    inputs = ", ".join(f"(void *){values[array.name]}" for array in function.inputs)
    buffers = [f".in = {{{inputs}}}"] if inputs else []
    if function.weights is not None:
        weights = "joined.bytes" if function.parts else values[function.weights.name]
        buffers.append(f".weights = {weights}")
    if function.bias is not None:
        bias = "stacked.bytes" if function.stack else values[function.bias.name]
        buffers.append(f".bias = {bias}")
    buffers += [
        f".out = {values[function.output.name]}",
        f".scratch = {_format_scratch(stand_in, declared)}",
    ]
    spoiling = _spoil(stand_in, declared, values)
    body = [
        *_put_arrays(function, values),
        f"    {wrap_lines(f'const {stand_in.rows[0].op.params} call = {{', params, '};')}",
        f"    {wrap_lines('const qn_buffers memory = {', buffers, '};')}",
        *spoiling.before,
    ]
    return "\n".join(
        [
            format_signature(declared, " {"),
            *body,
            *_list_unused(declared, "\n".join(body)),
            *_ending(function, declared, stand_in.run.format(values), spoiling.after),
            "}",
        ]
    )


def _format_scratch(stand_in: StandIn, declared: Prototype) -> str:
    """Return the C text of the scratch memory: the call's own, if it is large enough."""
    given = [e.name for e in declared.arguments if e.name in SCRATCH or e.name == "ctx"]
    if stand_in.spare:
        return "spare.bytes"
    return {"": "NULL", "ctx": "ctx->buf"}.get(given[0], given[0]) if given else "NULL"


def _list_expressions(declared: Prototype) -> Mapping[str, str]:
    """Return C argument -> its C text inside the function."""
    values = {arg.name: arg.name for arg in declared.arguments if arg.struct is None}
    for arg in declared.arguments:
        for member, held in arg.struct.members.items() if arg.struct else ():
            text = f"{arg.name}->{member}"
            if isinstance(held, str):
                values.setdefault(held, text)
            elif isinstance(held, Elements):
                values.update((name, f"{text}[{i}]") for i, name in enumerate(held.names))
    return {**values, **declared.implied}


def _list_fields(stand_in: StandIn, values: Mapping[str, str]) -> Mapping[str, Union[int, str]]:
    """Return field of the row's parameters -> the C text that fills it."""
    function = stand_in.function
    scalars = {name: values[name] for name in function.params}
    changed = {name: choice.format(values) for name, choice in stand_in.changed.items()}
    return {**function.struct_values(scalars), **changed}


def _list_unused(declared: Prototype, body: str) -> list[str]:
    """Return arguments of Arm's that the row has no use for."""
    words = set(re.findall(r"\w+", body))
    return [f"    (void){arg.name};" for arg in declared.arguments if arg.name not in words]


def _spoil(stand_in: StandIn, declared: Prototype, values: Mapping[str, str]) -> scratch.Spoiling:
    """Return the lines on scratch memory; none if a later call reads what a function leaves in it,
    or in firmware.
    """
    legacy = any(argument.name in SCRATCH for argument in declared.arguments)
    kept = stand_in.rows[0].kind == "model" or stand_in.folder != "kernels"
    if kept or (legacy and not stand_in.has_scratch):
        return scratch.Spoiling()
    return scratch.spoil(declared, stand_in.function, values)


def _ending(function: Function, declared: Prototype, run: str, after: tuple[str, ...]) -> list[str]:
    """Return the call of the row, the lines after it, and what the function returns."""
    call = f"{run}(&call, &memory);"
    if declared.answers and not after:
        return [f"    return ({declared.returns}){call}"]
    if declared.answers:
        return [f"    const int status = {call}", *after, f"    return ({declared.returns})status;"]
    if declared.returns == "void":
        return [f"    {call}", *after]
    behind = " * ".join(map(str, function.output.axes))
    return [f"    {call}", *after, f"    return {function.output.name} + {behind};"]


def _put_arrays(function: Function, values: Mapping[str, str]) -> list[str]:
    """Return C that fills `joined` with the weights and `stacked` with the per-channel parameters.

    values: C argument -> its C text. No lines if C has a single array as well.
    """
    lines = []
    if function.parts and function.weights is not None:
        counts = [part.axes for part in function.parts]
        lines += _put("joined", function.weights, function.parts, counts, values)
    if function.stack and function.bias is not None:
        counts = [function.bias.axes[1:]] * len(function.stack)
        lines += _put("stacked", function.bias, function.stack, counts, values)
    return lines


def _put(
    target: str,
    whole: Array,
    parts: Sequence[Array],
    counts: Sequence[Extent],
    values: Mapping[str, str],
) -> list[str]:
    """Return one call of put() for each array, each after the one before."""
    width = np.dtype(whole.dtype).itemsize
    end = f"{target}.bytes"
    lines: list[str] = []
    for part, count in zip(parts, counts):
        own = str(np.dtype(part.dtype).itemsize)
        if part.narrow:
            own = f"{values[part.narrow]} ? 4 : {own}"
        arguments = [end, str(width), values[part.name], own, format_extent(count, values)]
        start = f"{target}_end = put(" if lines else f"int8_t *{target}_end = put("
        lines.append(f"    {wrap_lines(start, arguments, ');')}")
        end = f"{target}_end"
    return lines
