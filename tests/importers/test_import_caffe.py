"""Caffe networks: real files whole, the TEST net and its names, refusals that say why."""

import sys

import numpy as np
import pytest
from caffe_files import BODY, TRAINED, data, layer, load, saved, saved_h5
from paths import SHARED

import qemu_nn
from qemu_nn.errors import Error, ModelError

MODELS = SHARED / "models_float"
CIFAR, BLOCKS = MODELS / "caffe_cifar10_m4", MODELS / "caffe_blocks"
published = pytest.mark.skipif(
    not CIFAR.is_dir(), reason=f"the published models are not in {CIFAR}"
)


def held_to(network, golden, only=("layer.", "final."), skipped=()):
    """Check that the network computes every recorded array."""
    computed = network.evaluate(golden["x"], trace=True)
    for key in [key for key in golden if key.startswith(only) and key not in skipped]:
        kind, _, name = key.partition(".")
        rows = golden["layer_idx"] if kind == "layer" else slice(None)
        error = np.abs(computed[name][rows] - golden[key]).max() / np.abs(golden[key]).max()
        assert error <= {"layer": 1e-4, "final": 1e-5}[kind], f"{key} differs by {error:.1e}"


@published
def test_the_published_blocks_are_what_was_recorded():
    network = qemu_nn.load(BLOCKS / "blocks.prototxt", weights=BLOCKS / "blocks.caffemodel")
    held_to(network, dict(np.load(BLOCKS / "golden.npz")))
    assert network.graph.outputs == ("prob",)
    assert network.graph.layout == "NCHW"


FLOAT = ("cifar10_m4_iter_70000.caffemodel.h5", "legacy_v1_float.caffemodel")
QUANTIZED = "quantized_cifar10_m4_iter_70000.caffemodel"


@published
@pytest.mark.parametrize("weights", [*FLOAT, QUANTIZED])
@pytest.mark.parametrize("text", ["cifar10_m4_train_test.prototxt", "legacy_v1_deploy.prototxt"])
def test_the_published_cifar10_is_what_was_recorded(text, weights):
    network = qemu_nn.load(CIFAR / text, weights=CIFAR / weights)
    golden = dict(np.load(CIFAR / "golden.npz"))
    golden["final.prob"] = golden.pop("final.softmax")
    without = {key for key in golden if "@" in key or (text.startswith("cifar") and "prob" in key)}
    if weights == QUANTIZED:
        golden = {k: golden[k] for k in ("x", "layer_idx", "final.ip1@quantized_weights")}
        golden["final.ip1"], without = golden.pop("final.ip1@quantized_weights"), ()
    held_to(network, golden, skipped=without)
    assert network.graph.shape == (3, 32, 32)


TRAIN_TEST = (
    layer("data", "Data", "include { phase: TRAIN }", "", "image label")
    + layer("data", "Data", "include { phase: TEST }", "", "data label")
    + layer("noise", "Dropout", "exclude { phase: TEST }", top="data")
    + layer("blur", "LRN", "include { phase: TRAIN }", top="data")
    + layer("label_split", "Split", "", "label", "label_0 label_1")
    + layer("one_hot", "Flatten", "", "label_0")
    + BODY
    + layer("ip_split", "Split", "", "ip", "ip_0 ip_1")
    + layer("accuracy", "Accuracy", "include { phase: TEST }", "ip_0 label_0")
    + layer("loss", "SoftmaxWithLoss", "", "ip_1 label_1")
)


def test_tensors_have_the_names_of_layers_and_blobs_hold_what_was_written_last(tmp_path):
    network = load(tmp_path, data(3, 8, 8) + BODY, TRAINED)
    y = network.evaluate(-np.ones((1, 3, 8, 8)), trace=True)
    assert y["conv"].min() < 0 == y["relu"].min()
    assert y["pool"].max() == 0
    assert list(y) == ["data", "conv", "relu", "pool", "drop", "ip/flatten", "ip"]


