"""The NPU kit's own interface: scripts from its manual run with `import qemu_nn.ndk as ndk`.

Those that say `import ndk` or `from ndk.layers import ...` run after `qemu_nn.ndk.install()`.
"""

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
from .alias import install

__all__ = [
    "caffe_interface",
    "install",
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
