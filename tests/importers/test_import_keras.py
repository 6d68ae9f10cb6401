"""Keras files: what their layers mean, in every spelling, and what is refused."""

import json
import zipfile
from types import SimpleNamespace

import keras_files as kf
import numpy as np
import pytest
from paths import SHARED

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.importers.keras.model import build

h5py = pytest.importorskip("h5py", reason="h5py is not installed")
pytestmark = pytest.mark.usefixtures("hdf5_here")

RNG = np.random.default_rng(6)
FLOAT = SHARED / "models_float"
FILES = [
    "keras_kws_cnn/kws_cnn.h5",
    "keras_kws_cnn_bn/kws_cnn_bn.keras",
    "keras_ds_cnn/ds_cnn.h5",
    "keras_ds_cnn/ds_cnn_keras3.h5",
    "keras_ds_cnn/ds_cnn_tfkeras.keras",
    "keras_ds_cnn/ds_cnn.keras",
    "keras_mlperf_resnet8/pretrainedResnet_weights_only.h5",
]


@pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")
@pytest.mark.parametrize("name", FILES)
def test_published_networks_compute_what_their_framework_recorded(name):
    network = qemu_nn.load(FLOAT / name)
    with np.load(FLOAT / name.split("/")[0] / "golden.npz") as stored:
        golden = dict(stored)
    traced = network.evaluate(golden["x"][golden["layer_idx"]], trace=True)
    final = network.evaluate(golden["x"])
    seen = 0
    for key, expected in golden.items():
        kind, _, tensor = key.partition(".")
        got = {"layer": traced, "final": {**final, tensor: [*final.values()][-1]}}.get(kind, {})
        if tensor in got:
            limit = {"layer": 1e-4, "final": 1e-5}[kind] * np.abs(expected).max()
            assert np.abs(got[tensor] - expected).max() <= limit, key
            seen += 1
    assert seen > 8


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def evaluated(tmp_path, shape, *layers, x=None, **how):
    """Return the output of a sequential model of these layers, the same from every kind of file."""
    start = kf.layer("InputLayer", "in", batch_input_shape=[None, *shape])
    model = kf.sequential(start, *layers)
    x = normal(3, *shape) if x is None else x
    paths = [kf.write_h5(tmp_path / "m.h5", model, 2), kf.write_h5(tmp_path / "m3.h5", model, 3)]
    results = [qemu_nn.load(path, **how).evaluate(x) for path in paths]
    for result in results[1:]:
        np.testing.assert_array_equal([*result.values()][-1], [*results[0].values()][-1])
    return x.astype(np.float64), [*results[0].values()][-1]


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_a_convolution_pads_as_tensorflow_pads(tmp_path):
    kernel = normal(3, 2, 1, 1)
    config = {"strides": [2, 2], "padding": "same", "use_bias": False}
    x, got = evaluated(tmp_path, (6, 5, 1), kf.layer("Conv2D", "c", [kernel], **config))
    padded = np.pad(x[..., 0], ((0, 0), (0, 1), (0, 1)))  # the odd cell is after the image
    expected = [
        [
            (padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2] * kernel[..., 0, 0]).sum((1, 2))
            for j in range(3)
        ]
        for i in range(3)
    ]
    close(got[..., 0], np.moveaxis(expected, 2, 0))


def test_a_depthwise_multiplier_puts_a_channel_s_outputs_side_by_side(tmp_path):
    kernel, bias = normal(1, 1, 2, 3), normal(6)
    x, got = evaluated(tmp_path, (2, 2, 2), kf.layer("DepthwiseConv2D", "d", [kernel, bias]))
    expected = np.concatenate([x[..., c : c + 1] * kernel[0, 0, c] for c in range(2)], -1) + bias
    close(got, expected)


def test_a_separable_convolution_is_two(tmp_path):
    deep, point, bias = normal(1, 1, 2, 1), normal(1, 1, 2, 3), normal(3)
    layer = kf.layer("SeparableConv2D", "s", [deep, point, bias], activation="relu")
    x, got = evaluated(tmp_path, (2, 3, 2), layer)
    close(got, np.maximum((x * deep[0, 0, :, 0]) @ point[0, 0] + bias, 0))


