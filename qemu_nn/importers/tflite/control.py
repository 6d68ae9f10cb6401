"""Variables, and operators that call further graphs: CALL_ONCE, IF and WHILE."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

import numpy as np

from ...errors import Error, ModelError
from ...functions import FUNCTIONS
from ...ir.graph import Loop
from .building import BARE, PLAIN, TfliteBuilder, TfliteValue
from .call import SUFFIXES, Converter, TfliteCall
from .values import GraphContext, Guard

#: A function that adds the calls of another graph, given its number and inputs; returns outputs.
Inlined = Callable[[TfliteCall, int, list[TfliteValue], GraphContext], list[TfliteValue]]


def variable(call: TfliteCall) -> None:
    """Convert VAR_HANDLE: record the variable's name for its resource tensor."""
    call.check_counts(0, 0)
    options = call.read_options("VarHandleOptions")
    name = f"{options.text('Container')}/{options.text('SharedName')}"
    call.builder.variables.handles[call.operator.outputs[0]] = name


def _state(call: TfliteCall, name: str, like: TfliteValue) -> TfliteValue:
    """Return the state of a variable; `like` is a tensor that the file reads or assigns.

    The initial value is that of CALL_ONCE, else the zero point in every byte.
    """
    variables = call.builder.variables
    if name not in variables.states:
        state = replace(
            like, name=call.builder.make_name(name.strip("/")[:60] or "variable", "state")
        )
        first = np.full(like.size * np.dtype(like.dtype).itemsize, like.zero & 255, np.uint8)
        reset = variables.resets.get(name, first.view(like.dtype))
        if reset.dtype != like.dtype or reset.size != like.size:
            raise ModelError(
                f"the variable {name[:60]!r} is initialized with {reset.dtype} {list(reset.shape)} "
                f"and used as {like.dtype} {list(like.shape)}; both must have one type and size"
            )
        call.builder.keep(state, reset)
        variables.states[name] = state
    state = variables.states[name]
    if (state.dtype, state.size) != (like.dtype, like.size):
        raise ModelError(
            f"the variable {name[:60]!r} is used as {state.dtype} {list(state.shape)} and as "
            f"{like.dtype} {list(like.shape)}; both must have one type and size"
        )
    return state


def _variable_name(call: TfliteCall) -> str:
    inputs = call.operator.inputs
    return call.builder.variables.name(inputs[0] if inputs else None)


def read_variable(call: TfliteCall) -> None:
    """Convert READ_VARIABLE."""
    call.check_counts(1, 1)
    output = call.output(0, *PLAIN)
    state = _state(call, _variable_name(call), output)
    function = f"tflm_read_variable_{SUFFIXES[output.dtype]}"
    call.put(function, {"length": output.size}, [state], output)


def assign_variable(call: TfliteCall) -> None:
    """Convert ASSIGN_VARIABLE; in a branch that is not taken, the variable keeps its value."""
    call.check_counts(2, 2, outputs=0)
    value, name = call.value(1, *PLAIN), _variable_name(call)
    state = _state(call, name, value)
    call.builder.variables.assigned.add(name)
    suffix, params = SUFFIXES[value.dtype], {"length": value.size}
    guard = call.builder.where.guard
    if guard is not None:
        ends = [value, state] if guard.holds else [state, value]
        value = call.add_part(
            "kept", value, f"tflm_choose_{suffix}", params, [guard.condition, *ends]
        )
    call.add_part("assigned", value, f"tflm_assign_variable_{suffix}", params, [state, value])


