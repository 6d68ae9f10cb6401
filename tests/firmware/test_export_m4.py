"""Exported networks pass their self-test on emulated cores, and fail there as on a PC."""

import exported
import numpy as np
import published
import pytest
from exported import check, flip, needs, write
from paths import GOLDEN

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.firmware.boards import BOARDS
from qemu_nn.targets import profile

pytestmark = [needs("m4"), pytest.mark.compiles]


def test_the_example_passes_until_a_weight_is_wrong(tmp_path):
    network, x, _ = pipeline.example()
    folder = write(tmp_path / "demo", network, data=x[:2])
    status, lines = check(folder, "m4")
    assert (status, lines[-1], len(lines)) == (0, "PASS: 0 failures", 17)
    flip(folder, "fc_wt")
    status, lines = check(folder, "m4")
    wrong = [line for line in lines if line.startswith("FAIL")]
    assert status != 0
    assert wrong[0].startswith("FAIL layer=x0/fc index=")
    assert {line.split()[1] for line in wrong[:-1]} <= {"layer=x0/fc", "layer=x1/fc"}


@pytest.mark.parametrize(
    ("board", "cmsis"),
    [("m4", "5.9.0"), ("m4", "7.0.0"), pytest.param("m55", "7.0.0", marks=pytest.mark.slow)],
)
def test_every_function_gives_its_goldens(tmp_path, board, cmsis):
    core = BOARDS[board].core
    graph = exported.every_function(profile(core, cmsis))
    status, lines = check(
        write(tmp_path / "all", graph, target=qemu_nn.Target(core, cmsis=cmsis)), board
    )
    assert status == 0, lines


@published.needed
@pytest.mark.parametrize("name", published.NAMES)
def test_published_networks_pass_in_their_own_memory(name, tmp_path):
    assert check(write(tmp_path / name, pipeline.load(published.FOLDER / name)), "m4")[0] == 0


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    network, x, _ = pipeline.example()
    return write(tmp_path_factory.mktemp("demo"), network, data=x[:1])


@pytest.mark.parametrize("board", sorted({*BOARDS} - {"m4"}))
def test_the_example_passes_on_every_board(demo, board):
    status, lines = check(demo, board)
    assert (status, lines[-1], len(lines)) == (0, "PASS: 0 failures", 9)


@pytest.mark.parametrize("core", ["m4", "m55"])
def test_a_program_of_pytorch_passes_until_a_weight_is_wrong(tmp_path, core):
    with np.load(GOLDEN / "executorch.npz") as programs:
        (tmp_path / "net.pte").write_bytes(programs[f"linear_{core}/file"].tobytes())
    folder = write(tmp_path / "net", qemu_nn.load(tmp_path / "net.pte"), target=core)
    status, lines = check(folder, core)
    assert (status, lines[-1]) == (0, "PASS: 0 failures")
    flip(folder, "quantized_linear_1_wt")
    status, lines = check(folder, core)
    assert status != 0
    wrong = {line.split()[1] for line in lines if line.startswith("FAIL layer")}
    assert {layer.partition("/")[2] for layer in wrong} == {"quantized_linear_1"}
