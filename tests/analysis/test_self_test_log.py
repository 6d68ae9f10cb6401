"""Self-tests print their results, and compare reads them from the log of a terminal."""

import subprocess
import zlib

import numpy as np
import pytest
from exported import flip, needs, write

import qemu_nn
from qemu_nn.analysis.self_test_log import read_log
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import Error

pytestmark = pytest.mark.compiles


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    network, x, _ = pipeline.example()
    return write(tmp_path_factory.mktemp("log") / "demo", network, data=x[:2])


def run(folder, target):
    """Return the log of a self-test, whatever it found."""
    done = subprocess.run(["make", target, "DUMP=1"], cwd=folder, capture_output=True, text=True)
    assert "CRC" in done.stdout, done.stderr
    path = folder.parent / f"{target}.txt"
    path.write_text(done.stdout)
    return path


@pytest.mark.parametrize(
    "target", [pytest.param("pc", marks=needs("pc")), pytest.param("m4", marks=needs("m4"))]
)
def test_a_log_is_compared_layer_by_layer(demo, target):
    found = qemu_nn.compare(demo / "goldens", run(demo, target))
    assert found.same
    assert len(found.findings) == 2 * len(pipeline.example()[0].graph.nodes)


@needs("pc")
def test_the_first_wrong_layer_is_named(demo, tmp_path):
    network, x, _ = pipeline.example()
    folder = write(tmp_path / "demo", network, data=x[:1])
    flip(folder, "conv2_wt")
    found = qemu_nn.compare(folder / "goldens", run(folder, "pc"))
    assert not found.same
    assert found.first.layer == "conv2"
    assert found.first.difference.differing > 0


LINES = """12:00:01.250 -> DATA x0/conv1 0 {:08x}{:08x}
noise
12:00:01.260 -> CRC x0/conv1 size={} crc32={:08x}
"""


@pytest.mark.parametrize("size", [5, 8])
def test_stamps_and_other_lines_are_skipped(tmp_path, size):
    values = np.arange(1, 9, dtype=np.uint8).tobytes()[:size]
    words = np.frombuffer(values.ljust(8, b"\0"), ">u4").tolist()
    (tmp_path / "log").write_text(LINES.format(*words, size, zlib.crc32(values)))
    assert read_log(tmp_path / "log") == {"x0/conv1": values}


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("hello", "has no results of a self-test"),
        ("DATA x0/a 4 00000000", "line 1: bytes of x0/a are missing"),
        ("DATA x0/a 0 00000000\nCRC x0/a size=4 crc32=00000000", "line 2: bytes of x0/a are"),
        ("CRC x0/a size=4 crc32=00000000", "line 1: bytes of x0/a are missing"),
    ],
)
def test_lost_bytes_are_a_sentence(tmp_path, lines, sentence):
    (tmp_path / "log").write_text(lines)
    with pytest.raises(Error, match=sentence):
        read_log(tmp_path / "log")
