"""Random .tflite files have the verdict and the bytes of TensorFlow Lite Micro's wheel."""

import pytest

pytest.importorskip("tflite_micro", reason="pip install tflite-micro (wheel of October 2026)")
import numpy as np
from paths import SHARED
from tflite_agreement import compare
from tflite_draws import SPECS, draw, draw_inputs, samples

from qemu_nn.errors import ModelError
from qemu_nn.importers.tflite.parser import read

#: Files of the everyday tests, from this seed on; .ci/draw-tflite takes others.
FIRST, BLOCKS, BLOCK = 0, 10, 20


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_files_have_the_frameworks_verdict_and_bytes(block, tmp_path):
    wrong = []
    for seed in range(FIRST + block * BLOCK, FIRST + (block + 1) * BLOCK):
        net, said = draw(seed)
        verdict = compare(net.save(tmp_path), samples(net))
        if verdict.differs and not verdict.by_design:
            wrong.append(f"{said}: {verdict}")
    assert wrong == []


@pytest.mark.parametrize("name", sorted(SPECS))
def test_an_operator_that_is_drawn_runs(name, tmp_path):
    """Check that the draws compare more than refusals."""
    for seed in range(3000):
        net, _ = draw(seed, name)
        verdict = compare(net.save(tmp_path), samples(net))
        if not verdict.own and not verdict.framework:
            return
    raise AssertionError(f"no file of {name} runs")


def given_inputs(path):
    """Return random inputs of a file; none if it is damaged."""
    try:
        model = read(path)
        return draw_inputs(map(model.tensor, model.inputs), np.random.default_rng(0))
    except ModelError:
        return []


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", ["golden", "models_tflite", "models_tflite2", "defects2", "ethosu"]
)
def test_published_files_have_the_frameworks_verdict_and_bytes(folder):
    if not (SHARED / folder).is_dir():
        pytest.skip(f"needs {SHARED / folder}")
    wrong = []
    for path in sorted((SHARED / folder).rglob("*.tflite")):
        verdict = compare(path, given_inputs(path))
        if verdict.differs and not verdict.by_design:
            wrong.append(f"{path}: {verdict}")
    assert wrong == []
