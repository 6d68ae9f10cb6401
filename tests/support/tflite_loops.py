"""Files with WHILE, and what they compute, turn by turn in plain Python."""

import numpy as np
from tflite_files import File
from tflite_states import assign, first, read

LOOPS = {}

#: All int8 numbers of these files stand for themselves times this.
SCALE = 0.5

#: Most turns of a loop that counts.
MOST = 9


def case(function):
    """Register the file that a function makes, under its name."""
    LOOPS[function.__name__] = function
    return function


def integer(graph, *shape, **more):
    return graph.tensor(shape or (1,), "INT32", **more)


def bytes_(graph, *shape, **more):
    return graph.tensor(shape, scale=SCALE, **more)


def ends(graph, inputs=(), outputs=()):
    graph.inputs += inputs
    graph.outputs += outputs


def put(graph, name, inputs, output, options=None, **fields):
    """Append an operator and return its output."""
    graph.operator(name, inputs, [output], options, **fields)
    return output


def add(graph, a, b, like):
    return put(graph, "ADD", [a, b], like, "AddOptions", PotScaleInt16=False)


def one_more(graph, i):
    return add(graph, i, integer(graph, data=[1]), integer(graph))


def less(graph, i, n):
    """i < n and i < MOST."""
    most = put(graph, "MINIMUM", [n, integer(graph, data=[MOST])], integer(graph),
               "MaximumMinimumOptions")  # fmt: skip
    return put(graph, "LESS", [i, most], graph.tensor((1,), "BOOL"), "LessOptions")


def repeat(net, inputs, outputs, condition, body):
    """Append a WHILE of two graphs of the file."""
    which = {
        "CondSubgraphIndex": 1 + net.all.index(condition),
        "BodySubgraphIndex": 1 + net.all.index(body),
    }
    net.operator("WHILE", inputs, outputs, "WhileOptions", **which)


class Net(File):
    """A file whose graphs know all graphs of the file."""

    def __init__(self):
        super().__init__()
        self.all = self.graphs

    def graph(self):
        made = Net()
        made.buffers, made.all = self.buffers, self.all
        self.all.append(made)
        return made


def counted(net, *extra):
    """Return the condition of a loop over (i, n, ...); extra: tensors that it passes along."""
    graph = net.graph()
    i, n = integer(graph), integer(graph)
    ends(graph, [i, n, *(graph.tensor(shape, type, **form) for shape, type, form in extra)])
    ends(graph, outputs=[less(graph, i, n)])
    return graph


EIGHT = ((1, 4), "INT8", {"scale": SCALE})


def start(net):
    """Return the inputs of most loops: the number of iterations, and a vector."""
    n, x = integer(net, name="turns"), bytes_(net, 1, 4, name="x")
    ends(net, [n, x])
    return n, x, integer(net, data=[0])


@case
def sums():
    """n times: y = y + x, in 8 bits; x is passed along, and so is n."""
    net = Net()
    n, x, zero = start(net)
    condition, body = counted(net, EIGHT, EIGHT), net.graph()
    i, m, inner, y = integer(body), integer(body), bytes_(body, 1, 4), bytes_(body, 1, 4)
    ends(body, [i, m, inner, y])
    ends(body, outputs=[one_more(body, i), m, inner, add(body, y, inner, bytes_(body, 1, 4))])
    last, same, x_same, y = integer(net), integer(net), bytes_(net, 1, 4), bytes_(net, 1, 4)
    repeat(net, [zero, n, x, bytes_(net, 1, 4, data=[1, 2, 3, -4])], [last, same, x_same, y],
           condition, body)  # fmt: skip
    ends(net, outputs=[y, last])
    return net


@case
def swaps():
    """n times: a, b = b, a + b; a reshaped b is read before and after it is assigned."""
    net = Net()
    n, x, zero = start(net)
    condition, body = counted(net, EIGHT, EIGHT), net.graph()
    i, m, a, b = integer(body), integer(body), bytes_(body, 1, 4), bytes_(body, 1, 4)
    ends(body, [i, m, a, b])
    flat = put(body, "RESHAPE", [b], bytes_(body, 4), "ReshapeOptions")
    whole = put(body, "RESHAPE", [flat], bytes_(body, 1, 4), "ReshapeOptions")
    ends(body, outputs=[one_more(body, i), m, whole, add(body, a, b, bytes_(body, 1, 4))])
    made = [integer(net), integer(net), bytes_(net, 1, 4), bytes_(net, 1, 4)]
    repeat(net, [zero, n, bytes_(net, 1, 4, data=[0, 1, -1, 5]), x], made, condition, body)
    ends(net, outputs=made[2:])
    return net


#: The layer of `settles`: its weights.
WEIGHTS = np.array([[90, 20, -10, 5], [-30, 90, 25, 0], [10, -40, 90, 20], [0, 12, -33, 95]])


