"""Quantizes float ONNX files on PyTorch: ExecuTorch's Cortex-M quantizer, on torchao's PT2E flow.

It needs torch, executorch and onnx, and knows the operators of benchmarks.quantizers' networks.
"""

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch.nn import functional

import qemu_nn


def _conv(x, weights, bias=None, **a):
    pads = a.get("pads", [0, 0, 0, 0])
    x = functional.pad(x, (pads[1], pads[3], pads[0], pads[2])) if pads[:2] != pads[2:] else x
    around = (0, 0) if pads[:2] != pads[2:] else tuple(pads[:2])
    how = (a.get("strides", [1, 1]), around, a.get("dilations", [1, 1]), a.get("group", 1))
    return functional.conv2d(x, weights, bias, *how)


def _gemm(x, weights, bias=None, **a):
    return functional.linear(x, weights if a.get("transB") else weights.T, bias)


def _max_pool(x, **a):
    pads = a.get("pads", [0, 0, 0, 0])
    return functional.max_pool2d(x, a["kernel_shape"], a.get("strides", [1, 1]), pads[:2])


def _slice(x, starts, ends, axes, steps=(1,)):
    for start, end, axis, step in zip(starts, ends, axes, [*steps] * len(axes)):
        where = [slice(None)] * x.ndim
        where[axis] = slice(start, min(end, x.shape[axis]), step)
        x = x[tuple(where)]
    return x


def _split(x, sizes=None, **a):
    axis = a.get("axis", 0)
    return x.split(sizes or x.shape[axis] // a["num_outputs"], axis)


OPERATORS = {
    "Add": lambda x, y: x + y,
    "Clip": lambda x, low, high: functional.hardtanh(x, low, high),
    "Concat": lambda *x, axis: torch.cat(x, axis),
    "Conv": _conv,
    "Flatten": lambda x, **_: x.flatten(1),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda x: functional.adaptive_avg_pool2d(x, 1),
    "LeakyRelu": lambda x, alpha=0.01: functional.leaky_relu(x, alpha),
    "MaxPool": _max_pool,
    "Mul": lambda x, y: x * y,
    "Relu": functional.relu,
    "Reshape": lambda x, shape, **_: x.reshape(x.shape[0], *shape[1:]),
    "Sigmoid": torch.sigmoid,
    "Slice": _slice,
    "Split": _split,
    "Tanh": torch.tanh,
    "Transpose": lambda x, perm: x.permute(perm),
}


def _constant(array):
    """Return what an operator takes as numbers: shapes, axes and limits are no weights."""
    whole = array.dtype.kind in "iu" or array.ndim == 0
    return array.tolist() if whole else torch.nn.Parameter(torch.from_numpy(array.copy()))


class Module(torch.nn.Module):
    """The float network of a file, operator by operator."""

    def __init__(self, path):
        super().__init__()
        graph = onnx.load(path).graph
        self.start, self.end = graph.input[0].name, graph.output[0].name
        held = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self.constants = {name: _constant(array) for name, array in held.items()}
        for number, value in enumerate(self.constants.values()):
            if isinstance(value, torch.nn.Parameter):
                self.register_parameter(f"constant_{number}", value)
        self.calls = []
        for node in graph.node:
            if node.op_type not in OPERATORS:
                raise qemu_nn.Error(f"{node.op_type} is not known to benchmarks.torch_peer")
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            call = OPERATORS[node.op_type], attributes, [*node.input], [*node.output]
            self.calls.append(call)

    def forward(self, x):
        """Scores of images [n, c, h, w]."""
        values = {**self.constants, self.start: x}
        for operator, attributes, inputs, outputs in self.calls:
            made = operator(*(values[name] for name in inputs), **attributes)
            values.update(zip(outputs, made if isinstance(made, tuple) else [made]))
        return values[self.end]


class Program:
    """A float network in a form that takes batches."""

    def __init__(self, path, x):
        x = torch.from_numpy(x)  # calibrated with it
        inputs = x[:1], x.split(1)
        self.network = qemu_nn.from_pytorch(Module(path).eval(), *inputs, target="cortex-m4")

    def predict(self, x):
        """Scores [n, ...] of samples [n, ...]: the program's have a batch axis of 1."""
        return self.network.predict(np.asarray(x)[:, None])
