"""docs/differences.md: numbers of the history that it tells."""

import re

import numpy as np
import pytest
from paths import GOLDEN, ROOT

import qemu_nn
from qemu_nn.errors import DeviceWarning, Refused

PAGE = ROOT / "docs" / "differences.md"


def linear(core, folder):
    """Return a recorded program of one linear layer, and its samples."""
    with np.load(GOLDEN / "executorch.npz") as programs:
        path = folder / "net.pte"
        path.write_bytes(programs[f"linear_{core}/file"].tobytes())
        samples = [programs[f"linear_{core}/in{sample}_0"] for sample in range(2)]
    return qemu_nn.load(path), np.stack(samples)


def test_a_program_for_helium_drops_its_bias_on_other_cores(tmp_path):
    network, x = linear("m55", tmp_path)
    layer = next(node.name for node in network.graph.nodes if "linear" in node.name)
    right = network.session(target="m55").run(x, trace=True)[layer]
    with pytest.warns(DeviceWarning, match="quantized_linear"):
        session = network.session(target="m4")
    wrong = session.run(x, trace=True)[layer]
    steps = np.abs(right.astype(int) - wrong)
    said = f"| {np.count_nonzero(steps)} of {steps.size} | {steps.max()} |"
    row = re.search(r"^\| `Linear.*", PAGE.read_text(encoding="utf-8"), re.M)[0]
    assert row.endswith(said)


def test_a_program_for_other_cores_stops_on_helium(tmp_path):
    network, _ = linear("m4", tmp_path)
    with pytest.raises(Refused, match="built for cores without Helium"):
        network.session(target="m55")