def test_the_test_net_is_read_and_ends_where_training_begins(tmp_path):
    graph = load(tmp_path, TRAIN_TEST, TRAINED).graph
    assert graph.input == "data"
    assert graph.outputs == ("ip",)
    assert not {"noise", "blur", "one_hot"} & set(graph.shapes)


def test_the_size_of_images_in_a_data_base_is_what_the_inner_product_asks_for(tmp_path):
    assert load(tmp_path, TRAIN_TEST, TRAINED).graph.shape == (
        3,
        8,
        8,
    )  # and not 7 x 7, which rounds to it
    crop = TRAIN_TEST.replace("phase: TEST }", "phase: TEST } transform_param { crop_size: 7 }", 1)
    assert load(tmp_path, crop, TRAINED).graph.shape == (3, 7, 7)
    with pytest.raises(ModelError, match=r"no square .* fits .*ip.*put an Input layer"):
        load(tmp_path, TRAIN_TEST, {**TRAINED, "ip": [np.ones((4, 3)), np.zeros(4)]})
    with pytest.raises(ModelError, match=r"the files do not tell the shape .*put an Input layer"):
        load(tmp_path, TRAIN_TEST, TRAINED, output="drop")
    anywhere = TRAIN_TEST.replace("kernel_size: 2 stride: 2", "global_pooling: true")
    with pytest.raises(ModelError, match=r"the files do not tell the shape .*put an Input layer"):
        load(tmp_path, anywhere, {**TRAINED, "ip": [np.ones((4, 2)), np.zeros(4)]})


def test_the_older_form_says_the_same(tmp_path):
    older = (
        (data(3, 8, 8) + BODY)
        .replace("layer {", "layers {")
        .replace('"Convolution"', "CONVOLUTION")
        .replace('"ReLU"', "18")
        .replace('"Pooling"', "POOLING")
        .replace('"Dropout"', "DROPOUT")
        .replace('"InnerProduct"', "INNER_PRODUCT")
    )
    older = older[older.index('layers { name: "conv"') :]
    x = np.random.default_rng(1).normal(size=(2, 3, 8, 8))
    expected = load(tmp_path, data(3, 8, 8) + BODY, TRAINED).evaluate(x)["ip"]
    declared = 'input: "data" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8 '
    for text in (older + declared, declared + BODY):
        for weights in (saved(TRAINED, old=True), saved(TRAINED), saved_h5(TRAINED)):
            np.testing.assert_array_equal(load(tmp_path, text, weights).evaluate(x)["ip"], expected)
    loss = 'layers { name: "loss" type: SOFTMAX_LOSS bottom: "ip" bottom: "ip" top: "loss" }'
    assert load(tmp_path, declared + older + loss, TRAINED).graph.outputs == ("ip",)


def test_a_part_is_cut_out_by_layers_or_blobs(tmp_path):
    whole, x = load(tmp_path, data(3, 8, 8) + BODY, TRAINED), np.ones((1, 3, 8, 8))
    y = whole.evaluate(x, trace=True)
    for start, end, first, last in [
        ("data", "relu", "data", "relu"),
        ("conv", "pool", "conv", "pool"),  # "conv" is a layer first, then a blob
        ("relu", None, "relu", "ip"),
        (None, "ip", "data", "ip"),
    ]:
        part = load(tmp_path, data(3, 8, 8) + BODY, TRAINED, input=start, output=end)
        assert (part.graph.input, part.graph.outputs) == (first, (last,))
        np.testing.assert_array_equal(part.evaluate(y[first])[last], y[last])
    for choice, message in [
        ({"input": "nowhere"}, r"no layer or blob 'nowhere' is computed; have: data, conv, pool"),
        ({"input": "ip", "output": "conv"}, "the output does not depend on 'ip'"),
        ({"input": "ip", "output": "ip"}, "no layers between"),
    ]:
        with pytest.raises(ModelError, match=message):
            load(tmp_path, data(3, 8, 8) + BODY, TRAINED, **choice)


