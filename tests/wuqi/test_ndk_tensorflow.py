"""Frozen graphs in the NPU's kit: the manual's LeNet comes out with its layers and its names."""

import numpy as np
from tensorflow_files import const, graph, load, node, placeholder

import qemu_nn.ndk as ndk
from qemu_nn.ndk.quant_tools.numpy_net import run_layers

RNG = np.random.default_rng(29)


def weights(*shape):
    return RNG.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))


def block(scope, source, shape):
    """Convolution, bias, rectifier and pooling, as chapter 9.2 of the manual writes them."""
    window = {"strides": [1, 2, 2, 1], "ksize": [1, 2, 2, 1], "padding": "VALID"}
    return [
        const(f"{scope}/weight", weights(*shape)),
        const(f"{scope}/bias", weights(shape[-1])),
        node(
            *(f"{scope}/conv", "Conv2D", f"{source} {scope}/weight"),
            **{"strides": [1, 1, 1, 1], "padding": "VALID"},
        ),
        node(f"{scope}/conv_out", "BiasAdd", f"{scope}/conv {scope}/bias"),
        node(f"{scope}/relu", "Relu", f"{scope}/conv_out"),
        node(f"{scope}/max_pool", "MaxPool", f"{scope}/relu", **window),
    ]


def dense(scope, source, shape, end):
    """Return a product, a sum, and an identity that names it."""
    return [
        const(f"{scope}/weight", weights(*shape)),
        const(f"{scope}/bias", weights(shape[-1])),
        node(f"{scope}/dense", "MatMul", f"{source} {scope}/weight"),
        node(f"{scope}/add", "Add", f"{scope}/dense {scope}/bias"),
        node(end, "Identity", f"{scope}/add"),
    ]


def lenet5():
    return [
        placeholder(-1, 32, 32, 1, name="net_input"),
        *block("conv1", "net_input", (5, 5, 1, 6)),
        *block("conv2", "conv1/max_pool", (5, 5, 6, 16)),
        const("flat", np.array([-1, 400])),
        node("Reshape", "Reshape", "conv2/max_pool flat"),
        *dense("fc1", "Reshape", (400, 120), "fc1/fc_out"),
        node("fc1/relu", "Relu", "fc1/fc_out"),
        *dense("fc2", "fc1/relu", (120, 84), "fc2/fc_out"),
        node("fc2/relu", "Relu", "fc2/fc_out"),
        *dense("fc3", "fc2/relu", (84, 10), "net_output"),
    ]


LAYERS = (
    "net_input conv1/conv conv1/relu conv1/max_pool conv2/conv conv2/relu conv2/max_pool fc1/dense "
    "fc1/relu fc2/dense fc2/relu fc3/dense"
)
TENSORS = (
    "net_input:0 conv1/conv_out:0 conv1/relu:0 conv1/max_pool:0 conv2/conv_out:0 conv2/relu:0 "
    "conv2/max_pool:0 fc1/fc_out:0 fc1/relu:0 fc2/fc_out:0 fc2/relu:0 net_output:0 "
    "conv1/conv_weight conv1/conv_bias conv2/conv_weight conv2/conv_bias fc1/dense_weight "
    "fc1/dense_bias fc2/dense_weight fc2/dense_bias fc3/dense_weight fc3/dense_bias"
)


def test_the_manual_s_lenet_has_its_12_layers_and_their_names(tmp_path):
    (tmp_path / "lenet.pb").write_bytes(graph(*lenet5()))
    layers, params = ndk.tensorflow_interface.load_from_pb(tmp_path / "lenet.pb")
    assert ndk.layers.get_layer_name_list(layers) == LAYERS.split()
    assert ndk.layers.get_tensor_name_list(layers) == TENSORS.split()
    assert set(params) == set(TENSORS.split()[12:])
    merged, _ = ndk.optimize.merge_layers(layers, params)
    assert list(map(repr, merged)) == list(map(repr, layers))


def test_it_computes_what_the_file_does_and_survives_its_own_files(tmp_path):
    network = load(tmp_path, *lenet5())
    layers, params = ndk.tensorflow_interface.load_from_pb(tmp_path / "net.pb")
    x = RNG.normal(size=(2, 1, 32, 32))
    found = run_layers(x, layers, ["conv1/conv_out:0", "net_output:0"], params)
    traced = network.evaluate(np.moveaxis(x, 1, -1), trace=True)
    np.testing.assert_allclose(
        np.moveaxis(found["conv1/conv_out:0"], 1, -1), traced["conv1/conv_out"], atol=1e-9
    )
    np.testing.assert_allclose(found["net_output:0"][:, :, 0, 0], traced["net_output"], atol=1e-9)
    fixed, numbers = ndk.quantize.quantize_model(layers, params, 8, iter([{"input": x}]))
    ndk.modelpack.save_to_file(fixed, tmp_path / "q.prototxt", numbers, tmp_path / "q.npz")
    ndk.modelpack.modelpack_from_file(
        8, tmp_path / "q.prototxt", tmp_path / "q.npz", tmp_path / "out", "lenet5"
    )
    _, packed, _ = ndk.modelpack.load_pack(tmp_path / "out" / "lenet5.bin")
    assert ndk.layers.get_layer_name_list(packed) == LAYERS.split()


def test_a_tensor_that_others_read_too_keeps_its_name_and_its_bias(tmp_path):
    nodes = [
        placeholder(-1, 3),
        const("w", weights(3, 3)),
        const("b", weights(3)),
        node("product", "MatMul", "x w"),
        node("sum", "Add", "product b"),
        node("same", "Identity", "sum"),
        node("both", "Add", "product same"),
        node("all", "Add", "both sum"),
    ]
    network = load(tmp_path, *nodes)
    layers, params = ndk.tensorflow_interface.load_from_pb(tmp_path / "net.pb")
    assert [layer.type for layer in layers[1:]] == ["InnerProduct", "Scale", "Eltwise", "Eltwise"]
    names = ndk.layers.get_tensor_name_list(layers, feature_only=True)
    assert names == ["x:0", "product:0", "sum:0", "both:0", "all:0"]
    x = RNG.normal(size=(4, 3))
    got = run_layers(x[:, :, None, None], layers, ["all:0"], params)["all:0"]
    np.testing.assert_allclose(got[:, :, 0, 0], network.evaluate(x)["all"], atol=1e-9)
