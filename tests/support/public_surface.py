"""The public surface: the classes and functions that users call."""

import importlib
from inspect import isclass, isfunction

import qemu_nn
from qemu_nn import cmsis, errors, executorch, ndk, targets
from qemu_nn.analysis.checks import Checks, ModelCheck
from qemu_nn.analysis.compare import ArrayDifference, Comparison, Finding
from qemu_nn.analysis.evaluation import Evaluation
from qemu_nn.analysis.report import Report
from qemu_nn.analysis.summary import Summary
from qemu_nn.api import golden, network
from qemu_nn.firmware.golden import GoldenSet
from qemu_nn.firmware.project import Firmware
from qemu_nn.runtime.session import Session

#: Modules of the NPU's kit; its training is checked apart, as that needs PyTorch.
KIT = (
    *("caffe_interface", "onnx_interface", "tensorflow_interface", "layers", "optimize"),
    *("quantize", "modelpack", "utils", "quant_tools.numpy_net", "quant_tools.quant_layers"),
)


def defined_in(module):
    """Return the public classes and functions that a module defines."""
    return [
        value
        for name, value in vars(module).items()
        if name[0] != "_"
        and (isclass(value) or isfunction(value))
        and value.__module__ == module.__name__
    ]


def surface():
    """Name -> class or function, for everything that users call or hold."""
    things = [getattr(qemu_nn, name) for name in qemu_nn.__all__ if name != "__version__"]
    things += [golden.golden, golden.compare, golden.describe, golden.example]
    things += [network.load_quantized, Session, Report, Comparison, Finding, ArrayDifference]
    things += [
        Checks,
        ModelCheck,
        Evaluation,
        GoldenSet,
        Summary,
        Firmware,
        *defined_in(targets),
        *defined_in(errors),
    ]
    things += [getattr(executorch, name) for name in executorch.__all__]
    named = {f"{thing.__module__}.{thing.__qualname__}": thing for thing in things}
    named.update((f"qemu_nn.cmsis.{name}", getattr(cmsis, name)) for name in cmsis.__all__)
    named["qemu_nn.ndk.install"] = ndk.install
    for path in KIT:
        module = importlib.import_module(f"qemu_nn.ndk.{path}")
        names = getattr(module, "__all__", None) or [f.__name__ for f in defined_in(module)]
        named.update((f"qemu_nn.ndk.{path}.{name}", getattr(module, name)) for name in names)
    return named


SURFACE = surface()