def fix_unassigned(builder: TfliteBuilder) -> None:
    """Replace variables that are read and never assigned by constants."""
    variables = builder.variables
    for name in [name for name in variables.states if name not in variables.assigned]:
        state = variables.states[name]
        function = f"tflm_constant_{SUFFIXES[state.dtype]}"
        if function not in FUNCTIONS:
            raise ModelError(
                f"the variable {name[:60]!r} of {state.dtype} is never assigned; constants of this "
                "type are not supported: assign the variable"
            )
        builder.states.remove(state.tensor)
        values = builder.arrays.get(state.name, np.zeros(state.size, state.dtype))
        builder.arrays[state.name] = values.reshape(-1)
        for at, node in enumerate(builder.nodes):
            if node.inputs == (state.name,):
                constant = replace(node, function=FUNCTIONS[function], inputs=())
                builder.nodes[at] = replace(constant, weights=state.name)


def call_once(call: TfliteCall) -> None:
    """Convert CALL_ONCE: a graph that assigns constants to variables before the first run."""
    call.check_counts(0, 0, outputs=0)
    if call.builder.where.graphs:
        raise ModelError("it is in a graph that an operator calls; it must be in the first graph")
    if call.builder.variables.states:
        raise ModelError("it follows operators that use variables; it must precede these")
    number = call.read_options("CallOnceOptions").integer("InitSubgraphIndex")
    model = call.builder.model.subgraph(number)
    builder = call.builder.enter_graph(model)
    for operator in model.operators:
        inner = replace(call, operator=operator, builder=builder)
        try:
            if operator.name == "VAR_HANDLE":
                variable(inner)
            elif operator.name == "ASSIGN_VARIABLE":
                inner.check_counts(2, 2, outputs=0)
                name, (tensor, data) = _variable_name(inner), inner.constant(1, *BARE)
                builder.variables.resets[name] = data.reshape(tensor.shape)
            elif operator.name == "ethos-u":
                call.warn(
                    "vela has lost the initial values of variables: the device starts with the "
                    "bytes that its arena has then; here they are the zero points"
                )
            else:
                raise ModelError(
                    "it computes before the first run; a graph of CALL_ONCE must only assign "
                    "constants to variables"
                )
        except Error as error:
            raise ModelError(f"graph {number}: {operator}: {error}") from None


def branches(call: TfliteCall, inlined: Inlined) -> None:
    """Convert IF: compute both branches and select the outputs of one."""
    condition = call.value(0, "BOOL")
    _check_condition(condition)
    options = call.read_options("IfOptions")
    given = [call.value(index, *PLAIN) for index in range(1, len(call.operator.inputs))]
    made, outputs = [], len(call.operator.outputs)
    for field, holds in (("ThenSubgraphIndex", True), ("ElseSubgraphIndex", False)):
        where = replace(call.builder.where, guard=_guard(call, Guard(condition, holds)))
        made.append(inlined(call, options.integer(field), given, where))
        if len(made[-1]) != outputs:
            raise ModelError(f"it has {outputs} outputs and a branch with {len(made[-1])}")
    for at, (first, second) in enumerate(zip(*made)):
        output = call.output(at, *PLAIN)
        if any((v.dtype, v.size) != (output.dtype, output.size) for v in (first, second)):
            raise ModelError(
                f"its output {at} is {output.dtype} {list(output.shape)}; its branches return "
                f"{first.dtype} {list(first.shape)} and {second.dtype} {list(second.shape)}"
            )
        function = f"tflm_choose_{SUFFIXES[output.dtype]}"
        inputs = [condition, first, second]
        call.put(function, {"length": output.size}, inputs, output, at=at)


def _check_condition(condition: TfliteValue) -> None:
    if condition.dtype != "bool" or condition.size != 1:
        raise ModelError(
            f"its condition is {condition.dtype} {list(condition.shape)}; it must be one bool"
        )


def _guard(call: TfliteCall, own: Guard) -> Guard:
    """Return the conjunction of a condition and the condition of the enclosing branch."""
    outer = call.builder.where.guard
    if outer is None:
        return own
    both = [_negate_unless_held(call, outer), _negate_unless_held(call, own)]
    return Guard(call.add_part("taken", both[1], "tflm_logical_and_b8", {"length": 1}, both), True)


