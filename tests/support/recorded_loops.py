"""Recorded .tflite files with WHILE, their inputs and outputs."""

from functools import cache

import numpy as np
from paths import GOLDEN

import qemu_nn

#: TensorFlow Lite Micro of 23 October 2026, on its own kernels: none of these files calls one that
#: CMSIS-NN has another way of.
RECORDINGS = GOLDEN / "tflm_loops.npz"


@cache
def content(name):
    """Return the recorded file."""
    with np.load(RECORDINGS) as arrays:
        return arrays[f"{name}/file"].tobytes()


def load(name, folder):
    path = folder / f"{name}.tflite"
    path.write_bytes(content(name))
    return qemu_nn.load(path)


def recorded(name):
    """Inputs and outputs [N, ...]; of the one that keeps a variable [1, T, ...]."""
    with np.load(RECORDINGS) as arrays:
        parts = [
            [arrays[key] for key in sorted(arrays) if key.startswith(f"{name}/{kind}")]
            for kind in ("input", "output")
        ]
    return [[part[None] for part in each] for each in parts] if name == "remembers" else parts


def named(graph, x):
    """Inputs by their names."""
    return {tensor.name: part for tensor, part in zip(graph.inputs, x)}
