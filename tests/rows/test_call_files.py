"""Rows run on calls in a file, without Python, and have the bits of the plain rows in it."""

import re
import subprocess

import pytest
from hosts import needs_x86
from modelled import CSRC, HERE, needs_gcc

from qemu_nn.kernels import table as kernels
from qemu_nn.testing.call_file import write_calls

pytestmark = [pytest.mark.compiles, needs_gcc, needs_x86]


@pytest.fixture
def replay(modelled, tmp_path):
    """Return a function that runs tests/c/replay.c on a file; AMX is a model."""
    program = tmp_path / "replay"
    command = ["gcc", "-std=c11", "-O1", f"-I{CSRC / 'include'}", "-pthread", HERE / "replay.c"]
    subprocess.run([*command, *modelled.glob("*.o"), "-o", program], check=True)
    return lambda path: subprocess.run([program, path], capture_output=True, text=True, timeout=600)


def test_every_row_computes_the_outputs_in_a_file(replay, tmp_path):
    path = tmp_path / "calls"
    count = write_calls(path, 0, 8)
    done = replay(path)
    assert done.returncode == 0, done.stdout + done.stderr
    calls, runs, wrong = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert (calls, wrong) == (count, 0)
    assert runs > count * (2 if kernels.HOST else 1.4)  # plain rows and fast ones


def test_a_different_output_is_found(replay, tmp_path):
    path = tmp_path / "calls"
    write_calls(path, 0, 1, "arm_fully_connected_s8")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    done = replay(path)
    assert done.returncode == 1
    assert "fully_connected_s8.ref differs: profile" in done.stdout


def test_a_file_that_ends_early_is_refused(replay, tmp_path):
    path = tmp_path / "calls"
    write_calls(path, 0, 1, "arm_fully_connected_s8")
    path.write_bytes(path.read_bytes()[:-1])
    done = replay(path)
    assert done.returncode == 2
    assert "the file ends within a call" in done.stderr
