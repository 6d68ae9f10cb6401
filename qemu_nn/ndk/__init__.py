"""The NPU kit's own interface: scripts from its manual run with `import qemu_nn.ndk as ndk`."""

from . import (
    caffe_interface,
    layers,
    modelpack,
    onnx_interface,
    optimize,
    quant_tools,
    quant_train_torch,
    quantize,
    tensorflow_interface,
    utils,
)

__all__ = [
    "caffe_interface",
    "layers",
    "modelpack",
    "onnx_interface",
    "optimize",
    "quant_tools",
    "quant_train_torch",
    "quantize",
    "tensorflow_interface",
    "utils",
]
