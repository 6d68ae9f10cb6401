"""Float networks of any file as the NPU's layers: they compute what the network computes."""

import numpy as np
import pytest
from paths import SHARED
from published_float_models import FLOAT, loaded

import qemu_nn.ndk as ndk
from qemu_nn.errors import DeviceWarning, ModelError
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ndk.quant_tools.numpy_net import run_layers
from qemu_nn.operators import (
    Affine,
    Concat,
    Conv,
    Dense,
    Elementwise,
    Pool,
    PRelu,
    Relu,
    Reshape,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
)
from qemu_nn.runtime.evaluate import evaluate
from qemu_nn.wuqi.from_float import from_float

RNG = np.random.default_rng(12)


def normal(*shape):
    return RNG.normal(size=shape)


def chain(shape, layout, *operators):
    names = ["x", *(f"n{i}" for i in range(len(operators)))]
    nodes = tuple(FloatNode(n, o, (s,)) for n, o, s in zip(names[1:], operators, names))
    return FloatGraph("net", "x", shape, layout, nodes, (names[-1],))


def converted(graph):
    """Return the layers of a network, after a comparison with it."""
    layers, params = from_float(graph)
    x = normal(3, *graph.shape)
    first = x[:, :, None, None] if x.ndim == 2 else x
    if graph.layout == "NHWC":
        first = np.moveaxis(x, -1, 1)
    if x.ndim == 2 and layers[0].dim[1] != x.shape[1]:
        first = x.reshape(3, *layers[0].dim[1:])
    got = run_layers(first, layers, list(graph.outputs), params)
    for name, expected in evaluate(graph, x).items():
        if expected.ndim == 4 and graph.layout != "NCHW":
            expected = np.moveaxis(expected, -1, 1)
        np.testing.assert_allclose(got[name].reshape(expected.shape), expected, atol=1e-9)
    return layers


def kinds(layers):
    return [layer.type for layer in layers[1:]]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_network_of_every_usual_kind(layout):
    shape = (3, 12, 10) if layout == "NCHW" else (12, 10, 3)
    layers = converted(
        chain(
            shape,
            layout,
            Conv(normal(8, 3, 3, 3), normal(8), (2, 2), (1, 0, 1, 2), layout=layout),
            Relu(0.25),
            Conv(normal(8, 3, 3, 1), pads=(1,) * 4, groups=8, layout=layout),
            Affine(normal(*((8, 1, 1) if layout == "NCHW" else (8,))), np.array(0.5)),
            Relu(limit=6.0),
            Pool("max", (3, 3), (2, 2), ceil=True, layout=layout),
            Shuffle(2, 0 if layout == "NCHW" else 2),
            Reshape((8 * 3 * 2,)),
            Dense(normal(6, 48), normal(6)),
            Tanh(),
            Dense(normal(4, 6)),
            Sigmoid(),
        )
    )
    expected = ["Convolution", "ReLU", "Convolution", "Scale", "ReLU6", "Pooling", "ShuffleChannel"]
    assert kinds(layers) == [*expected, "InnerProduct", "TanH", "InnerProduct", "Sigmoid"]


def test_padding_is_written_for_four_sides_and_cuts_what_no_window_reaches():
    conv = Conv(normal(4, 3, 3, 2), stride=(2, 2))
    (_, layer) = converted(chain((8, 7, 2), "NHWC", conv))
    assert layer.pad == (0, -1, 0, 0)
    assert ndk.layers.check_layers([_, layer]) is False


def test_a_global_pooling_is_split_into_poolings_that_the_hardware_has():
    layers = converted(chain((30, 20, 2), "NHWC", Pool("average", (30, 20)), Reshape((2,))))
    assert [layer.kernel_size for layer in layers[1:]] == [(5, 5), (6, 4)]
    assert ndk.layers.check_layers(layers) is False
    with pytest.raises(ModelError, match="Pool 'n0': a global pooling of 31 x 17 cannot be split"):
        from_float(chain((31, 17, 2), "NHWC", Pool("max", (31, 17))))


