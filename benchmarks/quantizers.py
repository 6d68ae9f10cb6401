"""Compares what quantizers make of the same float networks and calibration data.

    python -m benchmarks.quantizers FOLDER [NETWORK ...]

FOLDER holds float networks as .onnx files, each in a folder of its own. Every one of them, or only
those that are named, is quantized here (effort "fast" and "best", and "best" with the widest layers
that fit into the memory of 8 bits), by the static quantization of ONNX Runtime with each of its
calibrations (QDQ, int8, a scale for each channel), and by that of torchao with ExecuTorch's
quantizer for Cortex-M. It needs onnx and onnxruntime; without executorch torchao is left out.

All results are integers that Arm's functions compute, and are judged by them, on data of another
seed than those of calibration: the signal-to-noise ratio of the scores before a softmax, in
decibels, and how often the class is that of the float network.
"""

import contextlib
import io
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

import qemu_nn

from .samples import SEEDS, digits, smooth

CALIBRATIONS = ("MinMax", "Entropy", "Percentile", "Distribution")
#: Samples of calibration, and of test data that are noise.
SAMPLES = 256


def samples(path, shape):
    """Calibration and test data: handwritten digits where they lie beside the network, or noise."""
    held = path.parent / "data.npz"
    if held.exists():
        return digits(held, SAMPLES)
    return [smooth(shape, seed, SAMPLES) for seed in SEEDS]


class Reader(CalibrationDataReader):
    """Samples one at a time."""

    def __init__(self, name, x):
        self.turns = ({name: x[i : i + 1]} for i in range(len(x)))

    def get_next(self):
        """The next one by its name, or None."""
        return next(self.turns, None)


def simplified(path, to):
    """Write the network up to its scores, and means over images as the pooling that peers know."""
    model = onnx.load(path)
    for place, node in enumerate(model.graph.node):
        if node.op_type == "ReduceMean":  # of an image's rows and columns, in all networks here
            (made,), kept = node.output, [a.i for a in node.attribute if a.name == "keepdims"]
            image = made if kept != [0] else f"{made}_image"
            node.CopyFrom(helper.make_node("GlobalAveragePool", node.input[:1], [image]))
            if image != made:
                model.graph.node.insert(place + 1, helper.make_node("Flatten", [image], [made]))
    (output,) = model.graph.output
    last = next(node for node in model.graph.node if output.name in node.output)
    if "Softmax" in last.op_type:
        output.name = last.input[0]
        model.graph.node.remove(last)
    onnx.save(model, to)


def real_scores(path, x):
    """Return what ONNX Runtime makes of a float network."""
    session = onnxruntime.InferenceSession(path)
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: x[i : i + 1]})[0] for i in range(len(x))])


def of_peer(path, x, folder):
    """Labels and networks of ONNX Runtime's quantizer."""
    name = onnxruntime.InferenceSession(path).get_inputs()[0].name
    prepared = folder / "prepared.onnx"
    quant_pre_process(path, prepared, skip_symbolic_shape=True)
    for calibration in CALIBRATIONS:
        to = folder / f"{calibration}.onnx"
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                quantize_static(
                    *(prepared, to, Reader(name, x)),
                    quant_format=QuantFormat.QDQ,
                    per_channel=True,
                    activation_type=QuantType.QInt8,
                    weight_type=QuantType.QInt8,
                    calibrate_method=getattr(CalibrationMethod, calibration),
                )
            yield f"ONNX Runtime, {calibration}", lambda to=to: qemu_nn.load(to)
        except Exception as error:  # whatever a peer cannot do
            print(f"  ONNX Runtime, {calibration}: {type(error).__name__}: {error}")


def of_torch(path, x):
    """The label and the network of torchao, where it is installed."""
    try:
        from .torch_peer import Program
    except ImportError as error:
        print(f"  torchao: {error}")
        return
    yield "torchao", lambda: Program(path, x)


def of_ours(path, x):
    """Labels and networks of our own."""
    try:
        plain = qemu_nn.quantize(path, x, scheme="affine")
    except qemu_nn.Error as refused:
        print(f"  {refused}")
        return
    memory = plain.fit(qemu_nn.Target("stm32f746", cmsis="7.0.0"), stack=0).ram
    for name, how in {
        "fast": {},
        "best": {"effort": "best"},
        "best, ram=": {"effort": "best", "budget": {"ram": memory}},
    }.items():
        yield name, lambda how=how: qemu_nn.quantize(path, x, scheme="affine", **how)
    yield "power2, best", lambda: qemu_nn.quantize(path, x, effort="best", scheme="power2")


def compare(path):
    """Print a line for each quantizer."""
    with tempfile.TemporaryDirectory() as name:
        folder, float_path = Path(name), Path(name) / "float.onnx"
        simplified(path, float_path)
        shape = qemu_nn.load(float_path).graph.shape
        fitted, x = samples(path, shape)
        real = real_scores(float_path, x).reshape(len(x), -1).astype(np.float64)
        print(f"{path.stem}: {len(fitted)} samples to fit, {len(x)} to judge", flush=True)
        peers = *of_peer(float_path, fitted, folder), *of_torch(float_path, fitted)
        for label, made in (*peers, *of_ours(float_path, fitted)):
            try:
                error = made().predict(x).reshape(real.shape) - real
            except qemu_nn.Error as refused:
                print(f"  {label}: {refused}")
                continue
            ratio = 10 * np.log10((real**2).sum() / (error**2).sum())
            same = np.mean((real + error).argmax(1) == real.argmax(1))
            print(f"  {label}: {ratio:.1f} dB, {same:.1%} of classes", flush=True)


def main(folder, *wanted):
    """Compare quantizers on the networks of a folder."""
    warnings.simplefilter("ignore")
    for path in sorted(Path(folder).glob("*/*.onnx")):
        if not wanted or path.stem in wanted:
            compare(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
