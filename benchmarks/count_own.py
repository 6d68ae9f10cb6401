"""Counts the instructions of functions that exports bring along, and fits them by their sizes.

    python -m benchmarks.count_own m3 m4 m55

draws calls of each function, exports them as one network, and runs it on the emulated boards, whose
clock counts instructions. It writes qemu_nn/cycles/own.json.xz: for each core and function the
instructions of a call, of an element of the output, of an element of all inputs and of a
multiplication, and the largest error of a call that the fit has not seen. It needs
arm-none-eabi-gcc and qemu-system-arm.
"""

import itertools
import json
import lzma
import sys
import warnings
from random import Random

import numpy as np

import qemu_nn
from qemu_nn.analysis.layer_cycles import get_sizes
from qemu_nn.api.network import Network
from qemu_nn.cycles.own import DATA
from qemu_nn.errors import Error
from qemu_nn.firmware.boards import BOARDS
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.prototypes import is_own
from qemu_nn.ir.graph import Address, CallAddresses, Graph, Memory, Node, Tensor
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import Target
from qemu_nn.testing.calls import draw_declared_params
from qemu_nn.testing.s8_calls import draw_affine_arrays

#: Bytes of a buffer; draws and calls of a function; functions in a network.
ROOM, DRAWS, CALLS, MOST = 1 << 14, 120, 16, 20

#: Largest error of an unseen call with which a function has figures.
WORST = 0.5

#: Types of the functions that are counted: those of float32 take the C library's time.
TYPES = ("s8", "s16", "u8", "s32")

#: Functions whose arguments may stop the program, or that need more than their arguments.
LEFT_OUT = ("gather", "detection", "part", "rsqrt", "div", "signal", "frontend", "hold", "low")


def list_functions(profile):
    """Return the functions to count that a device has."""
    return [
        function
        for function in FUNCTIONS.values()
        if is_own(function)
        and not function.not_called
        and function.draw is not None
        and function.name.rsplit("_", 1)[1] in (*TYPES, "f32")
        and (function.name.rsplit("_", 1)[1] != "f32" or "quantize" in function.name)
        and not any(word in function.name for word in LEFT_OUT)
        and any(row.claims(profile) for row in kernels.list_rows(function.op, function.type))
    ]


def draw(function, profile):
    """Return calls of a function that the device takes, from the smallest to the largest."""
    rng, found = Random(function.name), []
    row = kernels.list_rows(function.op, function.type)[0]
    for _ in range(DRAWS * 10):
        params = draw_declared_params(rng, function)
        try:
            struct = kernels.make_params(row.op, profile, function.struct_values(params))
            sizes = kernels.check(row, struct)
        except Error:
            continue
        fits = max(*sizes.inputs, sizes.output) <= ROOM // 4 and sizes.output > 0
        if fits and not function.fault(params, profile):
            found.append(params)
        if len(found) == DRAWS:
            break
    found.sort(key=lambda params: sum(get_sizes(function, params)))
    places = np.linspace(0, len(found) - 1, min(CALLS, len(found))).round().astype(int)
    return [found[place] for place in dict.fromkeys(places.tolist())]


def make_network(functions, profile):
    """Return a network that calls each function several times, and its calls by layer."""
    rng = np.random.default_rng(1)
    nodes, places, arrays, calls = [], {}, {}, {}
    drawn = [(one, *call) for one in functions for call in enumerate(draw(one, profile))]
    for function, index, params in drawn:
        name = f"{function.name}_{index}"
        held = {}
        for role, values in draw_affine_arrays(rng, function, params).items():
            held[role] = f"{name}.{role}"
            arrays[held[role]] = values
        output = Tensor(name, function.output.shape(params), function.output.dtype)
        nodes.append(Node(function, params, (), output, **held))
        read = function.list_read_inputs(params)
        inputs = tuple(Address("data", at * (ROOM // 4)) for at in range(len(read)))
        target = Address("out", 0)
        if function.in_place:
            own = [array.name for array in function.inputs].index(function.output.name)
            target = inputs[own]
        places[name] = CallAddresses(inputs, target, None)
        calls[name] = (function, params)
    memory = Memory({"data": ROOM, "out": ROOM}, places, Address("data", 0))
    entry = Tensor("data", (ROOM,), "int8")
    graph = Graph("own", (entry,), tuple(nodes), (nodes[-1].name,), arrays, memory)
    return Network(graph), calls


def count(board):
    """Yield functions, arguments, and the instructions of each call."""
    target = Target(BOARDS[board].core, cmsis="7.0.0")
    functions = list_functions(target.profile())
    for at in range(0, len(functions), MOST):
        network, calls = make_network(functions[at : at + MOST], target.profile())
        found = qemu_nn.validate(
            network, qemu_nn.Dataset(None, limit=1), f"qemu:{board}", target=target
        )
        assert found.same, found.text()
        for layer in found.layers[1:]:  # the first one counts the copy of the input
            yield (*calls[layer.layer], layer.counted)


def solve(rows, counts):
    """Return coefficients, none negative, of the least squares of relative errors."""
    best, least = np.zeros(rows.shape[1]), np.inf
    for size in range(1, rows.shape[1] + 1):
        for chosen in itertools.combinations(range(rows.shape[1]), size):
            own = rows[:, chosen] / counts[:, None]
            values = np.linalg.lstsq(own, np.ones(len(counts)), rcond=None)[0]
            error = np.abs(own @ values - 1).mean()
            if (values >= 0).all() and error < least * 0.99:
                best, least = np.zeros(rows.shape[1]), error
                best[list(chosen)] = values
    return best


def fit(calls):
    """Return the coefficients of a function, and the largest error of an unseen call."""
    rows = np.array([[1, *get_sizes(function, params)] for function, params, _ in calls], float)
    counts = np.array([counted for _, _, counted in calls], float)
    errors = []
    for at in range(len(counts)):
        seen = np.arange(len(counts)) != at
        estimate = rows[at] @ solve(rows[seen], counts[seen])
        errors.append(abs(counts[at] / max(estimate, 1) - 1))
    found = [float(f"{value:.4g}") for value in solve(rows, counts)]
    return [*found, float(f"{min(max(errors), 9.0):.2g}")]


def main(*boards):
    """Count on all boards and write the data."""
    data = {}
    for board in boards:
        calls = {}
        for function, params, counted in count(board):
            calls.setdefault(function.name, []).append((function, params, counted))
        core = BOARDS[board].core
        fits = {name: fit(own) for name, own in calls.items() if len(own) > 4}
        for name, values in fits.items():
            print(core, name, *values, sep="  ", flush=True)
        data[core] = {name: values for name, values in fits.items() if values[-1] <= WORST}
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    DATA.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
