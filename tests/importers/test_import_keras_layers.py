"""Files of Keras 3.15 compute what it computed: layers, operations, models inside models."""

import io
import zipfile

import keras_files as kf
import numpy as np
import pytest
from paths import GOLDEN

import qemu_nn
from qemu_nn.errors import ModelError

h5py = pytest.importorskip("h5py", reason="h5py is not installed")
pytestmark = pytest.mark.usefixtures("hdf5_here")

RECORDED = np.load(GOLDEN / "keras" / "layers.npz")
FILES = [name for name in RECORDED.files if name.endswith((".keras", ".h5"))]
RNG = np.random.default_rng(2)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("name", FILES)
def test_every_output_of_a_file_is_what_keras_computed(name, tmp_path):
    (tmp_path / name).write_bytes(RECORDED[name].tobytes())
    stem = name.partition(".")[0]
    found = qemu_nn.load(tmp_path / name).evaluate(RECORDED[f"{stem}_x"])
    count = sum(key.startswith(f"{stem}_y") for key in RECORDED.files)
    assert len(found) == count
    for index, (output, got) in enumerate(found.items()):
        expected = RECORDED[f"{stem}_y{index}"]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5, err_msg=output)


def test_names_of_groups_may_have_backslashes(tmp_path):
    dense = kf.layer("Dense", "d", [normal(4, 3), normal(3)], use_bias=True)
    model = kf.sequential(kf.layer("InputLayer", "in", batch_input_shape=[None, 4]), dense)
    path = kf.write_keras(tmp_path / "unix.keras", model)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    arrays = {}
    with h5py.File(io.BytesIO(entries["model.weights.h5"])) as file:
        file.visititems(
            lambda name, item: (
                arrays.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
            )
        )
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        for name, array in arrays.items():
            group, _, last = name.rpartition("/")
            file.require_group(group.replace("/", "\\")).create_dataset(last, data=array)
    entries["model.weights.h5"] = data.getvalue()
    with zipfile.ZipFile(tmp_path / "windows.keras", "w") as archive:
        for name, held in entries.items():
            archive.writestr(name, held)
    x = normal(2, 4)
    expected = qemu_nn.load(path).evaluate(x)["d"]
    np.testing.assert_array_equal(
        qemu_nn.load(tmp_path / "windows.keras").evaluate(x)["d"], expected
    )


def functions_of_keras_2(*nodes):
    """Return a functional model of TFOpLambda layers: name, function, inbound nodes."""
    start = kf.layer("InputLayer", "x", batch_input_shape=[None, 3], inbound=[])
    model = kf.functional(start, inputs=["x"], outputs=[nodes[-1][0]])
    described = kf.described(model, 2)
    for name, function, inbound in nodes:
        described["config"]["layers"].append(
            {
                "class_name": "TFOpLambda",
                "name": name,
                "config": {"name": name, "function": function},
                "inbound_nodes": [inbound],
            }
        )
    return described


def test_functions_of_tensorflow_between_layers_are_operators(tmp_path, monkeypatch):
    described = functions_of_keras_2(
        ("a", "__operators__.add", [["x", 0, 0, {"y": 1.5, "name": None}]]),
        ("b", "math.multiply", [["a", 0, 0, {"y": ["x", 0, 0], "name": None}]]),
        ("c", "__operators__.rsub", [["_CONSTANT_VALUE", -1, 2.0, {"y": ["b", 0, 0]}]]),
        ("d", "math.exp", [["c", 0, 0, {"name": None}]]),
    )
    monkeypatch.setattr(kf, "described", lambda model, style: described)
    model = kf.sequential(kf.layer("InputLayer", "x", batch_input_shape=[None, 3]))
    path = kf.write_h5(tmp_path / "m.h5", model)
    x = normal(4, 3)
    expected = np.exp(2 - (x + 1.5) * x)
    np.testing.assert_allclose(qemu_nn.load(path).evaluate(x)["d"], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (kf.layer("Lambda", "l"), "Lambda 'l' is not supported; have: "),
        (
            kf.layer("LSTM", "l", [normal(4, 8), normal(2, 8), normal(8)], stateful=True),
            "its stateful is True",
        ),
        (
            kf.layer("GRU", "g", [normal(4, 6), normal(2, 6)], recurrent_activation="hard_sigmoid"),
            "its recurrent_activation is 'hard_sigmoid'",
        ),
        (kf.layer("Conv1DTranspose", "t", [normal(3, 2, 4)] * 2), "its weights have the shapes"),
        (kf.layer("LayerNormalization", "n", [normal(4)] * 2, axis=0), "axis 0 is not an axis"),
        (kf.layer("GroupNormalization", "n", [normal(4)] * 2, groups=3), "groups do not divide"),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(layer, reason, tmp_path):
    start = kf.layer("InputLayer", "in", batch_input_shape=[None, 6, 4])
    path = kf.write_h5(tmp_path / "m.h5", kf.sequential(start, layer))
    with pytest.raises(ModelError, match=reason):
        qemu_nn.load(path)
