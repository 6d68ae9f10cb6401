"""Scripts of the NPU kit's manual say `import ndk`: they do, once asked for, and never before."""

import subprocess
import sys

import pytest


def run(script, cwd):
    """Return the output of a script in a process of its own."""
    start = "import sys; sys.path[:0] = " + repr([path for path in sys.path if path])
    command = [sys.executable, "-c", f"{start}\n{script}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_is_called_ndk_without_asking(tmp_path):
    script = "import qemu_nn.ndk\ntry:\n    import ndk\nexcept ImportError:\n    print('no')"
    assert run(script, tmp_path) == "no\n"


def test_every_form_of_import_in_the_manual_gives_the_same_modules(tmp_path):
    script = """
import qemu_nn.ndk
qemu_nn.ndk.install()
qemu_nn.ndk.install()
from ndk.layers import get_net_input_output, Layer
from ndk.optimize import merge_layers
from ndk.quant_tools.numpy_net import build_numpy_layers, run_layers
from ndk.quant_tools.quant_layers import QuantLayer
from ndk.examples.data_generator_mnist import data_generator_mnist
from ndk.utils import save_quantized_feature_to_header
import ndk.quant_train_torch
import ndk.tensorflow_interface as tensorflow
import ndk
assert ndk is qemu_nn.ndk and Layer is qemu_nn.ndk.layers.Layer
assert ndk.quant_tools.numpy_net.run_layers is qemu_nn.ndk.quant_tools.numpy_net.run_layers
assert tensorflow is qemu_nn.ndk.tensorflow_interface
for module in (ndk, ndk.layers, ndk.quant_tools.quant_layers):
    assert module.__spec__.name == module.__name__, module.__spec__
try:
    import ndk.nothing
except ModuleNotFoundError as error:
    print(error)
"""
    assert run(script, tmp_path) == "No module named 'qemu_nn.ndk.nothing'\n"


@pytest.mark.parametrize("package", [True, False])
def test_another_ndk_that_is_imported_already_stays(tmp_path, package):
    if package:
        (tmp_path / "ndk").mkdir()
        (tmp_path / "ndk" / "__init__.py").write_text("own = 1\n")
    else:
        (tmp_path / "ndk.py").write_text("own = 1\n")
    script = f"""
sys.path.insert(0, {str(tmp_path)!r})
import ndk
import qemu_nn.ndk
from qemu_nn.errors import Error
try:
    qemu_nn.ndk.install()
except Error as error:
    print(str(error).startswith("another ndk is imported already, from "))
import ndk
print(ndk.own)
"""
    assert run(script, tmp_path) == "True\n1\n"
