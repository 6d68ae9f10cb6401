"""Prediction from floats to float scores: run() between the two steps of the host."""

import json
import pickle
import threading
import zipfile
from dataclasses import replace

import affine_networks
import float_classifiers
import ndk_networks
import numpy as np
import pytest
from flat_options import grouped
from float_classifiers import classifier, data
from networks import classifier as q7_classifier
from networks import recurrent

import qemu_nn
from qemu_nn import Error, ModelError, Preprocessing
from qemu_nn.api.golden import FloatNetwork, Network
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ndk.quant_tools.numpy_net import build_numpy_layers, run_layers
from qemu_nn.operators import Conv, Identity
from qemu_nn.qnz.package import model_hash
from qemu_nn.runtime.host import Host
from qemu_nn.runtime.session import Session
from qemu_nn.targets import NPU

pytestmark = pytest.mark.caps

RNG = np.random.default_rng(5)


def quantized(**options):
    return qemu_nn.quantize(classifier(), data(), **grouped(**options))


#: Kind of network -> the network, and samples of it, channels last.
KINDS = {
    "q7": lambda: (Network(q7_classifier()), RNG.normal(size=(6, 8, 8, 2)) / 2),
    "memory": lambda: (Network(q7_classifier(memory=True)), RNG.normal(size=(6, 8, 8, 2)) / 2),
    "affine": lambda: (Network(affine_networks.small()), RNG.random((6, 9, 8, 3))),
    "power2": lambda: (quantized(), np.moveaxis(data(6), 1, -1)),
    "16 bits": lambda: (quantized(bits=16), np.moveaxis(data(6), 1, -1)),
    "s8": lambda: (quantized(scheme="affine"), np.moveaxis(data(6), 1, -1)),
    "without softmax": lambda: (quantized(softmax=False), np.moveaxis(data(6), 1, -1)),
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return KINDS[request.param]()


def test_predict_is_run_between_codes_and_scores(kind):
    network, x = kind
    session, host = network.session(target="cortex-m7"), network.host
    (want,) = host.scores(session.run(host.codes(x))).values()
    np.testing.assert_array_equal(session.predict(x), want)
    np.testing.assert_array_equal(network.predict(x, target="cortex-m7"), want)
    assert want.dtype == np.float64
    assert len(want) == len(x)
    assert np.abs(want - want[0]).max() > 0  # the samples differ


def test_channels_may_stand_first_and_a_sample_may_be_alone(kind):
    network, x = kind
    want, first = network.predict(x), np.ascontiguousarray(np.moveaxis(x, -1, 1))
    np.testing.assert_array_equal(network.predict(first), want)
    np.testing.assert_array_equal(network.predict(first, layout="NCHW"), want)
    np.testing.assert_array_equal(network.predict(x, layout="NHWC"), want)
    np.testing.assert_array_equal(network.predict(x[2]), want[2])
    np.testing.assert_array_equal(network.predict(first[2]), want[2])
    np.testing.assert_array_equal(network.predict(x[:, np.newaxis]), want)
    np.testing.assert_array_equal(network.predict(x.tolist()), want)
    assert len(network.predict(x[:0])) == 0
    with pytest.raises(Error, match=r"the network takes samples .* but the input has the shape"):
        network.predict(first, layout="NHWC")


def test_codes_are_what_the_format_says(kind):
    network, x = kind
    tensor, codes = network.graph.input, network.host.codes(x)
    assert (codes.dtype, codes.shape[1:]) == (tensor.dtype, tensor.shape)
    real = x.astype(np.float32)
    if tensor.name == "centred":
        offset = float_classifiers.OFFSET.ravel()
        real = ((x - offset) * float_classifiers.SCALE).astype(np.float32)
    np.testing.assert_allclose(
        tensor.format.dequantize(codes),
        np.clip(real, *tensor.format.ends),
        atol=tensor.format.scale * 0.51,
    )
    np.testing.assert_array_equal(network.host.codes(codes), codes)  # they are codes already
    np.testing.assert_array_equal(network.predict(codes), network.predict(x))


def test_hosts_and_sessions_pickle(kind):
    network, x = kind
    want = network.predict(x)
    twin = pickle.loads(pickle.dumps(network.host))
    np.testing.assert_array_equal(twin.codes(x), network.host.codes(x))
    session = pickle.loads(pickle.dumps(network.session()))
    np.testing.assert_array_equal(session.predict(x), want)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(network)).predict(x), want)


