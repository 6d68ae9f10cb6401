"""The network that comes with the package does what its script says, on every device."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.ir.formats import quantize
from qemu_nn.runtime.session import Session
from qemu_nn.targets import all_profiles

ROOT = Path(qemu_nn.__file__).parents[1]

#: Rounding -> how many of the 360 images the device gets right; 351 in float.
CORRECT = {"nearest": 349, "truncate": 350}


@pytest.mark.parametrize("profile", [p for p in all_profiles() if p.rounding in CORRECT], ids=str)
def test_every_device_gets_the_same_images_right(profile):
    network, x, y = pipeline.example()
    scores = Session(network.graph, profile).run(x)["softmax"]
    assert np.count_nonzero(scores.argmax(1) == y) == CORRECT[profile.rounding]


def test_the_example_takes_less_than_200_kb():
    files = list((ROOT / "qemu_nn" / "demo").iterdir())
    endings = {"onnx", "qnz", "tflite", "npz"}
    names = {f"digits.{ending}" for ending in endings}
    assert {file.name for file in files} == {*names, "wake_tone.tflite"}
    assert sum(file.stat().st_size for file in files) < 200_000


def test_the_images_are_int8_and_every_class_is_among_them():
    network, x, y = pipeline.example()
    assert (x.dtype, x.shape) == (np.int8, (360, *network.graph.input.shape))
    assert sorted(set(y.tolist())) == list(range(len(network.graph.classes)))


def test_the_images_are_those_that_training_never_saw():
    pytest.importorskip("sklearn")
    script = runpy.run_path(str(ROOT / "docs" / "examples" / "train_digits.py"))
    train_x, _, held_out, labels = script["data"]()
    network, x, y = pipeline.example()
    np.testing.assert_array_equal(x, quantize(held_out, network.graph.input.frac))
    np.testing.assert_array_equal(y, labels)
    assert len(train_x) + len(x) == 1797


@pytest.mark.parametrize("name", ["digits.onnx", "digits.tflite"])
def test_the_float_network_and_the_tflite_file_get_the_same_images_right(name):
    _, x, y = pipeline.example()
    scores = qemu_nn.load(Path(qemu_nn.__file__).parent / "demo" / name).predict(x / 128)
    assert np.count_nonzero(scores.argmax(1) == y) == 351
