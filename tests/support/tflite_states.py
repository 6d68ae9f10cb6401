"""Files with variables, branches and several inputs; what they compute is easily said in numpy."""

import numpy as np
from tflite_files import File

STATES = {}

#: The only numbers of these files stand for themselves, times this.
SCALE = 0.5


def case(function):
    """Register the file that a function makes, under its name."""
    STATES[function.__name__] = function
    return function


def handle(graph, name):
    """Return the tensor of a variable's handle."""
    tensor = graph.tensor((1,), "RESOURCE", name=f"{name}_handle{len(graph.tensors)}")
    graph.operator("VAR_HANDLE", [], [tensor], "VarHandleOptions", Container="", SharedName=name)
    return tensor


def read(graph, name, shape, type="INT8", **form):
    """Append a READ_VARIABLE of a shape and return its output."""
    form = {"scale": SCALE, **form} if type in ("INT8", "INT16", "UINT8") else form
    made = graph.tensor(shape, type, **form)
    graph.operator("READ_VARIABLE", [handle(graph, name)], [made], "ReadVariableOptions")
    return made


def assign(graph, name, tensor):
    """Append an ASSIGN_VARIABLE."""
    graph.operator("ASSIGN_VARIABLE", [handle(graph, name), tensor], [], "AssignVariableOptions")


def first(net, type="INT8", **resets):
    """Append a CALL_ONCE that assigns these numbers to variables."""
    graph = net.graph()
    form = {"scale": SCALE} if type in ("INT8", "INT16", "UINT8") else {}
    for name, values in resets.items():
        assign(graph, name, graph.tensor(np.shape(values), type, data=values, **form))
    net.operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=len(net.graphs))


def numbers(graph, *values):
    """Return a constant of integers."""
    return graph.tensor((len(values),), "INT32", data=values)


def largest(graph, a, b, shape, output=False):
    """MAXIMUM, which no scale changes."""
    made = graph.output(shape, SCALE) if output else graph.tensor(shape, scale=SCALE)
    graph.operator("MAXIMUM", [a, b], [made], "MaximumMinimumOptions")
    return made


#: Contents of the window of `window()` after reset.
BEFORE = np.arange(-6, 6).reshape(1, 3, 4) * 20


@case
def window():
    """Return the last four inputs, the oldest first."""
    net = File()
    x = net.input((1, 1, 4), SCALE)
    first(net, past=BEFORE)
    past, all = read(net, "past", (1, 3, 4)), net.output((1, 4, 4), SCALE)
    net.operator("CONCATENATION", [past, x], [all], "ConcatenationOptions", Axis=1)
    kept = net.tensor((1, 3, 4), scale=SCALE)
    ends = [numbers(net, *values) for values in ((0, 1, 0), (1, 4, 4), (1, 1, 1))]
    net.operator("STRIDED_SLICE", [all, *ends], [kept], "StridedSliceOptions")
    assign(net, "past", kept)
    return net


@case
def two():
    """Return the maximum of the last two inputs; each variable is read before it is assigned."""
    net = File()
    x = net.input((1, 6), SCALE)
    newer, older = read(net, "newer", (1, 6)), read(net, "older", (1, 6))
    assign(net, "older", newer)
    assign(net, "newer", x)
    largest(net, newer, older, (1, 6), output=True)
    return net


@case
def branches():
    """Return a running maximum in a variable from one branch, and x from the other one."""
    net = File()
    condition = net.tensor((1,), "BOOL", name="condition")
    net.inputs.append(condition)
    x, y = net.input((1, 5), SCALE), net.output((1, 5), SCALE)
    first(net, most=np.full((1, 5), -100))
    then, otherwise = net.graph(), net.graph()
    inner = then.input((1, 5), SCALE)
    made = largest(then, inner, read(then, "most", (1, 5)), (1, 5), output=True)
    assign(then, "most", made)
    otherwise.outputs.append(otherwise.input((1, 5), SCALE))
    which = {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 3}
    net.operator("IF", [condition, x], [y], "IfOptions", **which)
    return net


@case
def three_inputs():
    """Return the maximum of three inputs, and the transposed maximum of the first two."""
    net = File()
    parts = [net.input((1, 2, 3), SCALE) for _ in range(3)]
    for number, part in enumerate(parts):
        net.tensors[part]["name"] = "abc"[number]
    pair = largest(net, *parts[:2], (1, 2, 3))
    largest(net, pair, parts[2], (1, 2, 3), output=True)
    turned = net.output((1, 3, 2), SCALE)
    net.operator("TRANSPOSE", [pair, numbers(net, 0, 2, 1)], [turned], "TransposeOptions")
    net.tensors[turned]["name"] = "turned"
    return net


def kept(type, value):
    """Return a file that outputs the input before, and the value at first."""
    form = {"scale": SCALE} if type in ("INT8", "UINT8", "INT16") else {}
    net = File()
    x = net.tensor((1, 3), type, name="input", **form)
    net.inputs.append(x)
    first(net, type, last=np.full((1, 3), value))
    net.outputs.append(read(net, "last", (1, 3), type, **form))
    assign(net, "last", x)
    return net


def steps(name, *inputs):
    """Compute by numpy the outputs [T, ...] of a file for sequences [T, ...] from reset."""
    return ORACLES[name](*inputs)


def _window(x):
    all = np.concatenate([BEFORE[0], x.reshape(-1, 4)])
    return [np.stack([all[t : t + 4] for t in range(len(x))])]


def _two(x):
    all = np.concatenate([np.zeros((2, 6), x.dtype), x.reshape(-1, 6)])
    return [np.maximum(all[:-2], all[1:-1])]


def _branches(condition, x):
    most, made = np.full(5, -100), []
    for taken, now in zip(condition.ravel(), x.reshape(-1, 5)):
        most = np.maximum(most, now) if taken else most
        made.append(most if taken else now)
    return [np.array(made)]


def _three_inputs(*parts):
    return [np.max(parts, axis=0), np.max(parts[:2], axis=0).swapaxes(-1, -2)]


ORACLES = {
    "window": _window,
    "two": _two,
    "branches": _branches,
    "three_inputs": _three_inputs,
}