def test_threads_share_a_session(kind):
    network, x = kind
    session, want, got = network.session(), network.predict(x), [None] * 4

    def work(i):
        got[i] = [session.predict(x) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for results in got:
        np.testing.assert_array_equal(results, [want] * 5)


@pytest.mark.parametrize(
    ("options", "net", "far"),
    [
        ({}, classifier(softmax=False), 0.2),
        ({"bits": 16}, classifier(softmax=False), 0.002),
        ({"scheme": "affine"}, classifier(), 0.1),
        ({"softmax": False}, classifier(reshaped=False), 0.1),
        ({}, classifier(log=True, reshaped=False), 0.2),
    ],
)
def test_a_quantized_network_predicts_what_the_float_one_does(options, net, far):
    """Check a network that leaves its normalization, its reshaped output and its softmax to the
    host.
    """
    x = data(50)
    network, want = qemu_nn.quantize(net, x, **grouped(**options)), net.predict(x)
    assert network.graph.input.name == "centred"
    np.testing.assert_array_equal(want, net.evaluate(x)[net.graph.outputs[0]])
    got = network.predict(x)
    assert got.shape == want.shape == (50, *net.graph.shapes[net.graph.outputs[0]])
    assert np.abs(got - want).max() < far
    np.testing.assert_array_equal(network.host.reals(x), np.moveaxis(x, 1, -1))


def test_what_the_device_leaves_out_is_computed():
    network = qemu_nn.quantize(classifier(log=True, reshaped=False), data(), scheme="power2")
    assert network.graph.outputs == ("dense",)
    np.testing.assert_allclose(np.exp(network.predict(data(9))).sum(1), 1)
    (scores,) = network.host.scores(network.session().run(network.host.codes(data(2)))).items()
    assert scores[0] == "prob"


def test_two_outputs_come_by_name():
    net = classifier(reshaped=False)
    graph = replace(net.graph, outputs=("dense", "prob"))
    network = qemu_nn.quantize(
        FloatNetwork(graph), data(), scheme="power2", options={"softmax": False}
    )
    got, want = network.predict(data(7)), FloatNetwork(graph).predict(data(7))
    assert network.graph.outputs == ("dense",)
    assert list(got) == list(want) == ["dense", "prob"]
    np.testing.assert_allclose(got["prob"], want["prob"], atol=0.1)
    assert network.predict(data(1)[0])["prob"].shape == (5,)


def test_a_float_network_takes_both_layouts_and_names():
    net, x = classifier(), data(3)
    want = net.evaluate(x)["scores"]
    np.testing.assert_array_equal(net.predict(np.moveaxis(x, 1, -1)), want)
    np.testing.assert_allclose(net.predict({"x": x[1]}), want[1], rtol=1e-5)
    np.testing.assert_array_equal(quantized().predict({"x": x}), quantized().predict(x))
    with pytest.raises(Error, match="sample 1 of the input contains NaN"):
        net.predict(np.where(np.arange(3)[:, None, None, None] == 1, np.nan, x))


def test_a_cube_needs_a_layout():
    weights = RNG.normal(size=(2, 1, 1, 3))
    nodes = (FloatNode("y", Conv(weights, layout="NCHW"), ("x",)),)
    net = FloatNetwork(FloatGraph("cube", "x", (3, 3, 3), "NCHW", nodes, ("y",)))
    x = RNG.normal(size=(20, 3, 3, 3)).astype(np.float32)
    network, last = (
        qemu_nn.quantize(net, qemu_nn.Dataset(x, layout="NCHW"), scheme="power2"),
        np.moveaxis(x, 1, -1),
    )
    np.testing.assert_array_equal(net.predict(x), net.evaluate(x)["y"])  # the layout of its file
    made = np.moveaxis(net.evaluate(x)["y"], 1, -1)
    np.testing.assert_array_equal(net.predict(last, layout="NHWC"), made)
    with pytest.raises(Error, match=r"\[20, 3, 3, 3\] fits the network as NHWC and as NCHW: give"):
        network.predict(x)
    want = network.predict(x, layout="NCHW")
    np.testing.assert_array_equal(network.predict(last, layout="NHWC"), np.moveaxis(want, 1, -1))
    named = replace(network, preprocessing=Preprocessing(layout="NCHW"))
    np.testing.assert_array_equal(named.predict(x), want)
    alone = Network(network.graph)  # as a .tflite file has it
    np.testing.assert_array_equal(alone.predict(last), np.moveaxis(want, 1, -1))


def test_a_channel_of_one_may_be_missing():
    weights = RNG.normal(size=(2, 3, 3, 1))
    nodes = (FloatNode("y", Conv(weights), ("x",)),)
    net = FloatNetwork(FloatGraph("grey", "x", (6, 5, 1), "NHWC", nodes, ("y",)))
    x = RNG.normal(size=(4, 6, 5, 1)).astype(np.float32)
    for network in (net, qemu_nn.quantize(net, x, scheme="power2")):
        want = network.predict(x)
        np.testing.assert_array_equal(network.predict(x[..., 0]), want)
        np.testing.assert_array_equal(network.predict(x[0, ..., 0]), want[0])
        np.testing.assert_array_equal(network.predict(x[:1, ..., 0], layout="NHWC"), want[:1])
        assert network.predict(x[:1, ..., 0]).shape == want[0].shape  # channels first, alone


def test_a_recurrent_network_takes_sequences():
    network = Network(recurrent())
    (tensor,), host = network.graph.inputs, network.host
    x = RNG.integers(-9999, 9999, (3, 4, *tensor.shape))
    want = network.predict(x)
    assert want.shape[:2] == (3, 4)
    np.testing.assert_array_equal(network.predict(x[1]), want[1])
    (direct,) = host.scores(network.session().run(host.codes(x))).values()
    np.testing.assert_array_equal(want, direct)
    with pytest.raises(Error, match=r"a batch .N, T, .... of them of T time steps each"):
        network.predict(x[0, 0])


def test_the_npu_rounds_down_and_keeps_channels_first():
    layers, params = ndk_networks.everything(), ndk_networks.parameters(8)
    net = build_numpy_layers(layers, params)
    x = RNG.normal(size=(3, 3, 8, 8))
    want = run_layers(x, layers, ["y", "z"], numpy_layers=net)
    last = np.moveaxis(x, 1, -1)
    for given in (x, last, net.session.host.codes(last)):
        got = net.predict(given)
        assert set(got) == {"y", "z"}
        for name, values in want.items():
            np.testing.assert_array_equal(got[name], values)
    np.testing.assert_array_equal(net.predict(x[1])["y"], want["y"][1])
    session = Session(net.session.graph, NPU)
    np.testing.assert_array_equal(np.moveaxis(session.predict(last)["z"], -1, 1), want["z"])
    with pytest.raises(Error, match="sample 0 of the input contains NaN"):
        net.predict(x * np.nan)


def test_the_npus_float_network_predicts(tmp_path):
    layers = ndk_networks.everything()[:3]
    params = {"conv_weight": RNG.normal(size=(4, 3, 3, 3)), "conv_bias": RNG.normal(size=4)}
    net = build_numpy_layers(layers, params, quant=False)
    x = RNG.normal(size=(2, 3, 8, 8))
    want = run_layers(x, layers, ["r"], numpy_layers=net)["r"]
    np.testing.assert_array_equal(net.predict(np.moveaxis(x, 1, -1)), want)


def test_several_inputs_come_as_a_list_or_by_name(tmp_path):
    from tflite_states import STATES

    network = qemu_nn.load(STATES["three_inputs"]().save(tmp_path, "three.tflite"))
    session, graph = network.session(), network.graph
    x = [RNG.normal(size=(3, *tensor.shape)) for tensor in graph.inputs]
    named = {tensor.name: part for tensor, part in zip(graph.inputs, x)}
    codes = session.host.codes(x)
    assert {name: array.dtype.name for name, array in codes.items()} == {
        tensor.name: tensor.dtype for tensor in graph.inputs
    }
    wanted = session.host.scores(session.run(codes))
    for given in (x, named, codes):
        got = session.predict(given)
        got = got if isinstance(got, dict) else dict(zip(wanted, [got]))
        for name, values in wanted.items():
            np.testing.assert_array_equal(got[name], values)
    with pytest.raises(Error, match="some inputs are a single sample and some a batch"):
        session.predict([x[0][0], *x[1:]])
    with pytest.raises(Error, match="has 3 inputs, but this needs"):
        session.host.reals(x)
    with pytest.raises(Error, match="a preprocessing needs a network of one"):
        Network(graph, preprocessing=Preprocessing())


def test_arrays_of_other_libraries_are_read():
    network, x = Network(q7_classifier()), np.ones((2, 8, 8, 2), np.float32) / 3
    want = network.predict(x)

    class Array:
        def __array__(self, *args, **kwargs):
            return x

    class Capsule:
        __dlpack__, __dlpack_device__ = x.__dlpack__, x.__dlpack_device__

    np.testing.assert_array_equal(network.predict(Array()), want)
    np.testing.assert_array_equal(network.predict(Capsule()), want)
    np.testing.assert_array_equal(network.predict([x[0], x[1]]), want)


def test_tensors_with_gradients_on_other_devices_are_read_as_torch_has_them():
    network, x = Network(q7_classifier()), np.ones((2, 8, 8, 2), np.float32) / 3

    class Tensor:
        """The conversion of torch: only on the CPU and detached, a tensor of a known type becomes
        an array.
        """

        def __init__(self, left=("detach", "cpu", "float"), dtype="torch.bfloat16"):
            self.left, self.dtype = left, dtype

        def less(self, step):
            kept = tuple(each for each in self.left if each != step)
            return Tensor(kept, "torch.float32" if step == "float" else self.dtype)

        def detach(self):
            return self.less("detach")

        def cpu(self):
            return self.less("cpu")

        def float(self):
            return self.less("float")

        def numpy(self):
            if self.left:
                raise TypeError(f"cannot convert: call {self.left} first")
            return x

        def __array__(self, *args, **kwargs):
            return self.numpy()

    np.testing.assert_array_equal(network.predict(Tensor()), network.predict(x))
    with pytest.raises(Error, match="the input cannot be read as an array: cannot convert"):
        network.predict(Tensor(("moved",)))


def test_tensors_of_torch_are_read():
    torch = pytest.importorskip("torch", reason="makes tensors of torch")
    network, x = Network(q7_classifier()), np.ones((2, 8, 8, 2), np.float32) / 4
    want, tensor = network.predict(x), torch.from_numpy(x)
    np.testing.assert_array_equal(network.predict(tensor), want)
    np.testing.assert_array_equal(network.predict(tensor.requires_grad_()), want)
    np.testing.assert_array_equal(network.predict([tensor[0], tensor[1]]), want)
    np.testing.assert_array_equal(network.predict(tensor.detach().bfloat16()), want)
    np.testing.assert_array_equal(network.predict(tensor.detach().permute(0, 3, 1, 2)), want)


class Closed:
    """An array of a library that does not give it away."""

    def __array__(self, *_, **__):
        raise RuntimeError("it is closed")


@pytest.mark.parametrize(
    ("x", "told"),
    [
        (None, "the input must be an array, not None"),
        ("a", r"the input must be an array, not 'a': run\(\) and evaluate\(\) read files"),
        ([[1], [1, 2]], "its rows are of different lengths"),
        (Closed(), "must be an array, not .*: it is closed"),
        (np.array([object()]), "the input must be numbers"),
        (np.ones((1, 8, 8, 2), complex), "whose type is complex128"),
        ({"y": 1}, "the inputs given are 'y', but the network has 'data'"),
        (np.full((2, 8, 8, 2), np.nan), "sample 0 of the input contains NaN"),
        (np.full((2, 8, 8, 2), np.inf), "sample 0 of the input contains infinite numbers"),
        (np.ones((2, 7, 8, 2)), r"takes samples \[8, 8, 2\] \(NHWC\) or \[2, 8, 8\] \(NCHW\)"),
    ],
)
def test_what_is_no_input_is_refused(x, told):
    with pytest.raises(Error, match=told):
        Network(q7_classifier()).predict(x)


def test_layouts_and_types_are_checked():
    network = Network(q7_classifier())
    with pytest.raises(Error, match="no layout 'HWC'; have: NHWC, NCHW"):
        network.predict(np.ones((1, 8, 8, 2)), layout="HWC")
    with pytest.raises(Error, match="preprocessing must be a Preprocessing, not 'x'"):
        Network(q7_classifier(), preprocessing="x")
    with pytest.raises(Error, match="the outputs lack 'softmax': give what run"):
        network.host.scores({})


def test_integers_without_a_format_stand_for_themselves():
    graph = q7_classifier()
    plain = replace(graph, inputs=(replace(graph.input, frac=None),))
    network, x = Network(plain), RNG.integers(-128, 128, (2, 8, 8, 2))
    want = network.predict(x.astype(np.int8))
    np.testing.assert_array_equal(network.predict(x), want)
    np.testing.assert_array_equal(network.predict(x.astype(float)), want)
    for wrong in (x + 0.5, x + 300):
        with pytest.raises(Error, match="codes have no known scale; quantize the numbers yourself"):
            network.predict(wrong)


def test_a_reference_of_another_network_is_told():
    nodes = (FloatNode("other", Identity(), ("x",)),)
    stranger = FloatGraph("other", "x", (4,), None, nodes, ("other",))
    network = Network(q7_classifier(), stranger)
    with pytest.raises(Error, match="is of another network: quantize it again"):
        network.predict(np.ones((2, 4)))
    codes = np.zeros((2, 8, 8, 2), np.int8)
    with pytest.raises(Error, match="is of another network: quantize it again"):
        network.host.scores(network.session().run(codes))
    with pytest.raises(Error, match="which the host computes: give floats"):
        network.host.reals(codes)


# ---- preprocessing ----


def test_preprocessing_makes_real_numbers_of_pixels():
    steps = Preprocessing(scale=1 / 255, mean=(0.5, 0.25), std=(0.5, 2))
    pixels = RNG.integers(0, 256, (3, 4, 5, 2)).astype(np.uint8)
    want = (pixels / 255 - [0.5, 0.25]) / [0.5, 2]
    got = steps.apply(pixels)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
    first = np.moveaxis(pixels, -1, 1)
    np.testing.assert_array_equal(steps.apply(first, "NCHW"), np.moveaxis(got, -1, 1))
    np.testing.assert_array_equal(
        replace(steps, layout="NCHW").apply(first[0]), steps.apply(first[0], "NCHW")
    )
    assert steps.apply(pixels.astype(float)).dtype == np.float64


def test_a_network_with_preprocessing_takes_pixels_in_any_type():
    steps = Preprocessing(scale=1 / 32, mean=(4, 3), std=2, dtype="uint8")
    net = classifier(softmax=False)
    network = replace(qemu_nn.quantize(net, data(), scheme="power2"), preprocessing=steps)
    pixels = RNG.integers(0, 256, (5, 8, 6, 2)).astype(np.uint8)
    real = steps.apply(pixels)
    want = replace(network, preprocessing=None).predict(real)
    for given in (pixels, np.moveaxis(pixels, -1, 1), pixels.astype(int), pixels.astype(float)):
        np.testing.assert_allclose(network.predict(given), want, atol=1e-9)
    np.testing.assert_array_equal(network.host.reals(pixels), real)
    assert np.abs(want - net.predict(real)).max() < 0.2
    with pytest.raises(
        Error, match=r"takes raw samples of uint8, but the data contain -?[0-9]+\.5"
    ):
        network.predict(pixels / 2 + 0.5)


def test_with_preprocessing_the_networks_own_integers_are_raw_too():
    network = Network(q7_classifier(), preprocessing=Preprocessing(scale=1 / 256))
    raw = RNG.integers(-128, 128, (2, 8, 8, 2), np.int8)
    np.testing.assert_array_equal(network.host.codes(raw), np.rint(raw / 2).astype(np.int8))
    same = Network(q7_classifier(), preprocessing=Preprocessing(layout="NHWC"))
    np.testing.assert_array_equal(same.host.codes(raw), raw)


def test_pictures_of_any_size_are_resized_and_cut():
    pytest.importorskip("PIL", reason="resizes pictures")
    steps = Preprocessing(size=(10, 8), crop=(8, 6), scale=1 / 64)
    weights = RNG.normal(size=(2, 3, 3, 3))
    nodes = (FloatNode("y", Conv(weights), ("x",)),)
    net = FloatNetwork(FloatGraph("rgb", "x", (8, 6, 3), "NHWC", nodes, ("y",)))
    calib = RNG.uniform(0, 4, (10, 8, 6, 3)).astype(np.float32)
    network = replace(qemu_nn.quantize(net, calib, scheme="power2"), preprocessing=steps)
    pictures = np.kron(RNG.integers(0, 256, (2, 10, 8, 3)), np.ones((1, 2, 2, 1)))
    pictures = pictures.astype(np.uint8)
    want = network.predict(np.stack([steps.resize_image(each) for each in pictures]))
    np.testing.assert_array_equal(network.predict(pictures), want)
    np.testing.assert_array_equal(network.predict(pictures[1]), want[1])
    first = np.moveaxis(pictures, -1, 1)
    moved = np.moveaxis(want, -1, 1)
    np.testing.assert_array_equal(network.predict(first, layout="NCHW"), moved)
    with pytest.raises(Error, match="an image of 4 x 4 pixels is smaller than the crop of 8 x 6"):
        replace(steps, size=None).resize_image(np.zeros((4, 4, 3), np.uint8))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"size": 0}, "size must be at least 1"),
        ({"size": (1, 2, 3)}, "size must be a height and a width, or one number for both"),
        ({"crop": "x"}, "crop must be an integer"),
        ({"size": 8, "crop": 9}, "a crop of 9 x 9 is larger than the image of 8 x 8 pixels"),
        ({"layout": "CHW"}, "no layout 'CHW'"),
        ({"dtype": "uint7"}, "no dtype 'uint7'"),
        ({"scale": "x"}, "scale must be a number, or one for each channel, not 'x'"),
        ({"scale": float("nan")}, "scale must be a finite number"),
        ({"mean": ()}, "mean must be one number, or one for each channel, not 0"),
        ({"std": (1, 0)}, "std is 0"),
        ({"mean": (1, 2), "std": (1, 2, 3)}, "have 1, 2 and 3 numbers: give one for each"),
    ],
)
def test_a_preprocessing_that_cannot_be_is_refused(fields, told):
    with pytest.raises(Error, match=told):
        Preprocessing(**fields)


