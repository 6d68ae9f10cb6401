"""Makes the tables of docs/quantizing.md: what the steps gain, and mixed widths.

    python -m benchmarks.steps FOLDER [NETWORK ...]

FOLDER holds published float networks (NETWORKS below names their files). Each of them, or only
those that are named, is quantized with effort "fast" and "best" in both schemes, the small ones
with single steps, too; with activations of 16 bits; and with mixed widths in the memory of 8 bits
and 5 % more cycles of a Cortex-M4. Every result is judged by the exact integer network on data of
its own: the signal-to-noise ratio of the scores before a softmax, and how often the class is that
of the float network.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

import qemu_nn

from .samples import SEEDS, digits, smooth

#: Name -> files of the network, and how many samples calibration has; steps fit half of them.
NETWORKS = {
    "lenet5": (["onnx_lenet5_digits/lenet5.onnx"], 512),
    "kws_cnn": (["keras_kws_cnn/kws_cnn.h5"], 96),
    "ds_cnn": (["onnx_ds_cnn/ds_cnn.onnx"], 512),
    "cifar10": (
        [f"caffe_cifar10_m4/legacy_v1_{end}" for end in ("deploy.prototxt", "float.caffemodel")],
        1024,
    ),
    "resnet8": (["keras_mlperf_resnet8/pretrainedResnet_weights_only.h5"], 512),
}

#: Smooth images that judge.
TEST = 256

#: Steps that are taken alone, where that takes seconds.
SINGLE = ("average", "formats", "equalize", "round", "correct")
SMALL = ("lenet5", "ds_cnn")


def data(name, network, folder, count):
    """Calibration and test data as the network reads them."""
    if name == "lenet5":
        return digits(folder / "data.npz", count)
    if name == "kws_cnn":
        held = np.load(folder / "data.npz")
        return [(held[key] * held["scale"]).astype(np.float32) for key in ("calib_q", "test_q")]
    shape = network.graph.shape
    channels_first = shape if network.graph.layout == "NCHW" else (shape[2], *shape[:2])
    images = [smooth(channels_first, seed, n) for seed, n in zip(SEEDS, (count, TEST))]
    if name == "cifar10":  # pixels less their mean
        images = [np.clip(64 * x, -128, 127) for x in images]
    if name == "resnet8":  # pixels
        images = [np.clip(50 * x + 120, 0, 255) for x in images]
    return images if network.graph.layout == "NCHW" else [np.moveaxis(x, 1, -1) for x in images]


def judged(label, network, fitted, test, scheme, **how):
    """Quantize, print a line, and return what came of it."""
    start = time.perf_counter()
    quantized = qemu_nn.quantize(network, fitted, scheme=scheme, options={"softmax": False}, **how)
    took = time.perf_counter() - start
    report = qemu_nn.analyze(quantized, test)  # which, unlike predict(), adds no softmax
    ratio, same = report.layers[-1].whole.sqnr, report.agreement
    print(f"  {label}: {ratio:.1f} dB, {same:.1%} of classes, {took:.0f} s", end="", flush=True)
    return quantized


def cost(network):
    """Cycles and bytes of memory on a Cortex-M4."""
    memory = network.fit(qemu_nn.Target("stm32f746", cmsis="7.0.0"), stack=0).ram
    return qemu_nn.estimate(network, "m4").cycles[1], memory


def compare(name, root):
    """Print a line for each way to quantize a network."""
    files, count = NETWORKS[name]
    path, weights = root / files[0], [root / file for file in files[1:]]
    network = qemu_nn.load(path, weights=weights[0] if weights else None)
    fitted, test = data(name, network, path.parent, count)
    print(f"{name}: {len(fitted)} samples to quantize with, {len(test)} to judge", flush=True)
    made = {}
    for scheme in ("power2", "affine"):
        ways = {effort: {"effort": effort} for effort in ("fast", "best")}
        ways.update((step, {"effort": {"steps": [step]}}) for step in SINGLE if name in SMALL)
        for way, how in ways.items():
            made[scheme, way] = judged(f"{scheme}, {way}", network, fitted, test, scheme, **how)
            print()
    judged("affine, 16 bits, best", network, fitted, test, "affine", bits=16, effort="best")
    print()
    cycles, memory = cost(made["affine", "fast"])
    budget = {"ram": memory, "cycles": int(1.05 * cycles)}
    how = {"budget": budget, "effort": "best", "target": "cortex-m4"}
    mixed = judged("affine, mixed, best", network, fitted, test, "affine", **how)
    print(f"; {cycles:,} -> {cost(mixed)[0]:,} cycles, {memory:,} -> {cost(mixed)[1]:,} bytes")


def main(folder, *wanted):
    """Quantize the networks of a folder."""
    warnings.simplefilter("ignore")
    for name in wanted or NETWORKS:
        compare(name, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
