"""Trains and quantizes the network of `qemu-nn demo`: 8x8 handwritten digits, ten classes.

    pip install '.[digits]'
    python docs/examples/train_digits.py qemu_nn/demo

writes digits.qnz (the network) and digits.npz (held-out images x and labels y) into the folder.
Plain numpy in float, then powers of two for every tensor; the same seed gives the same files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

import qemu_nn
from qemu_nn.api.golden import Network
from qemu_nn.functions import FUNCTIONS, layouts
from qemu_nn.io.arrays import write_npz
from qemu_nn.ir.formats import compute_dec_bit, quantize
from qemu_nn.ir.graph import Graph, Node, Tensor

SEED = 7
HELD_OUT = 360
EPOCHS, BATCH, STEP = 40, 32, 2e-3

#: Layer -> shape of its weights: convolutions OHWI, fully connected [row, column].
SHAPES = {"conv1": (8, 3, 3, 1), "conv2": (16, 3, 3, 8), "fc": (10, 2 * 2 * 16)}

Weights = dict[str, np.ndarray]  # "conv1.weights", "conv1.bias", ...


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images [N, 8, 8, 1] in 0..1 and labels, then the held-out ones."""
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    x, y = digits.images[order, :, :, None] / 16, digits.target[order]
    return x[HELD_OUT:], y[HELD_OUT:], x[:HELD_OUT], y[:HELD_OUT]


# ---- the float network: 3x3 convolutions with padding 1, 2x2 pooling, all axes N H W C ----


def patches(x: np.ndarray) -> np.ndarray:
    """Return [N, H, W, 9 C]: the 3x3 surroundings of every pixel, in the order of the weights."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.moveaxis(windows, 3, 5).reshape(*x.shape[:3], -1)


def convolve(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return a convolution without bias; weights OHWI."""
    return patches(x) @ weights.reshape(len(weights), -1).T


def blocks(x: np.ndarray) -> np.ndarray:
    """Return [N, H/2, 2, W/2, 2, C]: the 2x2 blocks of an image."""
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c)


def pool(x: np.ndarray) -> np.ndarray:
    """Return the maximum of every block."""
    return blocks(x).max((2, 4))