def test_a_preprocessing_knows_its_channels_and_its_fields():
    steps = Preprocessing(size=9, mean=np.array([1, 2]), layout="NCHW", dtype="uint8")
    assert (steps.size, steps.mean, steps.channels, steps.changes) == ((9, 9), (1.0, 2.0), 2, True)
    assert Preprocessing.from_dict(steps.to_dict()) == steps
    assert steps.spelled == "size 9 x 9, (raw * 1 - [1, 2]) / 1"
    assert "(raw * 0.003922 - 0) / 1" in repr(
        Network(q7_classifier(), preprocessing=Preprocessing(scale=1 / 255))
    )
    assert not Preprocessing(layout="NCHW").changes
    with pytest.raises(Error, match="no field of a preprocessing 'gamma'"):
        Preprocessing.from_dict({"gamma": 2})
    with pytest.raises(Error, match="has 2 channels, but samples have the shape"):
        steps.apply(np.ones((3, 4, 4)))


def test_a_host_of_its_own_serves_a_session():
    network, x = quantized(), data(3)
    session = Session(network.graph, network.profile(), host=Host(network.graph, network.reference))
    np.testing.assert_array_equal(session.predict(x), network.predict(x))
    bare = Session(network.graph, network.profile())  # the device's own input
    codes = network.host.codes(x)
    real = network.graph.input.format.dequantize(codes)
    np.testing.assert_array_equal(bare.host.codes(real), codes)