@case
def settles():
    """Repeat a layer of 8 bits until no element exceeds 3: the condition depends on data."""
    net = Net()
    x = bytes_(net, 1, 4, name="x")
    ends(net, [x])
    condition, body = net.graph(), net.graph()
    y = bytes_(condition, 1, 4)
    axes = integer(condition, 2, data=[0, 1])
    most = put(condition, "REDUCE_MAX", [y, axes], bytes_(condition), "ReducerOptions")
    three = bytes_(condition, data=6)
    above = put(condition, "GREATER", [most, three], condition.tensor((), "BOOL"),
                "GreaterOptions")  # fmt: skip
    ends(condition, [y], [above])
    y = bytes_(body, 1, 4)
    weights = body.tensor((4, 4), scale=1 / 128, data=WEIGHTS)
    made = put(body, "FULLY_CONNECTED", [y, weights, -1], bytes_(body, 1, 4),
               "FullyConnectedOptions")  # fmt: skip
    ends(body, [y], [made])
    y = bytes_(net, 1, 4)
    repeat(net, [x], [y], condition, body)
    ends(net, outputs=[y])
    return net


def nested_body(net):
    """Return the body (i, n, x, y): an inner loop adds x to y in each of i iterations."""
    condition, inner = counted(net, EIGHT, EIGHT), net.graph()
    ends(inner, [integer(inner), integer(inner), bytes_(inner, 1, 4), bytes_(inner, 1, 4)])
    i, m, x, y = inner.inputs
    ends(inner, outputs=[one_more(inner, i), m, x, add(inner, y, x, bytes_(inner, 1, 4))])
    body = net.graph()
    ends(body, [integer(body), integer(body), bytes_(body, 1, 4), bytes_(body, 1, 4)])
    i, m, x, y = body.inputs
    made = [integer(body), integer(body), bytes_(body, 1, 4), bytes_(body, 1, 4)]
    repeat(body, [integer(body, data=[0]), i, x, y], made, condition, inner)
    ends(body, outputs=[one_more(body, i), m, x, made[3]])
    return body


@case
def nested():
    """n times, i = 0, 1, ...: i times y = y + x."""
    net = Net()
    n, x, zero = start(net)
    condition, body = counted(net, EIGHT, EIGHT), nested_body(net)
    made = [integer(net), integer(net), bytes_(net, 1, 4), bytes_(net, 1, 4)]
    repeat(net, [zero, n, x, bytes_(net, 1, 4, data=[0, 0, 1, 0])], made, condition, body)
    ends(net, outputs=[made[3], made[0]])
    return net


def branch(net, condition, inputs, output, then, otherwise):
    which = {
        "ThenSubgraphIndex": 1 + net.all.index(then),
        "ElseSubgraphIndex": 1 + net.all.index(otherwise),
    }
    return put(net, "IF", [condition, *inputs], output, "IfOptions", **which)


def chosen(net, name):
    """Return a graph of two vectors with one output: an operator's result, or the second vector."""
    graph = net.graph()
    ends(graph, [bytes_(graph, 1, 4), bytes_(graph, 1, 4)])
    made = graph.inputs[1]
    if name == "ADD":
        made = add(graph, *graph.inputs, bytes_(graph, 1, 4))
    elif name:
        made = put(graph, name, graph.inputs, bytes_(graph, 1, 4), "MaximumMinimumOptions")
    ends(graph, outputs=[made])
    return graph


@case
def branches_inside():
    """n times: where i is below 2, y = y + x; else, where i is 4, the larger ones; else nothing."""
    net = Net()
    n, x, zero = start(net)
    condition = counted(net, EIGHT, EIGHT)
    adds, largest, stays = chosen(net, "ADD"), chosen(net, "MAXIMUM"), chosen(net, "")
    otherwise = net.graph()
    ends(otherwise, [integer(otherwise), bytes_(otherwise, 1, 4), bytes_(otherwise, 1, 4)])
    i, *pair = otherwise.inputs
    four = put(otherwise, "EQUAL", [i, integer(otherwise, data=[4])],
               otherwise.tensor((1,), "BOOL"), "EqualOptions")  # fmt: skip
    made = branch(otherwise, four, pair, bytes_(otherwise, 1, 4), largest, stays)
    ends(otherwise, outputs=[made])
    then = net.graph()
    ends(then, [integer(then), bytes_(then, 1, 4), bytes_(then, 1, 4)])
    small = put(then, "LESS", [then.inputs[0], integer(then, data=[9])],
                then.tensor((1,), "BOOL"), "LessOptions")  # fmt: skip
    ends(then, outputs=[branch(then, small, then.inputs[1:], bytes_(then, 1, 4), adds, stays)])
    body = net.graph()
    ends(body, [integer(body), integer(body), bytes_(body, 1, 4), bytes_(body, 1, 4)])
    i, m, x_inner, y = body.inputs
    few = put(body, "LESS", [i, integer(body, data=[2])], body.tensor((1,), "BOOL"), "LessOptions")
    made = branch(body, few, [i, x_inner, y], bytes_(body, 1, 4), then, otherwise)
    ends(body, outputs=[one_more(body, i), m, x_inner, made])
    made = [integer(net), integer(net), bytes_(net, 1, 4), bytes_(net, 1, 4)]
    repeat(net, [zero, n, x, bytes_(net, 1, 4, data=[0, 9, -9, 1])], made, condition, body)
    ends(net, outputs=[made[3]])
    return net