def unpool(gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the gradient of pool(x), shared by the pixels that are the largest of their block."""
    largest = blocks(x) == pool(x)[:, :, None, :, None]
    share = largest / largest.sum((2, 4), keepdims=True)
    return (gradient[:, :, None, :, None] * share).reshape(x.shape)


def forward(p: Weights, x: np.ndarray) -> dict[str, np.ndarray]:
    """Return every layer's output, by name."""
    out = {"image": x}
    for i in "12":
        source = out["image"] if i == "1" else out["pool1"]
        out[f"conv{i}"] = convolve(source, p[f"conv{i}.weights"]) + p[f"conv{i}.bias"]
        out[f"relu{i}"] = np.maximum(out[f"conv{i}"], 0)
        out[f"pool{i}"] = pool(out[f"relu{i}"])
    out["fc"] = out["pool2"].reshape(len(x), -1) @ p["fc.weights"].T + p["fc.bias"]
    return out


def gradients(p: Weights, x: np.ndarray, y: np.ndarray) -> Weights:
    """Return the gradient of the mean cross-entropy with respect to every array."""
    out = forward(p, x)
    odds = np.exp(out["fc"] - out["fc"].max(1, keepdims=True))
    error = (odds / odds.sum(1, keepdims=True) - np.eye(10)[y]) / len(x)
    g = {"fc.weights": error.T @ out["pool2"].reshape(len(x), -1), "fc.bias": error.sum(0)}
    back = (error @ p["fc.weights"]).reshape(out["pool2"].shape)
    for i, source in (("2", "pool1"), ("1", "image")):
        weights = p[f"conv{i}.weights"]
        back = unpool(back, out[f"relu{i}"]) * (out[f"conv{i}"] > 0)
        flat = back.reshape(-1, len(weights))
        columns = patches(out[source]).reshape(len(flat), -1)
        g[f"conv{i}.weights"] = (flat.T @ columns).reshape(weights.shape)
        g[f"conv{i}.bias"] = flat.sum(0)
        back = convolve(back, weights[:, ::-1, ::-1, :].transpose(3, 1, 2, 0))
    return g


def batches(rng: np.random.Generator, count: int) -> Iterator[np.ndarray]:
    """Indices of shuffled batches, for all epochs."""
    for _ in range(EPOCHS):
        yield from np.split(rng.permutation(count), range(BATCH, count, BATCH))


def train(x: np.ndarray, y: np.ndarray) -> Weights:
    """Return the weights after EPOCHS of Adam with a step that falls to zero."""
    rng = np.random.default_rng(SEED)
    p: Weights = {}
    for name, shape in SHAPES.items():
        p[f"{name}.weights"] = rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
        p[f"{name}.bias"] = np.zeros(shape[0])
    mean = {name: np.zeros_like(a) for name, a in p.items()}
    square = {name: np.zeros_like(a) for name, a in p.items()}
    steps = EPOCHS * -(-len(x) // BATCH)
    for t, batch in enumerate(batches(rng, len(x))):
        for name, g in gradients(p, x[batch], y[batch]).items():
            mean[name] += 0.1 * (g - mean[name])
            square[name] += 0.001 * (g * g - square[name])
            unbiased = mean[name] / (1 - 0.9 ** (t + 1))
            scale = np.sqrt(square[name] / (1 - 0.999 ** (t + 1))) + 1e-8
            p[name] -= STEP * (1 - t / steps) * unbiased / scale
    return p


# ---- the float network as a file ----


def onnx_model(p: Weights) -> onnx.ModelProto:
    """Return the float network as ONNX: images [N, C, H, W], weights OIHW."""
    made = []
    source = "image"
    for i in "12":
        window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        parameters = [f"conv{i}.weights", f"conv{i}.bias"]
        made.append(helper.make_node("Conv", [source, *parameters], [f"conv{i}"], **window))
        made.append(helper.make_node("Relu", [f"conv{i}"], [f"relu{i}"]))
        window = {"kernel_shape": [2, 2], "strides": [2, 2]}
        made.append(helper.make_node("MaxPool", [f"relu{i}"], [f"pool{i}"], **window))
        source = f"pool{i}"
    made.append(helper.make_node("Flatten", [source], ["flat"]))
    made.append(helper.make_node("Gemm", ["flat", "fc.weights", "fc.bias"], ["fc"], transB=1))
    made.append(helper.make_node("Softmax", ["fc"], ["softmax"]))
    arrays = dict(p)
    for name in ("conv1.weights", "conv2.weights"):
        arrays[name] = p[name].transpose(0, 3, 1, 2)
    arrays["fc.weights"] = p["fc.weights"].reshape(10, 2, 2, 16).transpose(0, 3, 1, 2)
    arrays["fc.weights"] = arrays["fc.weights"].reshape(10, -1)
    stored = [numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])
    scores = helper.make_tensor_value_info("softmax", TensorProto.FLOAT, ["N", 10])
    graph = helper.make_graph(made, "digits", [image], [scores], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


# ---- the quantized network ----


def fraction(x: np.ndarray) -> int:
    """Fraction bits of the finest 8-bit format that holds x."""
    return compute_dec_bit(float(np.abs(x).max()))


def quantized(p: Weights, x: np.ndarray) -> Graph:
    """Return the network in q7, with the formats that the training images x require.

    ReLU, pooling and flattening pass a format through. A convolution is followed by ReLU, so its
    output needs to hold the positive values only: the negative ones may saturate.
    """
    values = forward(p, x)
    arrays: dict[str, np.ndarray] = {}
    nodes: list[Node] = []
    t = Tensor("image", (8, 8, 1), "int8", fraction(x))
    image = t
    for i, function in ("1", "arm_convolve_HWC_q7_basic"), ("2", "arm_convolve_HWC_q7_fast"):
        size, _, channels = t.shape
        sizes = {"dim_im_in": size, "ch_im_in": channels, "dim_im_out": size}
        sizes |= {"ch_im_out": SHAPES[f"conv{i}"][0], "dim_kernel": 3, "padding": 1, "stride": 1}
        frac, shifts = quantize_arrays(p, f"conv{i}", t.frac, values[f"relu{i}"], arrays)
        t = append(nodes, arrays, f"conv{i}", function, t, frac, {**sizes, **shifts})
        t = append(nodes, arrays, f"relu{i}", "arm_relu_q7", t, frac, {"size": t.nbytes})
        sizes = {"dim_im_in": size, "ch_im_in": t.shape[2], "dim_im_out": size // 2}
        sizes |= {"dim_kernel": 2, "padding": 0, "stride": 2}
        t = append(nodes, arrays, f"pool{i}", "arm_maxpool_q7_HWC", t, frac, sizes)
    sizes = {"dim_vec": t.nbytes, "num_of_rows": 10}
    frac, shifts = quantize_arrays(p, "fc", t.frac, values["fc"], arrays)
    arrays["fc.weights"] = layouts.pack(arrays["fc.weights"], "q7")
    t = append(nodes, arrays, "fc", "arm_fully_connected_q7_opt", t, frac, {**sizes, **shifts})
    append(nodes, arrays, "softmax", "arm_softmax_q7", t, 7, {"dim_vec": 10})
    classes = tuple("0123456789")
    return Graph("digits", (image,), tuple(nodes), ("softmax",), arrays, classes=classes)


def quantize_arrays(
    p: Weights, name: str, frac: int, values: np.ndarray, arrays: dict[str, np.ndarray]
) -> tuple[int, dict[str, int]]:
    """Store a layer's weights and bias; the output's fraction bits, and the layer's two shifts.

    frac: fraction bits of the input; values: what the output must hold. The sums have the
    fraction bits of input and weights together; neither shift may be negative.
    """
    weights, bias = p[f"{name}.weights"], p[f"{name}.bias"]
    total = frac + fraction(weights)
    bias_frac, out_frac = min(fraction(bias), total), min(fraction(values), total)
    arrays[f"{name}.weights"] = quantize(weights, fraction(weights))
    arrays[f"{name}.bias"] = quantize(bias, bias_frac)
    return out_frac, {"bias_shift": total - bias_frac, "out_shift": total - out_frac}


def append(
    nodes: list[Node],
    arrays: dict[str, np.ndarray],
    name: str,
    function: str,
    source: Tensor,
    frac: int,
    params: dict[str, int],
) -> Tensor:
    """Append a call, with the arrays of its name if there are any; its output."""
    declared = FUNCTIONS[function]
    shape = source.shape if declared.in_place else declared.output.shape(params)
    output = Tensor(name, shape, "int8", frac)
    keys = [key if key in arrays else None for key in (f"{name}.weights", f"{name}.bias")]
    nodes.append(Node(declared, params, (source.name,), output, *keys))
    return output


def main(arguments: Sequence[str]) -> None:
    """Train, quantize, compare with float, write."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    train_x, train_y, x, y = data()
    p = train(train_x, train_y)
    network = Network(quantized(p, train_x))
    images = quantize(x, network.graph.input.frac)
    in_float = np.count_nonzero(forward(p, x)["fc"].argmax(1) == y)
    in_q7 = np.count_nonzero(network.session().run(images)["softmax"].argmax(1) == y)
    print(f"of {len(y)} held-out images: {in_float} right in float, {in_q7} in q7")
    onnx.save(onnx_model(p), folder / "digits.onnx")
    network.save(folder / "digits.qnz")
    affine = qemu_nn.quantize(folder / "digits.onnx", train_x, scheme="affine")
    affine.save(folder / "digits.tflite")
    write_npz(folder / "digits.npz", {"x": images, "y": y.astype(np.uint8)}, compressed=True)


if __name__ == "__main__":
    main(sys.argv[1:])
