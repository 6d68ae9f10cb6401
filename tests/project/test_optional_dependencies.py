"""What is not installed is named as pip calls it, with the extra that brings it."""

import re
import subprocess
import sys

import pytest
from paths import ROOT

from qemu_nn.errors import Error
from qemu_nn.io import optional_deps


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("google.protobuf.message", "protobuf"),
        ("PIL.Image", "pillow"),
        ("sklearn.datasets", "scikit-learn"),
        ("tflite.Model", "tflite"),
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


def test_nothing_says_to_install_from_an_index_that_has_not_this_name():
    root = ROOT
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "docs").rglob("*.py")]
    modules = [path for path in (root / "qemu_nn").rglob("*.py") if path.stem != "extras"]
    assert len(pages) > 20
    assert len(modules) > 200
    for path in pages + modules:
        said = re.search(
            r"pip install[^\n`]*[ '\"=]qemu_nn\b(?!-)", path.read_text(encoding="utf-8")
        )
        assert said is None, f"{path} says {said[0]!r}: see command() of io/optional_deps.py"