@case
def in_branch():
    """Double x n times if x[0] is positive."""
    net = Net()
    n, x, zero = start(net)
    condition, body = counted(net, EIGHT), net.graph()
    ends(body, [integer(body), integer(body), bytes_(body, 1, 4)])
    i, m, y = body.inputs
    ends(body, outputs=[one_more(body, i), m, add(body, y, y, bytes_(body, 1, 4))])
    then, otherwise = net.graph(), net.graph()
    ends(then, [integer(then), integer(then), bytes_(then, 1, 4)])
    made = [integer(then), integer(then), bytes_(then, 1, 4)]
    repeat(then, then.inputs, made, condition, body)
    ends(then, outputs=[made[2]])
    ends(otherwise, [integer(otherwise), integer(otherwise), bytes_(otherwise, 1, 4)])
    ends(otherwise, outputs=[otherwise.inputs[2]])
    sizes = [integer(net, 2, data=values) for values in ([0, 0], [1, 1], [1, 1])]
    head = put(net, "STRIDED_SLICE", [x, *sizes], bytes_(net, 1), "StridedSliceOptions",
               ShrinkAxisMask=1)  # fmt: skip
    above = put(net, "GREATER", [head, bytes_(net, 1, data=[0])], net.tensor((1,), "BOOL"),
                "GreaterOptions")  # fmt: skip
    ends(net, outputs=[branch(net, above, [zero, n, x], bytes_(net, 1, 4), then, otherwise)])
    return net


@case
def remembers():
    """Add x to a variable in each iteration and return it; the variable persists between runs."""
    net = Net()
    n, x, zero = start(net)
    first(net, total=np.array([[1, 0, -1, 2]]))
    condition, body = counted(net, EIGHT), net.graph()
    ends(body, [integer(body), integer(body), bytes_(body, 1, 4)])
    i, m, inner = body.inputs
    assign(body, "total", add(body, read(body, "total", (1, 4)), inner, bytes_(body, 1, 4)))
    ends(body, outputs=[one_more(body, i), m, inner])
    made = [integer(net), integer(net), bytes_(net, 1, 4)]
    repeat(net, [zero, n, x], made, condition, body)
    ends(net, outputs=[read(net, "total", (1, 4)), made[0]])
    return net


@case
def halves():
    """Halve a float until it is at most 1, and count the iterations."""
    net = Net()
    x, zero = net.tensor((1,), "FLOAT32", name="x"), integer(net, data=[0])
    ends(net, [x])
    condition, body = net.graph(), net.graph()
    ends(condition, [condition.tensor((1,), "FLOAT32"), integer(condition)])
    one = condition.tensor((1,), "FLOAT32", data=[1.0])
    above = put(condition, "GREATER", [condition.inputs[0], one], condition.tensor((1,), "BOOL"),
                "GreaterOptions")  # fmt: skip
    ends(condition, outputs=[above])
    ends(body, [body.tensor((1,), "FLOAT32"), integer(body)])
    half = body.tensor((1,), "FLOAT32", data=[0.5])
    made = put(body, "MUL", [body.inputs[0], half], body.tensor((1,), "FLOAT32"), "MulOptions")
    ends(body, outputs=[made, one_more(body, body.inputs[1])])
    made = [net.tensor((1,), "FLOAT32"), integer(net)]
    repeat(net, [x, zero], made, condition, body)
    ends(net, outputs=made)
    return net


def inputs(name, seed=0, count=12):
    """Inputs [count, *shape] of a file, in its order; turns of every number."""
    rng = np.random.default_rng(seed)
    if name == "halves":
        return [(rng.standard_normal((count, 1)) * 100).astype(np.float32)]
    x = rng.integers(-128, 128, (count, 4)).astype(np.int8)
    if name == "settles":
        return [x]
    turns = (np.arange(count) % (MOST + 3) - 1).astype(np.int32)
    return [turns.reshape(-1, 1), x // 8 if name in ("nested", "remembers") else x]
