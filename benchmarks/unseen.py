"""Measures on unseen data what quantizers make of thirty random networks.

    python -m benchmarks.unseen [--networks 30] [--draws 5] [--samples 64] [--csv FILE]

Each network comes from its number as seed: convolutions, depthwise layers, poolings, sums, dense
layers, with channels of unequal range. Each draw takes other calibration samples. Every network is
quantized here (affine, effort "fast" and "best") and by ONNX Runtime's static quantization with
each of its calibrations (QDQ, int8, a scale for each channel). Arm's functions compute all of them,
on a thousand samples that no quantizer has seen. It needs onnx and onnxruntime.

A line for each draw has the signal-to-noise ratio of the scores in decibels, and the figure that
the notes of "best" promise. The last lines have the differences.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import qemu_nn

from .quantizers import of_peer, real_scores
from .samples import smooth

#: Seeds of test data and of the calibration data of the first draw.
TEST, FIRST = 999, 1000
UNSEEN = 1000
COLUMNS = ("network", "draw", "peer", "fast", "best", "promised")


class RandomNetwork:
    """An ONNX network of random layers; each layer's outputs are of about unit variance."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.shape = (int(self.rng.choice([1, 2, 3])), *[int(self.rng.choice([8, 12, 16]))] * 2)
        self.channels, self.side, self.tensor = self.shape[0], self.shape[1], "x"

    def add(self, kind, inputs, arrays=(), **attributes):
        """Append a node with constants, and return the name of its output."""
        name = f"{kind.lower()}{len(self.nodes)}"
        names = [f"{name}_{index}" for index in range(len(arrays))]
        self.weights += [numpy_helper.from_array(a, n) for a, n in zip(arrays, names)]
        self.nodes.append(helper.make_node(kind, [*inputs, *names], [name], name, **attributes))
        return name

    def convolve(self, outputs, kernel, group=1):
        """Append a convolution whose channels differ in range, and an activation."""
        inputs = self.channels // group
        spread = np.exp(self.rng.normal(0, 0.7, outputs))[:, None, None, None]
        weights = self.rng.normal(size=(outputs, inputs, kernel, kernel)) * spread
        weights *= np.sqrt(2 / (inputs * kernel * kernel))
        bias = self.rng.normal(0, 0.2, outputs)
        arrays = [a.astype(np.float32) for a in (weights, bias)]
        pads = [kernel // 2] * 4
        name = self.add("Conv", [self.tensor], arrays, pads=pads, group=group)
        self.channels = outputs
        return name

    def activate(self, tensor):
        """Append an activation, ReLU most of the time."""
        if self.rng.random() < 0.8:
            return self.add("Relu", [tensor])
        limits = [np.array(v, np.float32) for v in (0, 6)]
        return self.add("Clip", [tensor], limits)

    def block(self):
        """Append one of the blocks that networks of microcontrollers have."""
        kind, wide = self.rng.integers(4), int(self.rng.choice([4, 8, 12, 16]))
        if kind == 0:
            self.tensor = self.activate(self.convolve(wide, 3))
        elif kind == 1:
            self.tensor = self.activate(self.convolve(self.channels, 3, group=self.channels))
            self.tensor = self.activate(self.convolve(wide, 1))
        elif kind == 2:
            before = self.tensor
            self.tensor = self.activate(self.convolve(self.channels, 3))
            self.tensor = self.convolve(self.channels, 3)
            self.tensor = self.activate(self.add("Add", [before, self.tensor]))
        elif self.side % 2 == 0 and self.side > 2:
            pool = str(self.rng.choice(["MaxPool", "AveragePool"]))
            shape = {"kernel_shape": [2, 2], "strides": [2, 2]}
            self.tensor = self.add(pool, [self.tensor], **shape)
            self.side //= 2

    def model(self) -> onnx.ModelProto:
        """Return the network of three to six blocks and dense layers behind them."""
        self.tensor = self.activate(self.convolve(8, 3))
        for _ in range(self.rng.integers(3, 7)):
            self.block()
        if self.rng.random() < 0.5:
            self.tensor = self.add("GlobalAveragePool", [self.tensor])
            self.side = 1
        self.tensor = self.add("Flatten", [self.tensor])
        size = self.channels * self.side**2
        for last, wide in ((False, 32), (True, 10)) if self.rng.random() < 0.5 else ((True, 10),):
            weights = self.rng.normal(size=(wide, size)) * np.sqrt(2 / size)
            arrays = [a.astype(np.float32) for a in (weights, self.rng.normal(0, 0.2, wide))]
            self.tensor = self.add("Gemm", [self.tensor], arrays, transB=1)
            self.tensor, size = self.tensor if last else self.add("Relu", [self.tensor]), wide
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in (("x", ["n", *self.shape]), (self.tensor, ["n", 10]))
        ]
        graph = helper.make_graph(self.nodes, "random", ends[:1], ends[1:], self.weights)
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=9)


def decibels(real, got):
    """Return the signal-to-noise ratio of scores."""
    error = got.reshape(real.shape).astype(np.float64) - real
    return 10 * np.log10((real**2).sum() / (error**2).sum())


def promised(notes):
    """Return the last figure in decibels that notes state."""
    return [float(figure) for note in notes for figure in re.findall(r"([\d.]+) dB", note)][-1]


def measure(seed, draw, samples):
    """Return the figures of one draw of a network."""
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "float.onnx"
        made = RandomNetwork(seed)
        onnx.save(made.model(), path)
        x = smooth(made.shape, FIRST + 100 * draw + seed, samples)
        unseen = smooth(made.shape, TEST + seed, UNSEEN)
        real = real_scores(path, unseen).astype(np.float64)
        peers = [decibels(real, load().predict(unseen)) for _, load in of_peer(path, x, folder)]
        fast = qemu_nn.quantize(path, x, scheme="affine")
        best = qemu_nn.quantize(path, x, scheme="affine", effort="best")
        ours = [decibels(real, each.predict(unseen)) for each in (fast, best)]
    return max(peers), *ours, promised(best.notes)


def report(rows):
    """Print the differences over all draws."""
    peer, fast, best, told = np.array([row[2:] for row in rows]).T
    for words, gain in (
        ("best over fast", best - fast),
        ("fast over the best of ONNX Runtime", fast - peer),
        ("best over the best of ONNX Runtime", best - peer),
        ("promised over unseen", told - best),
    ):
        low, middle, high = np.quantile(gain, [0, 0.5, 1])
        print(f"{words}: median {middle:+.2f} dB, from {low:+.2f} to {high:+.2f}")


def main():
    """Measure all networks and draws."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen")
    for name, default in (("networks", 30), ("draws", 5), ("samples", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--csv", type=Path)
    how = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    print(*COLUMNS)
    for seed in range(how.networks):
        for draw in range(how.draws):
            rows.append((seed, draw, *measure(seed, draw, how.samples)))
            print(*(f"{value:.4g}" for value in rows[-1]), flush=True)
    report(rows)
    if how.csv:
        with how.csv.open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *rows])


if __name__ == "__main__":
    sys.exit(main())