@pytest.mark.parametrize(("padding", "before"), [("valid", 0), ("causal", 4), ("same", 2)])
def test_a_convolution_over_steps(tmp_path, padding, before):
    kernel, bias = normal(3, 2, 4), normal(4)
    config = {"kernel_size": [3], "strides": [1], "dilation_rate": [2], "padding": padding}
    x, got = evaluated(tmp_path, (7, 2), kf.layer("Conv1D", "c", [kernel, bias], **config))
    x = np.pad(x, ((0, 0), (before, 2 if padding == "same" else 0), (0, 0)))
    steps = x.shape[1] - 4
    expected = sum(x[:, 2 * k : 2 * k + steps] @ kernel[k] for k in range(3)) + bias
    close(got, expected)


def test_a_dense_layer_with_its_activation_is_two_tensors(tmp_path):
    kernel, bias = normal(4, 3), normal(3)
    model = kf.sequential(
        kf.layer("Dense", "d", [kernel, bias], activation="softmax", batch_input_shape=[None, 4])
    )
    network = qemu_nn.load(kf.write_h5(tmp_path / "m.h5", model))
    x = normal(5, 4)
    traced = network.evaluate(x, trace=True)
    close(traced["d/linear"], x @ kernel + bias)
    close(traced["d"].sum(1), np.ones(5))
    assert network.graph.outputs == ("d",)


@pytest.mark.parametrize(
    "options", [{}, {"scale": False}, {"center": False}, {"axis": [1]}, {"epsilon": 0.5}]
)
def test_batch_normalization_equals_its_formula(tmp_path, options):
    axis = 1 if "axis" in options else 3
    n = (2, 3, 4)[axis - 1]
    gamma, beta, mean, variance = normal(n), normal(n), normal(n), np.abs(normal(n))
    weights = [
        *([gamma] if options.get("scale", True) else []),
        *([beta] if options.get("center", True) else []),
    ]
    layer = kf.layer("BatchNormalization", "b", [*weights, mean, variance], **options)
    x, got = evaluated(tmp_path, (2, 3, 4), layer)
    shape = [1, 1, 1, 1]
    shape[axis] = n
    gamma, beta, mean, variance = (np.reshape(a, shape) for a in (gamma, beta, mean, variance))
    expected = (x - mean) / np.sqrt(variance + options.get("epsilon", 1e-3))
    expected = expected * (gamma if options.get("scale", True) else 1)
    close(got, expected + (beta if options.get("center", True) else 0))