def _negate_unless_held(call: TfliteCall, guard: Guard) -> TfliteValue:
    """Return a tensor that is true if the branch of a guard is taken."""
    if guard.holds:
        return guard.condition
    condition = [guard.condition]
    return call.add_part("not", guard.condition, "tflm_logical_not_b8", {"length": 1}, condition)


def loop(call: TfliteCall, inlined: Inlined) -> None:
    """Convert WHILE.

    Copies of the inputs become loop variables. The body assigns these variables while the condition
    is true. The outputs are copies of the variables.
    """
    options, builder = call.read_options("WhileOptions"), call.builder
    numbers = [options.integer(f"{name}SubgraphIndex") for name in ("Cond", "Body")]
    body = builder.model.subgraph(numbers[1])
    count = len(call.operator.inputs)
    if not count == len(call.operator.outputs) == len(body.inputs) == len(body.outputs):
        raise ModelError(
            f"it has {count} inputs and {len(call.operator.outputs)} outputs; its body has "
            f"{len(body.inputs)} and {len(body.outputs)}"
        )
    if builder.pace.period(len(builder.nodes)) > 1:
        raise ModelError(
            "it follows a CIRCULAR_BUFFER that ends some Invokes; it must precede the buffer"
        )
    given = [call.value(index, *PLAIN) for index in range(count)]
    passed = [first == last for first, last in zip(body.inputs, body.outputs)]
    kept = [value if same else _copy(call, "variable", value) for value, same in zip(given, passed)]
    at, first = len(builder.loops), len(builder.nodes)
    builder.loops.append(Loop(first, first, first, ""))  # before the loops in its body
    where = replace(builder.where, loops=True)
    conditions = inlined(call, numbers[0], kept, where)
    if len(conditions) != 1:
        raise ModelError(f"its condition has {len(conditions)} outputs; it must have one")
    _check_condition(conditions[0])
    condition = _guard(call, Guard(conditions[0], True)).condition
    test = len(builder.nodes)
    _assign_all(call, kept, inlined(call, numbers[1], kept, where))
    builder.loops[at] = Loop(first, test, len(builder.nodes), condition.name)
    for index, value in enumerate(kept):
        output = call.output(index, *PLAIN)
        _check_same(index, value, output)
        function = f"tflm_read_variable_{SUFFIXES[output.dtype]}"
        call.put(function, {"length": output.size}, [value], output, at=index)


def _copy(call: TfliteCall, part: str, value: TfliteValue) -> TfliteValue:
    function = f"tflm_read_variable_{SUFFIXES[value.dtype]}"
    return call.add_part(part, value, function, {"length": value.size}, [value])


def _check_same(index: int, variable: TfliteValue, value: TfliteValue) -> None:
    if (variable.dtype, variable.size) != (value.dtype, value.size):
        raise ModelError(
            f"its input {index} is {variable.dtype} {list(variable.shape)} and its new value "
            f"{value.dtype} {list(value.shape)}; both must have one type and size"
        )


def _assign_all(call: TfliteCall, variables: list[TfliteValue], made: list[TfliteValue]) -> None:
    """Assign the outputs of a loop's body to the loop's variables, all at once."""
    pairs = [pair for pair in zip(variables, made) if pair[0].name != pair[1].name]
    changed = {variable.name for variable, _ in pairs}
    for index, pair in enumerate(zip(variables, made)):
        _check_same(index, *pair)
    pairs = [
        (variable, _copy(call, "moved", value) if value.name in changed else value)
        for variable, value in pairs
    ]
    for variable, value in pairs:
        function = f"tflm_assign_variable_{SUFFIXES[value.dtype]}"
        call.add_part("assigned", value, function, {"length": value.size}, [variable, value])


CONTROL: dict[str, Converter] = {
    "VAR_HANDLE": variable,
    "READ_VARIABLE": read_variable,
    "ASSIGN_VARIABLE": assign_variable,
    "CALL_ONCE": call_once,
}
