"""The NPU kit's own interface: scripts from its manual run with `import qemu_nn.ndk as ndk`.

So far: layers, files, running (float and fixed, bit for bit), headers.
"""

from . import layers, modelpack, quant_tools, utils

__all__ = ["layers", "modelpack", "quant_tools", "utils"]
