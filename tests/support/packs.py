"""Networks and parameters for packs, and the C programs that run them."""

import os
import subprocess
import sys
from functools import cache

import numpy as np

from qemu_nn.ndk.layers import Layer, get_net_input_output
from qemu_nn.ndk.quant_tools.numpy_net import run_layers

SANITIZED = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -DCNN_FEATURE_BITS=14"


def start(*dim):
    return Layer("Input", name="input", top="x", dim=(1, *dim))


def every_layer():
    """Return a network for the hardware, with one of each layer that has a fixed-point form."""
    conv = {"kernel_size": (3, 3), "stride": (2, 2), "pad": (1, 0, 1, 0)}
    mean = {"kernel_size": 2, "stride": 2, "pool": "AVE"}
    return [
        start(3, 8, 8),
        Layer("Convolution", name="conv", bottom="x", top="c", num_output=16, **conv),
        Layer("ShuffleChannel", name="mix", bottom="c", top="m", group=2),
        Layer("ReLU", name="relu", bottom="m", top="r", negative_slope=0.25),
        Layer("BatchNorm", name="bn", bottom="r", top="b"),
        Layer("Scale", name="scale", bottom="b", top="s", bias_term=False),
        Layer("Bias", name="bias", bottom="s", top="d"),
        Layer("Slice", name="cut", bottom="d", top=["lo", "mid", "hi"], slice_point=[5, 9]),
        Layer("Concat", name="join", bottom=["hi", "lo", "mid"], top="j"),
        Layer("Eltwise", name="two", bottom=["j", "r"], top="q", operation="sum"),
        Layer("Eltwise", name="sum", bottom=["q", "m", "b"], top="e", operation="sum"),
        Layer("Pooling", name="max", bottom="e", top="p", kernel_size=(2, 2), stride=2, pool="MAX"),
        Layer("Pooling", name="mean", bottom="p", top="g", **mean),
        Layer("TanH", name="gate", bottom="g", top="t"),
        Layer("ScaleByTensor", name="se", bottom=["p", "t"], top="w"),
        Layer("ReLU6", name="six", bottom="w", top="v"),
        Layer("InnerProduct", name="fc", bottom="v", top="f", num_output=5),
        Layer("LogSoftmax", name="log", bottom="f", top="y"),
        Layer("Sigmoid", name="off", bottom="f", top="z"),
    ]


def every_parameter(bits, seed=8):
    """Quantized parameters of it; some fractions differ between channels."""
    rng, more, half = np.random.default_rng(seed), 0 if bits == 8 else 8, 2 ** (bits - 1)
    fracs = dict.fromkeys(["c", "m", "r", "b", "s", "d", "lo", "mid", "hi", "j", "q", "e", "p"], 3)
    fracs |= {"x": 4, "g": 5, "t": 7, "w": 4, "v": 4, "f": 4, "y": 4, "z": 7}
    params = {f"{name}_frac": frac + more for name, frac in fracs.items()}

    def layer(name, weights, frac, bias=None):
        params[f"{name}_quant_weight"] = rng.integers(-half // 4, half // 4, weights)
        params[f"{name}_frac_weight"] = frac
        if bias is not None:
            params[f"{name}_quant_bias"] = rng.integers(-half, half, weights[0])
            params[f"{name}_frac_bias"] = bias

    channels = np.arange(16)
    layer("conv", (16, 3, 3, 3), 5 + channels % 3 + more, 4 + channels % 4 + more)
    layer("bn", (16,), 5 + more, 4 + more)
    layer("scale", (16,), 5 + more)
    params["bias_quant_bias"], params["bias_frac_bias"] = rng.integers(-half, half, 16), 2 + more
    layer("fc", (5, 16, 2, 2), 7 + more, 6 + more)
    return params


def windows(bits, unsigned=False, seed=1):
    """Groups, dilation, pads of both signs, an average next to padding; and its parameters."""
    odd = {"kernel_size": (3, 2), "stride": (2, 2), "pad": (2, -1, 1, 3), "dilation": (2, 2)}
    mean = {"kernel_size": 3, "stride": 1, "pad": (1, 1, 1, 1), "pool": "AVE"}
    layers = [
        start(2, 10, 7),
        Layer("Convolution", name="one", bottom="x", top="a", num_output=32, group=2, **odd),
        Layer("Pooling", name="mean", bottom="a", top="b", **mean),
    ]
    rng, half, more = np.random.default_rng(seed), 2 ** (bits - 1), bits - 8
    params = {"x_frac": 2, "x_signed": not unsigned, "a_frac": 3 + more // 2, "b_frac": 2}
    params |= {"one_quant_weight": rng.integers(-half, half, (32, 1, 3, 2))}
    params |= {"one_quant_bias": rng.integers(-half, half, 32)}
    params |= {"one_frac_weight": 7 + more, "one_frac_bias": 5 + more}
    return layers, params


def plain(bits, seed=3):
    """Return a small network without tables, and its parameters."""
    layers = [
        start(1, 5, 4),
        Layer("InnerProduct", name="fc", bottom="x", top="f", num_output=7),
        Layer("ReLU", name="relu", bottom="f", top="r", negative_slope=0.25),
    ]
    rng, half, more = np.random.default_rng(seed), 2 ** (bits - 1), bits - 8
    params = {"x_frac": 4, "f_frac": 2, "r_frac": 2}
    params |= {"fc_frac_weight": 6 + more, "fc_frac_bias": 5 + more}
    params |= {"fc_quant_weight": rng.integers(-half, half, (7, 1, 5, 4))}
    return layers, params | {"fc_quant_bias": rng.integers(-half, half, 7)}


def networks(bits):
    """Name -> layers and parameters."""
    found = {"every": (every_layer(), every_parameter(bits)), "windows": windows(bits)}
    if bits == 8:
        found["unsigned"] = windows(8, unsigned=True)
    return found | {"plain": plain(bits)}


def random_input(bits, layers, params, seed=5):
    """Integers [1, C, H, W] of the network's input, the extremes among them."""
    name = layers[0].tops[0]
    kind = np.dtype(f"i{bits // 8}" if params.get(f"{name}_signed", True) else "u1")
    limits = np.iinfo(kind)
    x = np.random.default_rng(seed).integers(limits.min, limits.max + 1, layers[0].dim)
    x.flat[:2] = limits.min, limits.max
    return x.astype(kind)


def integers(bits, layers, params, x):
    """Output tensor -> integers [C, H, W], as run_layers() has them for the chip."""
    (start_name,), names = get_net_input_output(layers)
    real = np.ldexp(x.astype(np.float64), -params[f"{start_name}_frac"])
    found = run_layers(real, layers, names, params, quant=True, bitwidth=bits, hw_aligned=True)
    return {
        name: np.ldexp(values[0], params[f"{name}_frac"]).astype(f"i{bits // 8}")
        for name, values in found.items()
    }


@cache
def answer(what, site=None):
    """Return the package's answer about its library; site: folder of a different installation."""
    here = None if site is None else {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "qemu_nn", "sdk", what]
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=here, cwd=site)
    return done.stdout.split()


def build(source, program, flags="", site=None):
    """Compile a C file of the tests with the library, as the package says to."""
    command = ["cc", str(source), *answer("--sources", site), *answer("--cflags", site)]
    command += [*flags.split(), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return program