def test_what_is_not_needed_is_not_asked_for(tmp_path):
    text = data(3, 8, 8) + BODY + layer("norm", "LRN", "", "ip")
    assert load(tmp_path, text, TRAINED, output="ip").graph.outputs == ("ip",)


def test_names_with_strokes_are_found_in_hdf5(tmp_path):
    text = data(2) + layer("a/b", "Scale") + layer("a", "Scale", "", "a/b")
    network = load(tmp_path, text, saved_h5({"a": [[2, 3]], "a/b": [[5, 7]]}))
    np.testing.assert_array_equal(network.evaluate(np.ones((1, 2)))["a"], [[10, 21]])


REFUSED = [
    (layer("norm1", "LRN"), "layer 'norm1' of type LRN: this type is not supported; have: AbsVal"),
    (layer("y", "Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }"), "stochastic"),
    (layer("y", "BatchNorm", "batch_norm_param { use_global_stats: false }"), "its own mean"),
    (layer("y", "Exp", "exp_param { base: -3 }"), "its base is -3; it must be -1 for e"),
    (layer("y", "MVN", "mvn_param { normalize_variance: false }"), "subtracts the mean alone"),
    (layer("y", "ArgMax"), "only the index of one maximum along an axis"),
    (layer("y", "Reduction", "reduction_param { axis: 1 operation: ASUM }"), "only SUM and MEAN"),
    (layer("y", "Tile", "tile_param { tiles: 0 }"), "its tiles are 0"),
    (layer("y", "Power", "power_param { scale: nan }"), "nan is not a finite number"),
    (layer("y", "Scale"), r"weights are 0 arrays; it needs 1"),
    (layer("y", "Scale", "", "data data"), "it reads 2 blobs; only one is supported"),
    (
        layer("y", "Convolution", "convolution_param { pad: 99999 kernel_size: 1 }"),
        "its weights are 0 arrays",
    ),
    (layer("y", "Pooling", "pooling_param { stride: 99999 kernel_size: 1 }"), "99999, more than"),
    (layer("y", "Pooling"), "its kernel_size is missing"),
    (layer("y", "Flatten", "flatten_param { axis: 4 }"), "axis 4"),
    (layer("y", "Slice", "slice_param { slice_point: 1 }", top="a b c"), "3 tops for 3 el"),
    (layer("y", "ReLU", "", "nothing"), "reads the blob 'nothing', which no earlier layer"),
    (layer("z", "ReLU", "", "y") + layer("y", "ReLU"), "'z' reads the blob 'y'"),
    (layer("y", "ReLU") + layer("y", "ReLU", "", "y"), "two layers of the TEST net are called 'y'"),
    (layer("b", "Input", "", "") + layer("y", "Concat", "", "data b"), "inputs 'data', 'b'; only"),
    ('layers { layer { name: "y" type: "relu" } }', "mixes 'layer' and 'layers'"),
    (layer("y", "ReLU") + "}", "not a Caffe network: 1:"),
    ("a {" * 9999, "nested too deeply"),
    ("", "no layers between"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, text, message):
    with pytest.raises(ModelError, match=message) as caught:
        load(tmp_path, data(3, 4, 4) + text)
    assert "net.prototxt" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_network_without_weights_says_what_is_missing(tmp_path):
    (tmp_path / "net.prototxt").write_text(data(3, 8, 8) + BODY)
    with pytest.raises(Error, match="without its weights; give the"):
        qemu_nn.load(tmp_path / "net.prototxt")


def test_a_missing_library_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    weights = saved_h5(TRAINED)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(Error, match=r"needs h5py, .* pip install '\.\[caffe\]'"):
        load(tmp_path, data(3, 8, 8) + BODY, weights)
