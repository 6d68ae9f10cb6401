"""Errors name a missing package as pip does, with the extra that installs it."""

import subprocess
import sys

import pytest

from qemu_nn.errors import Error
from qemu_nn.io import optional_deps


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("google.protobuf.message", "protobuf"),
        ("PIL.Image", "pillow"),
        ("sklearn.datasets", "scikit-learn"),
    ],
)
def test_a_missing_library_is_named_as_pip_calls_it(module, package, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(Error, match=f"reading needs {package}, .*: pip install '\\.\\[some\\]'"):
        optional_deps.require(module, "some", "reading")


def test_the_example_without_its_libraries_ends_in_a_sentence(tmp_path):
    program = (
        "import runpy, sys\n"
        "sys.modules['torch'] = None\n"
        f"sys.argv = ['lenet5_npu', {str(tmp_path / 'out')!r}]\n"
        "runpy.run_module('qemu_nn.examples.lenet5_npu', run_name='__main__')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == (
        "Error: training needs torch, which is not installed: pip install '.[train]' "
        "in a clone of qemu_nn\n"
    )
