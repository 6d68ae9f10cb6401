"""Firmware projects that tests write, build and run; and networks that are hard to export."""

import re
import shutil
import subprocess
import warnings
from random import Random

import networks
import numpy as np
import pytest

from qemu_nn.api import export as delivery
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import DeviceWarning, Error
from qemu_nn.firmware.boards import BOARDS
from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.graph import Address, CallAddresses, Graph, Memory, Node, Tensor
from qemu_nn.kernels import table as kernels
from qemu_nn.testing.calls import draw_declared_params
from qemu_nn.testing.rows import HELIUM_ONLY
from qemu_nn.testing.s8_calls import draw_affine_arrays, is_affine

pytest.importorskip("jinja2", reason="export needs jinja2")

STRICT = "-O2 -Wall -Wextra -Wpedantic -Werror"

#: Make's target -> the programs it needs.
TOOLS = {
    "pc": ("make", "cc"),
    **dict.fromkeys(BOARDS, ("make", "arm-none-eabi-gcc", "qemu-system-arm")),
}

#: Bytes in which every small call of every function finds its inputs.
_ROOM = 8192


def needs(target):
    missing = [tool for tool in TOOLS[target] if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def write(folder, network, **how):
    """Export a network or a graph; returns the folder."""
    network = network if isinstance(network, pipeline.Network) else pipeline.Network(network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        delivery.export(network, folder, **how)
    return folder


def check(folder, target="pc"):
    """Build and run the self-test: make's exit status and the lines that say PASS or FAIL."""
    command = ["make", "-C", str(folder), target, f"CFLAGS={STRICT}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert not re.search("error:|warning:", done.stderr), done.stderr
    return done.returncode, re.findall("^(?:PASS|FAIL).*", done.stdout, re.M)


def flip(folder, symbol):
    """Change the largest weight of an array in weights.h by half of what there is."""
    path = folder / "weights.h"
    head, name, rest = path.read_text().partition(f"{symbol}[")
    assert name
    values, brace, tail = rest.partition("}")
    most = max(re.findall(r"-?\d+(?=,)", values), key=lambda word: abs(int(word)))
    values = re.sub(rf"(?<![-\d]){most}(?=,)", str(int(most) // -2), values, count=1)
    path.write_text(head + name + values + brace + tail)


def branches():
    """Return a network of two tensors that calls overwrite: its planner must copy them."""
    pool = {"dim_im_in": 4, "ch_im_in": 2, "dim_kernel": 2, "padding": 0, "stride": 2}
    nodes = (
        networks.node("relu", "arm_relu_q7", ["data"], size=32),
        networks.node("sum", "arm_add_q7", ["data", "relu"], blockSize=32),
        networks.node("pool", "arm_maxpool_q7_HWC", ["sum"], dim_im_out=2, **pool),
        networks.node("last", "arm_sub_q7", ["sum", "data"], blockSize=32),
    )
    data = Tensor("data", (4, 4, 2), "int8", 7)
    return Graph("branches", (data,), nodes, ("last", "pool"), {}, None)


#: Functions that stop at some numbers, as on the device -> arguments with which they never do.
NEVER_STOPS = {
    "tflm_rsqrt_s8": {"input_zero_point": -128},
    "tflm_div_s8": {"input_1_zero_point": -256, "input_2_zero_point": -256, "shift": 5},
}

#: Those that have no such arguments.
STOPS = (
    *("tflm_rsqrt_s16", "tflm_gather_s8", "tflm_gather_f32", "tflm_detection_f32"),
    *(f"tflm_part_{type}" for type in ("s8", "s16", "s32", "f32", "b8")),
)


def every_function(wanted):
    """Return a network that calls every function of a profile once, with its own memory.

    Calls read the input, or its contents after the calls before.
    """
    rng = np.random.default_rng(3)
    nodes, places, arrays = [], {}, {}
    for name, function in FUNCTIONS.items():
        params = _legal_params(Random(name), function, wanted)
        if params is None or function.not_called or name in STOPS:
            continue
        held = {}
        for role, values in _arrays(rng, function, params).items():
            held[role] = f"{name}.{role}"
            arrays[held[role]] = values
        output = Tensor(name, function.output.shape(params), function.output.dtype)
        nodes.append(Node(function, params, (), output, **held))
        inputs = tuple(
            Address("data", i * _ROOM // 2) for i in range(len(function.list_read_inputs(params)))
        )
        target = Address("out", 0)
        if function.in_place:
            own = [array.name for array in function.inputs].index(function.output.name)
            target = inputs[own]
        scratch = Address("scratch", 0) if function.scratch_buffers(params, wanted.path) else None
        places[name] = CallAddresses(inputs, target, scratch)
    sizes = {"data": 2 * _ROOM, "out": _ROOM, "scratch": _ROOM}
    memory = Memory(sizes, places, Address("data", 0))
    entry = Tensor("data", (2 * _ROOM,), "int8")
    return Graph("every function", (entry,), tuple(nodes), (nodes[-1].name,), arrays, memory)


def _arrays(rng, function, params):
    """Weights and bias of a call, by role; of any values where no quantization is at work."""
    if is_affine(function):
        return draw_affine_arrays(rng, function, params)
    found = {}
    for role in ("weights", "bias"):
        array = getattr(function, role)
        if array is not None:
            limits = np.iinfo(array.dtype)
            found[role] = rng.integers(limits.min, limits.max, array.shape(params), array.dtype)
    return found


def _legal_params(rng, function, wanted):
    """Arguments of a small call that the device takes; None if it has no such function."""
    rows = kernels.list_rows(function.op, function.type)
    missing = function.name in HELIUM_ONLY and wanted.path != "mve"
    if missing or not any(row.claims(wanted) for row in rows):
        return None
    while True:
        params = {**draw_declared_params(rng, function), **NEVER_STOPS.get(function.name, {})}
        struct = kernels.make_params(rows[0].op, wanted, function.struct_values(params))
        try:
            sizes = kernels.check(rows[0], struct)
        except Error:
            continue
        scratch = sum(function.scratch_buffers(params, wanted.path).values())
        needed = [*sizes.inputs, sizes.output, scratch // 2]
        faults = function.fault(params, wanted)
        if sizes.output > 0 and max(needed) <= _ROOM // 2 and not faults:
            return params


def difference():
    """Return a network of two functions: CMSIS-NN has only one of them."""
    either = {"offset": 3, "mult": 2**30, "shift": 0}
    params = {f"input_{i}_{name}": value for i in (1, 2) for name, value in either.items()}
    params.update({f"out_{name}": value for name, value in either.items()})
    params.update(left_shift=20, act_min=-128, act_max=127, block_size=6, out_shift=-19)
    names = {"sub": "tflm_sub_s8", "sum": "arm_elementwise_add_s8"}
    nodes, source = [], "x"
    for name, function in names.items():
        output = Tensor(name, (6,), "int8", scale=0.5, zero_point=3)
        nodes.append(Node(FUNCTIONS[function], params, (source, "x"), output))
        source = name
    entry = Tensor("x", (6,), "int8", scale=0.5, zero_point=-3)
    return Graph("difference", (entry,), tuple(nodes), ("sum",), {})