@pytest.mark.parametrize(
    ("layer", "function"),
    [
        (
            kf.layer("ReLU", "a", max_value=1.0, negative_slope=0.5),
            lambda x: np.minimum(np.where(x > 0, x, x / 2), 1),
        ),
        (kf.layer("LeakyReLU", "a", alpha=0.25), lambda x: np.where(x > 0, x, x / 4)),
        (kf.layer("LeakyReLU", "a", negative_slope=0.5), lambda x: np.where(x > 0, x, x / 2)),
        (kf.layer("Activation", "a", activation="tanh"), np.tanh),
        (kf.layer("Activation", "a", activation="relu6"), lambda x: np.clip(x, 0, 6)),
        (
            kf.layer("Activation", "a", activation={"class_name": "function", "config": "sigmoid"}),
            lambda x: 1 / (1 + np.exp(-x)),
        ),
        (
            kf.layer("PReLU", "a", [np.array([[[0.1, 0.2]]])]),
            lambda x: np.where(x > 0, x, x * [0.1, 0.2]),
        ),
        (kf.layer("Softmax", "a", axis=-1), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
        (kf.layer("Rescaling", "a", scale=0.5, offset=1.0), lambda x: x / 2 + 1),
        (kf.layer("Dropout", "a", rate=0.5), lambda x: x),
        (kf.layer("Permute", "a", dims=[2, 3, 1]), lambda x: x.transpose(0, 2, 3, 1)),
        (kf.layer("Reshape", "a", target_shape=[4, -1]), lambda x: x.reshape(3, 4, -1)),
        (kf.layer("Flatten", "a"), lambda x: x.reshape(3, -1)),
        (
            kf.layer("Flatten", "a", data_format="channels_first"),
            lambda x: x.transpose(0, 2, 3, 1).reshape(3, -1),
        ),
        (
            kf.layer("ZeroPadding2D", "a", padding=[[1, 0], [0, 2]]),
            lambda x: np.pad(x, ((0, 0), (1, 0), (0, 2), (0, 0))),
        ),
        (kf.layer("Cropping2D", "a", cropping=[[1, 0], [0, 1]]), lambda x: x[:, 1:, :-1]),
        (kf.layer("GlobalAveragePooling2D", "a"), lambda x: x.mean((1, 2))),
        (
            kf.layer("GlobalMaxPooling2D", "a", keepdims=True),
            lambda x: x.max((1, 2), keepdims=True),
        ),
        (
            kf.layer("MaxPooling2D", "a", pool_size=[2, 2]),
            lambda x: (
                x[:, :, :]
                .reshape(3, 2, 2, 3, 2)[:, :, :, :2]
                .max(2)
                .max(2, keepdims=True)[:, :, :1]
            ),
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_plain_layers_equal_numpy(tmp_path, layer, function):
    x, got = evaluated(tmp_path, (4, 3, 2), layer)
    close(got, function(x))


def test_an_average_with_same_padding_does_not_count_it(tmp_path):
    layer = kf.layer("AveragePooling2D", "p", pool_size=[2, 2], strides=[2, 2], padding="same")
    x, got = evaluated(tmp_path, (3, 3, 1), layer)
    close(got[:, 1, 1, 0], x[:, 2, 2, 0])
    close(got[:, 0, 1, 0], x[:, :2, 2, 0].mean(1))


def branches():
    start = kf.layer("InputLayer", "in", inbound=[], batch_shape=[None, 4])
    a = kf.layer("Dense", "a", [normal(4, 3), normal(3)], ["in"])
    b = kf.layer("Dense", "b", [normal(4, 3), normal(3)], ["in"])
    total = kf.layer("Add", "sum", inbound=["a", "b"])
    both = kf.layer("Concatenate", "both", inbound=["sum", "a"], axis=-1)
    mean = kf.layer("Average", "mean", inbound=["both", "both"])
    # in another order than they can be computed in
    return kf.functional(start, both, mean, total, b, a, inputs=["in"], outputs=["mean"])


@pytest.mark.parametrize("style", [2, 3])
@pytest.mark.parametrize("write", [kf.write_h5, kf.write_keras])
def test_a_functional_model_in_every_kind_of_file(tmp_path, style, write):
    model = branches()
    path = write(tmp_path / ("m.h5" if write is kf.write_h5 else "m.keras"), model, style)
    x = normal(2, 4)
    by_name = {each["name"]: each["weights"] for each in model["layers"]}
    a, b = (x @ by_name[name][0] + by_name[name][1] for name in "ab")
    close(qemu_nn.load(path).evaluate(x)["mean"], np.concatenate([a + b, a], 1))


def test_a_model_within_a_model_has_its_own_weights(tmp_path):
    inner = kf.sequential(
        kf.layer("Dense", "deep", [2 * np.eye(4), np.ones(4)], batch_input_shape=[None, 4]),
        name="inner",
    )
    inner["inbound"] = ["first"]
    start = kf.layer("InputLayer", "in", inbound=[], batch_shape=[None, 4])
    first = kf.layer("Dense", "first", [3 * np.eye(4), np.zeros(4)], ["in"])
    last = kf.layer("Dense", "last", [5 * np.eye(4), np.zeros(4)], ["inner"])
    model = kf.functional(start, first, inner, last, inputs=["in"], outputs=["last"])
    x = normal(2, 4)
    for path in (
        kf.write_h5(tmp_path / "m.h5", model),
        kf.write_keras(tmp_path / "m.keras", model),
    ):
        close(qemu_nn.load(path).evaluate(x)["last"], 5 * (6 * x + 1))


def test_a_layer_that_is_called_twice_shares_its_weights(tmp_path):
    model = kf.functional(
        kf.layer("InputLayer", "in", inbound=[], batch_shape=[None, 3]),
        kf.layer("Dense", "d", [2 * np.eye(3), np.zeros(3)], ["in"]),
        inputs=["in"],
        outputs=["d"],
    )
    document = kf.described(model, 2)
    document["config"]["layers"][1]["inbound_nodes"].append([["d", 0, 0, {}]])
    document["config"]["output_layers"] = [["d", 1, 0]]
    path = kf.write_h5(tmp_path / "m.h5", model)
    with h5py.File(path, "r+") as file:
        file.attrs["model_config"] = json.dumps(document)
    x = normal(2, 3)
    close(qemu_nn.load(path).evaluate(x)["d/1"], 4 * x)


def test_outputs_are_in_the_order_of_the_model(tmp_path):
    model = branches()
    model["out"] = ["sum", "both", "a"]
    path = kf.write_keras(tmp_path / "m.keras", model)
    network = qemu_nn.load(path)
    assert network.graph.outputs == ("sum", "both", "a")
    assert list(network.evaluate(normal(2, 4))) == ["sum", "both", "a"]
    document = kf.described(model, 3)
    ends = document["config"]["output_layers"]
    document["config"]["output_layers"] = {"first": ends[2], "second": ends[0]}  # by names
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, json.dumps(document) if name == "config.json" else data)
    assert qemu_nn.load(path).graph.outputs == ("a", "sum")


def test_a_network_is_cut_at_its_layers(tmp_path):
    layers = [kf.layer("Dense", f"d{i}", [np.eye(3) * (i + 2), np.zeros(3)]) for i in range(3)]
    x = np.ones((1, 3), np.float32)
    _, got = evaluated(tmp_path, (3,), *layers, x=x, input="d0", output="d1")
    close(got, 3 * x)
    with pytest.raises(ModelError, match="no layer 'd9'; have: in, d0, d1, d2"):
        evaluated(tmp_path, (3,), *layers, output="d9")


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (kf.layer("ConvLSTM2D", "l"), "ConvLSTM2D 'l' is not supported; have: .*Conv2D"),
        (
            kf.layer("Activation", "a", activation="crelu"),
            "'crelu' is not supported; have: linear, relu",
        ),
        (kf.layer("ReLU", "r", threshold=1.0), "ReLU 'r': its threshold is not 0"),
        (
            kf.layer("Conv2D", "c", [normal(3, 3, 2)]),
            r"Conv2D 'c': its weights have the shapes \[3, 3, 2\]",
        ),
        (
            kf.layer("Conv2D", "c", [normal(3, 3, 9, 2), normal(2)]),
            "do not fit an image of 2 channels",
        ),
        (
            kf.layer("Conv2D", "c", [normal(3, 3, 2, 2), normal(2)], padding="full"),
            "its padding is 'full'",
        ),
        (
            kf.layer("Conv2D", "c", [normal(3, 3, 2, 2), normal(2)], strides="x"),
            "its strides is 'x'",
        ),
        (kf.layer("Conv2D", "c", [normal(3, 3, 2, 2), np.array([1, np.nan])]), "not finite"),
        (kf.layer("Reshape", "r", target_shape=[5, -1]), "cannot be reshaped to"),
        (kf.layer("Add", "a"), "two inputs or more"),
        (kf.layer("Concatenate", "a", axis=9), "axis 9 is not an axis of a sample"),
        (
            kf.layer("TFOpLambda", "t", function="math.cumsum"),
            "the function 'math.cumsum' is not supported",
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(tmp_path, layer, reason):
    with pytest.raises(ModelError, match=reason):
        evaluated(tmp_path, (4, 3, 2), layer)


def test_unknown_input_sizes_are_refused(tmp_path):
    unknown = kf.sequential(
        kf.layer("Dense", "d", [np.eye(3), np.zeros(3)], batch_input_shape=[None, None])
    )
    with pytest.raises(ModelError, match="has no fixed size"):
        qemu_nn.load(kf.write_h5(tmp_path / "m.h5", unknown))


def test_several_inputs_come_in_the_order_of_the_model(tmp_path):
    two = kf.functional(
        *(kf.layer("InputLayer", name, inbound=[], batch_shape=[None, 3]) for name in "ab"),
        kf.layer("Subtract", "y", inbound=["a", "b"]),
        inputs=["b", "a"],
        outputs=["y"],
    )
    network = qemu_nn.load(kf.write_h5(tmp_path / "m.h5", two))
    assert [each.name for each in network.inputs] == ["b", "a"]
    found = network.evaluate([np.ones((1, 3)), np.full((1, 3), 5.0)])["y"]
    np.testing.assert_array_equal(found, [[4.0] * 3])
    with pytest.raises(ModelError, match="y cannot be computed from 'a' alone"):
        qemu_nn.load(tmp_path / "m.h5", input="a")


def test_a_layer_that_depends_on_itself_is_refused(tmp_path):
    model = branches()
    model["layers"][-1]["inbound"] = ["sum"]
    with pytest.raises(ModelError, match="depends on itself"):
        qemu_nn.load(kf.write_h5(tmp_path / "m.h5", model))


# ---- hostile files ----


def small(tmp_path, name):
    model = kf.sequential(
        kf.layer("Dense", "d", [np.eye(3), np.zeros(3)], batch_input_shape=[None, 3])
    )
    return (kf.write_h5 if name.endswith("h5") else kf.write_keras)(tmp_path / name, model)


def test_weights_alone_are_no_model(tmp_path):
    path = tmp_path / "w.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=[1.0])
    with pytest.raises(ModelError, match="no description of a model"):
        qemu_nn.load(path)


def test_arrays_are_read_from_the_file_itself_and_only_if_they_are_there(tmp_path):
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file.create_dataset("x", data=np.eye(3))
    path = small(tmp_path, "m.h5")

    def replaced(make):
        with h5py.File(path, "r+") as file:
            group = file["model_weights/d/d"]
            del group["w0:0"]
            make(group)

    replaced(lambda group: group.__setitem__("w0:0", h5py.ExternalLink(str(other), "x")))
    with pytest.raises(ModelError, match="has no"):
        qemu_nn.load(path)
    replaced(lambda group: group.create_dataset("w0:0", (50_000, 50_000), "f4"))
    with pytest.raises(ModelError, match="but its data does not fill it"):
        qemu_nn.load(path)
    replaced(lambda group: group.create_dataset("w0:0", (50_000, 50_000), "f4", chunks=(100, 100)))
    with pytest.raises(ModelError, match="but its data does not fill it"):
        qemu_nn.load(path)
    replaced(lambda group: group.create_dataset("w0:0", data=np.eye(3, dtype=np.int32)))
    with pytest.raises(ModelError, match="not a plain array of floats"):
        qemu_nn.load(path)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b" " * 300_000_000)
    with pytest.raises(ModelError, match="unpacks to"):
        qemu_nn.load(path)


REPLACEMENTS = (None, "x", -1, 10**12, 1e400, [], {}, ["a"], {"class_name": "x"})


def places(value, path=()):
    """Yield the path of every entry of a JSON value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield (*path, key)
        if isinstance(entry, (dict, list)):
            yield from places(entry, (*path, key))


def changed(value, path, replacement):
    """Return a copy of a JSON value with another entry; without the entry if that is ...."""
    copied = entry = json.loads(json.dumps(value))
    for key in path[:-1]:
        entry = entry[key]
    if replacement is ...:
        del entry[path[-1]]
    else:
        entry[path[-1]] = replacement
    return copied


@pytest.mark.parametrize("style", [2, 3])
def test_any_other_entry_of_a_configuration_is_a_network_or_a_sentence(style):
    model = kf.functional(
        kf.layer("InputLayer", "in", batch_shape=[None, 4, 4, 2]),
        kf.layer("Conv2D", "c", [normal(3, 3, 2, 2), normal(2)], ["in"], padding="same"),
        kf.layer("Activation", "a", [], ["c"], activation="relu"),
        kf.layer("GlobalAveragePooling2D", "f", [], ["a"]),
        kf.layer("Dense", "d", [normal(2, 3), normal(3)], ["f"], activation="softmax"),
        inputs=["in"],
        outputs=["d"],
    )
    arrays = {each["name"]: each["weights"] for each in kf.every(model)}
    good, read, refused = kf.described(model, style), 0, 0
    for path in places(good):
        for replacement in (..., *REPLACEMENTS):
            stored = SimpleNamespace(
                config=changed(good, path, replacement),
                arrays=lambda name, *_: arrays.get(name, []),
                version="",
            )
            try:
                build("net", stored)
                read += 1
            except ModelError:
                refused += 1
    assert read > 100
    assert refused > 100


def test_a_layer_without_a_class_is_named(tmp_path):
    path = small(tmp_path, "m.h5")
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        del config["config"]["layers"][0]["class_name"]
        file.attrs["model_config"] = json.dumps(config)
    with pytest.raises(ModelError, match="m: layer 'd' has no class_name"):
        qemu_nn.load(path)
