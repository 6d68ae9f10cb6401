"""Bit-exact emulation of fixed-point neural networks as Cortex-M devices run them.

This package computes on a PC the bytes that a Cortex-M computes with CMSIS-NN (q7, q15, s8 and
s16), or a WuQi NPU with its layers. The bytes are the same on every host.

load -- read a network from a file: .tflite, .qnz, network.json (quantized), .onnx, .h5 ... (float)

>>> import qemu_nn
>>> network = qemu_nn.load("net.tflite")

Network.session -- plan a quantized network for a device, and run it

>>> session = network.session(target="cortex-m4")
>>> outputs = session.run(x)["softmax"]

Network.predict -- floats in, float scores out, the device's bits in between

>>> scores = network.predict(images, target="cortex-m4")

quantize -- turn a float network into calls of CMSIS-NN

>>> quantized = qemu_nn.quantize("net.onnx", "calib.npz", target="cortex-m4")
>>> quantized.save("net.qnz")

fine_tune -- train a quantized network further, with the arithmetic of the device

>>> tuned = qemu_nn.fine_tune("net.qnz", "train.npz", epochs=20)

run -- run a network on data of any size, from files and into files

>>> qemu_nn.run("net.tflite", "images.npy", "scores")

check -- list the networks that a device can run, and the reasons against the rest

>>> print(qemu_nn.check("models", target="cortex-m4").text())

compare_runtime -- compare the device with LiteRT, TensorFlow Lite Micro's wheel or ONNX Runtime

>>> print(qemu_nn.compare_runtime("net.tflite", "images.npy", "litert"))

diff -- list the differences between two networks

>>> print(qemu_nn.diff("before.qnz", "after.qnz").text())

evaluate -- measure the accuracy of a network on data

>>> print(qemu_nn.evaluate("net.qnz", "test.npz").text())

analyze -- report the quantization error of each layer

>>> print(qemu_nn.analyze("net.qnz", "test.npz").text())

estimate -- estimate the time of a network on a device

>>> print(qemu_nn.estimate("net.tflite", board="nucleo-l4r5zi").text())

estimate_call -- estimate the instructions of one call on a device

>>> qemu_nn.estimate_call("arm_relu_q7", {"size": 1000}, cmsis="5.9.0").instructions

export -- write C that calls CMSIS-NN, with a self-test

>>> qemu_nn.export("net.qnz", "firmware")

datasheet -- put accuracy, memory and time on one page

>>> sheet = qemu_nn.datasheet("net.qnz", "test.npz", target="stm32f746").html()

page -- run the network in a browser, with the device's bits

>>> qemu_nn.page("net.qnz", "net.html", target=["m4", "m55"])

validate -- compare the output of a device with the emulator, layer by layer

>>> print(qemu_nn.validate("net.qnz", on="serial:/dev/ttyACM0@921600"))

chain -- connect networks that run at different rates: from sound to scores

>>> chain = qemu_nn.chain(qemu_nn.micro_frontend(), "wake_word.tflite", hops=(160, 3))
>>> scores = chain.run(samples)["score"]

cmsis -- one function of CMSIS-NN on arrays

>>> import numpy as np
>>> from qemu_nn import cmsis
>>> cmsis.arm_relu_q7(data=np.array([-3, 5], np.int8), size=2)
array([0, 5], dtype=int8)

ndk -- the functions of the NPU's kit, under the names of its manual

>>> import qemu_nn.ndk as ndk
>>> layers, params = ndk.onnx_interface.load_from_onnx("net.onnx")

Every function has a help(); errors are sentences and derive from qemu_nn.Error. On the command
line: qemu-nn --help.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .errors import (
    DeviceWarning,
    Error,
    InputWarning,
    LayerFault,
    ModelError,
    Refused,
    SizeMismatch,
)

if TYPE_CHECKING:
    from .api.analyze import analyze
    from .api.chain import Chain, chain
    from .api.check import check
    from .api.compare_runtime import compare_runtime
    from .api.data import Dataset
    from .api.datasheet import datasheet
    from .api.diff import diff
    from .api.estimate import estimate
    from .api.evaluate import evaluate
    from .api.export import export
    from .api.fine_tune import fine_tune, trainable
    from .api.golden import compare, golden
    from .api.interpreter import Interpreter
    from .api.micro_frontend import Pcan, Smoothing, micro_frontend
    from .api.network import FloatNetwork, Network, load
    from .api.page import page
    from .api.quantize import quantize
    from .api.quantize_options import Budget, Effort, QuantizeOptions
    from .api.run import run
    from .api.sound_features import EdgeImpulseMfcc, EdgeImpulseMfe
    from .api.validate import validate
    from .api.variants import variants
    from .api.vela import vela
    from .api.which_cmsis import cmsis_of
    from .cycles.model import estimate_call
    from .executorch import from_pytorch
    from .io.version import __version__
    from .ir.preprocessing import Preprocessing
    from .targets import Target

#: Public name -> the module it comes from, on first use: most bring numpy and the C core along.
_HOMES = {
    "Interpreter": "api.interpreter",
    "variants": "api.variants",
    "compare": "api.golden",
    "golden": "api.golden",
    "Smoothing": "api.micro_frontend",
    "Pcan": "api.micro_frontend",
    "QuantizeOptions": "api.quantize_options",
    "Effort": "api.quantize_options",
    "Budget": "api.quantize_options",
    "Chain": "api.chain",
    "EdgeImpulseMfcc": "api.sound_features",
    "EdgeImpulseMfe": "api.sound_features",
    "Dataset": "api.data",
    "FloatNetwork": "api.network",
    "Network": "api.network",
    "Preprocessing": "ir.preprocessing",
    "Target": "targets",
    "analyze": "api.analyze",
    "evaluate": "api.evaluate",
    "check": "api.check",
    "compare_runtime": "api.compare_runtime",
    "datasheet": "api.datasheet",
    "diff": "api.diff",
    "chain": "api.chain",
    "cmsis_of": "api.which_cmsis",
    "estimate": "api.estimate",
    "estimate_call": "cycles.model",
    "export": "api.export",
    "fine_tune": "api.fine_tune",
    "page": "api.page",
    "from_pytorch": "executorch",
    "load": "api.network",
    "micro_frontend": "api.micro_frontend",
    "quantize": "api.quantize",
    "run": "api.run",
    "trainable": "api.fine_tune",
    "validate": "api.validate",
    "vela": "api.vela",
    "__version__": "io.version",
}

__all__ = [
    "Budget",
    "Chain",
    "Dataset",
    "DeviceWarning",
    "EdgeImpulseMfcc",
    "EdgeImpulseMfe",
    "Effort",
    "Error",
    "FloatNetwork",
    "InputWarning",
    "Interpreter",
    "LayerFault",
    "ModelError",
    "Network",
    "Pcan",
    "Preprocessing",
    "QuantizeOptions",
    "Refused",
    "SizeMismatch",
    "Smoothing",
    "Target",
    "__version__",
    "analyze",
    "chain",
    "check",
    "cmsis_of",
    "compare",
    "compare_runtime",
    "datasheet",
    "diff",
    "estimate",
    "estimate_call",
    "evaluate",
    "export",
    "fine_tune",
    "from_pytorch",
    "golden",
    "load",
    "micro_frontend",
    "page",
    "quantize",
    "run",
    "trainable",
    "validate",
    "variants",
    "vela",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        try:
            home = importlib.import_module(f".{_HOMES[name]}", __name__)
        except ModuleNotFoundError as fault:
            from .io.csrc_files import make_missing_core_error

            raise make_missing_core_error(fault) from None
        return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