def test_slices_of_a_tensor_are_one_layer_and_branches_meet():
    nodes = (
        FloatNode("conv", Conv(normal(6, 1, 1, 3)), ("x",)),
        FloatNode("low", Slice(2, 0, 2), ("conv",)),
        FloatNode("high", Slice(2, 4, 6), ("conv",)),
        FloatNode("sum", Elementwise("add"), ("low", "high")),
        FloatNode("both", Concat(2), ("sum", "low")),
        FloatNode("mean", Pool("average", (4, 4)), ("both",)),
        FloatNode("gate", Sigmoid(), ("mean",)),
        FloatNode("scaled", Elementwise("multiply"), ("both", "gate")),
    )
    layers = converted(FloatGraph("net", "x", (4, 4, 3), "NHWC", nodes, ("scaled",)))
    cut = layers[2]
    assert (cut.type, cut.slice_point, cut.top[0], cut.top[2]) == ("Slice", [2, 4], "low", "high")
    assert kinds(layers)[2:] == ["Eltwise", "Concat", "Pooling", "Sigmoid", "ScaleByTensor"]


def test_a_vector_that_becomes_an_image_first_is_an_image():
    graph = chain((20,), None, Reshape((5, 4, 1)), Conv(normal(2, 3, 3, 1)), Relu())
    layers = converted(graph)
    assert layers[0].dim == (1, 1, 5, 4)


def test_a_softmax_at_the_end_stays_with_a_warning():
    graph = chain((5,), None, Dense(normal(3, 5)), Softmax())
    with pytest.warns(DeviceWarning, match="n1: in fixed point the softmax becomes a LogSoftmax"):
        layers, params = from_float(graph)
    x = normal(2, 5)
    assert layers[-1].type == "Softmax"
    got = run_layers(x[:, :, None, None], layers, ["n1"], params)["n1"]
    np.testing.assert_allclose(got[:, :, 0, 0], evaluate(graph, x)["n1"])


@pytest.mark.parametrize(
    ("operators", "reason"),
    [
        ((PRelu(np.array(0.1)),), "PRelu 'n0': the NPU has no layer for it"),
        ((Relu(limit=2.0),), "clamps at 2.0"),
        ((Softmax(2), Relu()), "only at the end of a network"),
        (
            (Pool("average", (2, 2), pads=(1, 1, 1, 1), count_pads=True),),
            "it counts padding in averages",
        ),
        ((Affine(normal(4, 4, 2), np.array(0.0)),), "it scales single elements"),
        ((Slice(0, 1, 2),), "the NPU slices channels"),
        ((Reshape((2, 4, 4)), Relu()), "for which the NPU has no layer"),
    ],
)
def test_what_the_npu_has_no_layer_for_is_refused_by_name(operators, reason):
    with pytest.raises(ModelError, match=reason):
        from_float(chain((4, 4, 2), "NHWC", *operators))


FITS = [
    "caffe_cifar10_m4/cifar10_m4_train_test.prototxt",
    "tf_kws_cnn_s/CNN_S.pb",
    "keras_ds_cnn/ds_cnn.h5",
    "keras_mlperf_resnet8/pretrainedResnet_weights_only.h5",
    "onnx_ds_cnn/ds_cnn.onnx",
    "onnx_lenet5_digits/lenet5.onnx",
    "onnx_se_block/se_block.onnx",
    "onnx_shuffle/shuffle.onnx",
]


@pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")
@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
@pytest.mark.parametrize("name", FITS)
def test_published_networks_compute_the_same_as_layers(name):
    network, x = loaded(name)
    layers, params = from_float(network.graph)
    shape = layers[0].dim[1:]
    first = x if network.graph.layout == "NCHW" or x.ndim < 4 else np.moveaxis(x, -1, 1)
    (output,) = network.graph.outputs
    got = run_layers(first.reshape(len(x), *shape), layers, [output], params)[output]
    expected = network.evaluate(x.astype(np.float64))[output]
    np.testing.assert_allclose(got.reshape(expected.shape), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")
@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
def test_the_kit_s_own_names_read_every_format():
    cifar, keras = FLOAT / "caffe_cifar10_m4", FLOAT / "keras_ds_cnn"
    text, weights = cifar / "legacy_v1_deploy.prototxt", cifar / "legacy_v1_float.caffemodel"
    found = [
        ndk.caffe_interface.load_from_caffemodel(text, weights),
        ndk.onnx_interface.load_from_onnx(FLOAT / "onnx_lenet5_digits" / "lenet5.onnx"),
        ndk.tensorflow_interface.load_from_pb(keras / "ds_cnn_frozen.pb"),
        ndk.tensorflow_interface.load_from_hdf5(keras / "ds_cnn.h5"),
    ]
    for layers, params in found:
        assert layers[0].type == "Input"
        names = ndk.layers.get_tensor_name_list(layers)
        assert set(params) <= set(names)
    assert SHARED.is_dir()
