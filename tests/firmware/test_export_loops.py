"""Networks with loops as firmware: a loop in C, and what it leaves is what was recorded."""

import numpy as np
import pytest
from exported import check, needs, write
from recorded_loops import load, named, recorded
from tflite_loops import LOOPS

pytestmark = pytest.mark.compiles


def exported(name, folder):
    network = load(name, folder)
    x, wanted = recorded(name)
    few = [part[:, :4] if network.graph.states else part[2:6] for part in x]
    return network, write(folder / "net", network, data=named(network.graph, few)), wanted


#: Those that are built every day.
SOME = ("nested", "remembers")


@needs("pc")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SOME else pytest.mark.slow) for n in LOOPS]
)
def test_a_loop_passes_its_self_test(name, tmp_path):
    network, folder, wanted = exported(name, tmp_path)
    status, lines = check(folder)
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines
    stem = network.graph.outputs[0].replace("/", "_")
    if not network.graph.states:
        first = np.load(folder / "goldens" / "x0" / f"{stem}.npy")
        np.testing.assert_array_equal(first.ravel(), wanted[0][2].ravel())
    inner = {network.graph.nodes[loop.last - 1].name for loop in network.graph.loops}
    assert not any(f"/{name.replace('/', '_')}" in line for line in lines for name in inner)


@needs("m4")
@pytest.mark.parametrize("name", ["nested", pytest.param("settles", marks=pytest.mark.slow)])
def test_a_loop_passes_on_an_emulated_device(name, tmp_path):
    status, lines = check(exported(name, tmp_path)[1], "m4")
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


@needs("pc")
def test_a_loop_that_turns_too_often_fails(tmp_path):
    """Show that the self-test compares the results of a loop, not its single calls."""
    _, folder, _ = exported("sums", tmp_path)
    path = folder / "weights.h"
    text = path.read_text()
    changed = text.replace("    9,", "    1,")
    assert changed != text
    path.write_text(changed)
    status, lines = check(folder)
    assert status != 0
    assert any(line.startswith("FAIL") for line in lines)