# ---- kept in files, and set by quantize() ----


def test_a_preprocessing_is_kept_with_the_network(tmp_path):
    steps = Preprocessing(size=9, crop=(8, 6), scale=1 / 255, mean=(0.1, 1 / 3), dtype="uint8")
    network = replace(quantized(), preprocessing=steps)
    network.save(tmp_path / "a.qnz")
    assert qemu_nn.load(tmp_path / "a.qnz").preprocessing == steps
    assert pickle.loads(pickle.dumps(network)).preprocessing == steps
    pixels = RNG.integers(0, 256, (2, 8, 6, 2)).astype(np.uint8)
    want = network.predict(pixels)
    np.testing.assert_array_equal(qemu_nn.load(tmp_path / "a.qnz").predict(pixels), want)
    bare = replace(network, preprocessing=None)
    bare.save(tmp_path / "b.qnz")
    assert qemu_nn.load(tmp_path / "b.qnz").preprocessing is None
    assert model_hash(bare.graph) == model_hash(
        network.graph
    )  # goldens remain those of the network


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], "preprocessing' must be an object"),
        ({"gamma": 1}, "no field of a preprocessing 'gamma'"),
        ({"std": [0]}, "std is 0"),
        ({"mean": "12"}, "mean must be a number"),
        ({"mean": ["1", "2"]}, "mean must be numbers, not text"),
        ({"mean": [[1], [2]]}, "mean must be a finite number"),
        ({"scale": 1e999}, "scale must be a finite number|not JSON|must be finite"),
        ({"size": [1, -1]}, "size must be at least 1"),
        ({"size": 2**40}, "size must be at most 16384"),
        ({"layout": 3}, "no layout 3"),
        ({"dtype": "object"}, "no dtype 'object'"),
    ],
)
def test_a_file_with_another_preprocessing_is_refused(tmp_path, value, told):
    replace(quantized(), preprocessing=Preprocessing(scale=2)).save(tmp_path / "a.qnz")
    with zipfile.ZipFile(tmp_path / "a.qnz") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(entries["graph.json"])
    document["preprocessing"] = value
    entries["graph.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(tmp_path / "b.qnz", "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(ModelError, match=told):
        qemu_nn.load(tmp_path / "b.qnz")


@pytest.mark.parametrize("scheme", ["power2", "affine"])
def test_quantize_prepares_its_data_and_keeps_how(scheme):
    net = classifier(softmax=False)
    steps = Preprocessing(scale=1 / 32, mean=(2, 1), dtype="uint8")
    pixels = RNG.integers(0, 256, (60, *net.graph.shape)).astype(np.uint8)
    network = qemu_nn.quantize(net, qemu_nn.Dataset(pixels, preprocessing=steps), scheme=scheme)
    assert network.preprocessing == steps
    same = qemu_nn.quantize(net, steps.apply(pixels, "NCHW"), scheme=scheme)
    assert model_hash(network.graph) == model_hash(same.graph)
    np.testing.assert_array_equal(
        network.predict(pixels), same.predict(steps.apply(pixels, "NCHW"))
    )
    with pytest.raises(Error, match="preprocessing must be a Preprocessing, not 3"):
        qemu_nn.quantize(net, qemu_nn.Dataset(pixels, preprocessing=3), scheme="power2")
