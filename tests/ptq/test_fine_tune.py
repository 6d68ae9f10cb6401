"""Training at the device's arithmetic: values are the device's, gradients are straight-through."""

import logging
import re

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from trainable_networks import SCHEMES, float_network, images, quantized  # noqa: E402

import qemu_nn  # noqa: E402
from qemu_nn.analysis.charts import chart_curves  # noqa: E402
from qemu_nn.api import trainer  # noqa: E402
from qemu_nn.api.trainable import formats_of, planned  # noqa: E402
from qemu_nn.api.training_data import Samples, divided  # noqa: E402
from qemu_nn.cli.main import main  # noqa: E402
from qemu_nn.errors import Error, ModelError  # noqa: E402
from qemu_nn.ir.float_graph import FloatGraph, FloatNode  # noqa: E402
from qemu_nn.operators import (  # noqa: E402
    Affine,
    ArgMax,
    Clip,
    Concat,
    Conv,
    ConvTranspose,
    Dense,
    Elementwise,
    Gather,
    Identity,
    Lstm,
    MatMul,
    Normalize,
    Pad,
    Pool,
    PRelu,
    Reduce,
    Relu,
    Reshape,
    Resize,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
    Transpose,
)
from qemu_nn.operators.curve import X, elu, gelu  # noqa: E402
from qemu_nn.training import operators  # noqa: E402
from qemu_nn.training.nodes import pass_held_value, round_whole  # noqa: E402

RNG = np.random.default_rng(4)


def device_inputs(network, count, seed=9):
    """Return the device's input for images, as floats."""
    x = network.host.reals(images(count, seed))
    return torch.from_numpy((x * 2 - 0.5).astype(np.float32))


@pytest.mark.parametrize("name", SCHEMES)
def test_every_value_is_the_devices_before_and_after_training(name):
    network = quantized(name)
    net = qemu_nn.trainable(network)
    x = device_inputs(network, 6)
    made = net.network()
    for key, array in made.graph.arrays.items():
        np.testing.assert_array_equal(array, network.graph.arrays[key])
    optimizer = torch.optim.Adam(net.parameters(), lr=0.2)
    for _ in range(3):
        trainer.check(planned(net.network().graph, net.profile, "plain"), x.numpy(), net.values(x))
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    made = net.network()
    trainer.check(made.session(), x.numpy(), net.values(x))
    assert any(
        (array != network.graph.arrays[key]).any() for key, array in made.graph.arrays.items()
    )
    before, after = (formats_of(f) for f in (net._found.formats, net._formats()))
    assert before[net.inputs] == after[net.inputs]  # what the host rounds to
    assert net.octaves.grad.abs().max() > 0
    if name.startswith("s"):
        assert before != after


def test_a_value_that_is_not_the_devices_is_named_by_layer_and_element():
    network = quantized("s8")
    net = qemu_nn.trainable(network)
    x = device_inputs(network, 2)
    values = net.values(x)
    values["sum"] = values["sum"].detach().clone()
    values["sum"][1, 2, 3, 4] += network.graph.node("sum").output.scale
    with pytest.raises(Error, match=r"sum\[1, 2, 3, 4\]: training computed -?\d+, but the device"):
        trainer.check(planned(network.graph, net.profile), x.numpy(), values)


def test_gradients_are_those_of_the_float_network_where_formats_are_fine():
    network = quantized("s16")
    net = qemu_nn.trainable(network)
    x = device_inputs(network, 8)
    net(x).square().mean().backward()
    weight, bias = (
        torch.from_numpy(np.asarray(each, np.float32)).requires_grad_()
        for each in (net.layer("scores").weight.detach(), net.layer("scores").bias.detach())
    )
    reference = network.reference
    flat = torch.from_numpy(
        qemu_nn.FloatNetwork(reference).evaluate(network.host.reals(images(8, 9)), True)["flat"]
    )
    (flat @ weight.T + bias).square().mean().backward()
    for own, real in (("weight", weight.grad), ("bias", bias.grad)):
        got = getattr(net.layer("scores"), own).grad.float()
        assert torch.nn.functional.cosine_similarity(got.flatten(), real.flatten(), 0) > 0.98
    assert net.layer("conv").weight.grad.abs().max() > 0


def test_the_gradient_stops_where_a_format_saturates_and_reaches_its_step():
    smooth = torch.tensor([0.6, 9.0, -9.0], requires_grad=True)
    step = torch.tensor([0.5], requires_grad=True)
    exact = torch.tensor([0.5, 3.5, -4.0])
    found = pass_held_value(smooth, step, exact, torch.tensor(-4.25), torch.tensor(3.75))
    assert torch.equal(found, exact)
    (found * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    torch.testing.assert_close(smooth.grad, torch.tensor([1.0, 0.0, 0.0]))
    torch.testing.assert_close(step.grad, torch.tensor([-0.2 + 70.0 - 800.0]))
    octaves = torch.tensor([0.6], requires_grad=True)
    round_whole(octaves).sum().backward()
    assert octaves.grad.item() == 1


@pytest.mark.parametrize("name", ["q7", "s8"])
def test_formats_that_the_device_does_not_take_go_back(name):
    network = quantized(name)
    net = qemu_nn.trainable(network)
    x = device_inputs(network, 2)
    expected = net(x)
    group = net._group["scores"]
    with torch.no_grad():  # far finer than the sums
        net.octaves[group] = -40
    assert torch.equal(net(x), expected)
    assert net.octaves[group] == 0
    with torch.no_grad():
        net.octaves[group] = -40
    net.network().session()
    with torch.no_grad():  # coarser is legal
        net.octaves[group] = 2
    net(x)
    assert net.octaves[group] == 2


def test_weights_that_are_zero_stay_zero():
    network = float_network()
    conv = network.graph.node("conv").operator
    conv.weights[:, 0, 1] = 0
    made = qemu_nn.quantize(network, images(24), scheme="affine")
    net = qemu_nn.trainable(made)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    net(device_inputs(made, 8)).square().mean().backward()
    optimizer.step()
    name = made.graph.node("relu").weights
    array = net.network().graph.arrays[name]
    assert not array[:, 0, 1].any()
    assert (array != made.graph.arrays[name]).any()


def loss_of(network, x):
    """Return the squared error of scores, relative to the float network's."""
    reference = qemu_nn.FloatNetwork(float_network().graph).evaluate(x, trace=True)["scores"]
    codes = network.session().run(network.host.codes(x), trace=True)["scores"]
    got = network.graph.node("scores").output.format.dequantize(codes)
    return np.square(got - reference).mean() / np.square(reference).mean()


def test_weights_of_4_bits_learn_the_float_scores(tmp_path, caplog):
    network = quantized("s4")
    x, more = images(160, 5), images(80, 6)
    with caplog.at_level(logging.INFO, "qemu_nn.train"):
        tuned = qemu_nn.fine_tune(network, x, epochs=4, learning_rate=0.003, progress=list)
    assert loss_of(tuned, more) < 0.9 * loss_of(network, more)  # 0.5 to 0.8, by the seed
    assert [r.message.split(":")[0] for r in caplog.records] == [
        "before training",
        *(f"epoch {epoch} of 4" for epoch in (1, 2, 3, 4)),
    ]
    assert "fine-tuned: the best is after epoch" in tuned.notes[-1]
    assert [n.function.name for n in tuned.graph.nodes] == [
        n.function.name for n in network.graph.nodes
    ]
    tuned.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    np.testing.assert_array_equal(again.predict(more), tuned.predict(more))
    report = qemu_nn.analyze(again, more).text()  # compared with what was trained
    assert "output sqnr" in report
    qemu_nn.fine_tune(again, x[:20], epochs=1)  # and on


def test_labels_are_learned_and_the_seed_says_all():
    network = quantized("s4")
    labels, more = (np.arange(count) % 2 for count in (96, 50))
    x, held_back = (
        images(len(y), seed) / 2 + (y - 0.5).reshape(-1, 1, 1, 1)
        for seed, y in ((7, labels), (8, more))
    )
    how = {"validation": (held_back, more), "epochs": 3, "learning_rate": 0.01}

    def right(made):
        return (made.predict(held_back).argmax(1) == more).mean()

    state = torch.random.get_rng_state()
    first, second, third = (
        qemu_nn.fine_tune(network, (x, labels), seed=seed, **how) for seed in (1, 1, 2)
    )
    assert torch.equal(state, torch.random.get_rng_state())
    assert right(first) > max(right(network), 0.5) + 0.2
    for key, array in first.graph.arrays.items():
        np.testing.assert_array_equal(array, second.graph.arrays[key])
    assert any((a != third.graph.arrays[key]).any() for key, a in first.graph.arrays.items())


def test_samples_that_choose_nothing_report_each_epoch():
    network = quantized("s4")
    labels, more = np.arange(60) % 2, np.sort(np.arange(41) % 2)
    x, held = (
        images(len(y), seed) / 2 + (y - 0.5).reshape(-1, 1, 1, 1)
        for seed, y in ((7, labels), (8, more))
    )
    tuned = qemu_nn.fine_tune(
        network, (x, labels), validation=(held, more), epochs=3, learning_rate=0.01
    )
    rows = tuned.curve.records()
    assert [row["epoch"] for row in rows] == [0, 1, 2, 3]
    best = int(re.search(r"after epoch (\d) of 3", tuned.notes[-1]).group(1))
    assert best == max(range(4), key=lambda e: (rows[e]["right"], -rows[e]["loss"]))
    for made, row in ((network, rows[0]), (tuned, rows[best])):
        correct = made.predict(held).argmax(1) == more
        assert row["right"] == correct[::2].mean()
        assert row["unseen_right"] == correct[1::2].mean()
    assert f"{rows[best]['unseen_right']:.2%} right on unseen samples" in tuned.notes[-1]
    assert chart_curves(tuned.curve)[0].y == tuple(row["unseen_right"] for row in rows)


def test_every_class_is_held_back_in_whatever_order_they_come():
    classes = np.arange(60) % 5
    for labels in (classes, np.sort(classes)):
        train, held_back = divided(Samples(np.arange(60), labels, True, True))
        assert sorted([*train.x, *held_back.x]) == [*range(60)]
        assert min(np.bincount(held_back.wanted, minlength=5)) >= 2
    scores = Samples(np.arange(9), np.zeros((9, 5)), False, False)
    assert divided(scores)[1].x.tolist() == [4]


def test_names_of_classes_are_those_of_the_network():
    network, x = quantized("s4"), images(60, 7)
    numbers = np.arange(60) % 5
    names = np.array(network.labels)[numbers]
    first, second = (
        qemu_nn.fine_tune(network, qemu_nn.Dataset(x, labels), epochs=1, learning_rate=0.01)
        for labels in (numbers, names)
    )
    for key, array in first.graph.arrays.items():
        np.testing.assert_array_equal(array, second.graph.arrays[key])
    mapping = "labels by name: 'e' is 0, 'd' is 1, 'c' is 2, 'b' is 3, 'a' is 4"
    assert second.notes == (mapping, *first.notes)


def test_a_worse_network_is_not_returned():
    network = quantized("s8")
    tuned = qemu_nn.fine_tune(
        network, images(40), epochs=1, learning_rate=30.0, learn_formats=False
    )
    assert "after epoch 0 of 1" in tuned.notes[-1]
    assert tuned.reference is network.reference  # what it is compared with
    for key, array in tuned.graph.arrays.items():
        np.testing.assert_array_equal(array, network.graph.arrays[key])


def test_a_loss_and_an_optimizer_of_ones_own():
    seen = []

    def loss(outputs, targets):
        seen.append((tuple(outputs.shape), tuple(targets.shape), targets.dtype))
        return (outputs.mean(1) - targets).square().mean()

    targets = RNG.normal(size=40)
    sgd = {"optimizer": lambda p: torch.optim.SGD(p, lr=0.01), "epochs": 1}
    with torch.no_grad():  # of the caller
        x = torch.from_numpy(images(40))
        qemu_nn.fine_tune(quantized("q7"), qemu_nn.Dataset(x, targets), loss_fn=loss, **sgd)
    assert ((32, 5), (32,), torch.float32) in seen


LABELS = np.zeros(40, int)
MEAN = {
    "loss_fn": lambda outputs, targets: (outputs.mean(1) - targets).square().mean(),
}
WRONG = [
    ({"data": (images(40), LABELS - 1)}, "classes count from 0"),
    ({"data": (images(40), LABELS + 5)}, "class numbers from 0 to 4"),
    ({"data": (images(40), LABELS), "validation": images(9, 1)}, "one of training and validation"),
    ({"validation": images(40)[:9]}, "9 of 9 samples that judge each epoch are also training"),
    (
        {"data": np.tile(images(18), (2, 1, 1, 1))},
        "7 of 7 samples that judge each epoch are also training",
    ),
    ({"learning_rate": 0}, "above 0"),
    ({"epochs": 0}, "epochs"),
    ({"batch": 0}, "batch"),
    ({"seed": -1}, "seed"),
    ({"target": "cortex-m9"}, "cortex-m9"),
    ({"learn_formats": "yes"}, "learn_formats"),
    ({"loss_fn": 3}, "loss_fn is a int"),
    ({"loss_fn": lambda outputs, targets: 1.0}, "returned a float"),
    ({"optimizer": lambda p: None}, "returned a NoneType"),
    ({"loss_fn": lambda outputs, targets: outputs.mean() * np.nan}, "of validation data is nan"),
    (
        {
            "data": (images(40), np.full(40, np.nan)),
            "validation": (images(5, 1), np.zeros(5)),
            **MEAN,
        },
        "nan at step 1 of 2",
    ),
    ({"loss_fn": lambda outputs, _: (outputs - outputs.detach()).square().sum().sqrt()}, "slope"),
    ({"optimizer": lambda p: torch.optim.LBFGS(p)}, "optimizer is LBFGS"),
    ({"data": iter([])}, "the data have no samples"),
    ({"data": [(images(9), np.zeros((9, k))) for k in (1, 2)], **MEAN}, "have different shapes"),
    ({"data": [(images(9), LABELS[:9]), images(9)]}, "some batches of the data have labels"),
]


@pytest.mark.parametrize(("wrong", "match"), WRONG, ids=lambda each: None)
def test_what_cannot_be_meant_is_an_error(wrong, match):
    with pytest.raises(Error, match=match):
        qemu_nn.fine_tune(quantized("q7"), **{"data": images(40), "epochs": 1, **wrong})


def test_inputs_that_do_not_fit_are_errors():
    net = qemu_nn.trainable(quantized("q7"))
    with pytest.raises(Error, match=r"a batch must be .*8, 8, 2"):
        net(torch.zeros(1, 2, 8, 8))
    with pytest.raises(Error, match="NaN"):
        net(torch.full((1, 8, 8, 2), np.nan))
    x = torch.zeros(1, 8, 8, 2)
    assert torch.equal(net(x.bfloat16()), net(x))
    with torch.no_grad():
        net.layer("conv").weight[0] = np.nan
    for compute in (net.network, lambda: net(x)):
        with pytest.raises(Error, match=r"conv\.weight is not finite"):
            compute()
    with pytest.raises(Error, match=r"no layer 'con'.*conv, depth, scores"):
        net.layer("con")
    with pytest.raises(Error, match="too few to keep some"):
        qemu_nn.fine_tune(quantized("q7"), images(4))


@pytest.mark.parametrize("verb", [qemu_nn.trainable, lambda net: qemu_nn.fine_tune(net, images(9))])
def test_without_weights_there_is_nothing_to_train(verb):
    nodes = (FloatNode("pool", Pool("max", (2, 2), (2, 2)), ("x",)),)
    graph = FloatGraph("bare", "x", (8, 8, 2), "NHWC", nodes, ("pool",))
    x = images(9).transpose(0, 2, 3, 1)
    network = qemu_nn.quantize(qemu_nn.FloatNetwork(graph), x, scheme="affine")
    with pytest.raises(Error, match="bare has no layer with weights"):
        verb(network)


def conv(*shape, **own):
    return Conv(RNG.normal(size=shape), RNG.normal(size=shape[0]), **own)


WEIGHTED = [
    conv(4, 3, 2, 3, stride=(2, 1), pads=(1, 0, 2, 1)),
    conv(6, 2, 2, 1, groups=3, dilation=(2, 1), pads=(-1, 0, 1, 0)),
    Dense(RNG.normal(size=(4, 3)), RNG.normal(size=4)),
]
UNWEIGHTED = [
    Pool("max", (3, 2), (2, 2), (1, 0, 1, 1)),
    Pool("average", (3, 3), (2, 2), (1, 1, 1, 1)),
    Pool("average", (3, 2), (2, 3), (1, 1, 0, 1), ceil=True, count_pads=True),
    Pool("max", (2, 2), (3, 3), ceil=True),
    Relu(),
    Relu(0.1),
    Relu(limit=0.7),
    Clip(-0.3, 0.4),
    PRelu(np.array([0.1, 0.2, -0.3])),
    Sigmoid(),
    Tanh(),
    Softmax(2),
    Softmax(0, log=True),
    Pad(((1, 0), (0, 2), (-1, 1)), 0.5),
    Slice(1, 1, 7, 2),
    Reshape((21, 9)),
    Transpose((2, 0, 1)),
    Shuffle(3, 2),
    Identity(),
    gelu(),
    elu(0.5, 2.0),
    X.of("softplus") / (X.of("exp") + 2.0),
    Gather(1, (3, 3, 0)),
    Reduce("mean", (0, 1)),
    Reduce("max", (2,)),
    Normalize((2,)),
    Normalize((0, 1), centered=False),
    ArgMax(1),
    ArgMax(1, least=True),
    Resize("nearest", (18, 5)),
    Resize("bilinear", (4, 20), half_pixel=True),
    Resize("bilinear", (4, 20), align_corners=True),
    ConvTranspose(
        RNG.normal(size=(6, 3, 2, 1)), RNG.normal(size=6), (2, 3), (1, 0, -2, 1), groups=3
    ),
]


@pytest.mark.parametrize("operator", [*WEIGHTED, *UNWEIGHTED], ids=lambda each: type(each).__name__)
def test_operators_on_pytorch_are_those_of_numpy(operator):
    x = RNG.normal(size=(2, 9, 7, 3)).astype(np.float32)
    if isinstance(operator, (Conv, Dense)):
        weight, bias = (operators.as_tensor(each) for each in (operator.weights, operator.bias))
        found = operators.replace_weights(operator, torch.from_numpy(x), weight, bias)
    else:
        found = operators.compute_operator(operator, torch.from_numpy(x))
    np.testing.assert_allclose(found.numpy(), operator.evaluate(x), rtol=1e-4, atol=1e-5)


KINDS = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "concat", "matmul"]
KINDS += ["greater", "at_least", "equal", "pass_where"]


@pytest.mark.parametrize("kind", KINDS)
def test_operators_of_two_tensors_are_those_of_numpy(kind):
    other = {"concat": Concat(1), "matmul": MatMul(True)}
    operator = other.get(kind) or Elementwise(kind)
    x = [RNG.normal(size=(2, 4, 3)).astype(np.float32) for _ in range(2)]
    found = operators.compute_operator(operator, *map(torch.from_numpy, x))
    np.testing.assert_allclose(found.numpy(), operator.evaluate(*x), rtol=1e-5)


@pytest.mark.parametrize("cells", [False, True])
def test_a_sequence_on_pytorch_is_that_of_numpy(cells):
    arrays = (RNG.normal(size=size) / 2 for size in ((4, 5, 3), (4, 5, 5), (4, 5)))
    operator, x = Lstm(*arrays, cells), RNG.normal(size=(2, 6, 3)).astype(np.float32)
    found = operators.compute_operator(operator, torch.from_numpy(x))
    np.testing.assert_allclose(found.numpy(), operator.evaluate(x), rtol=1e-5, atol=1e-6)


def test_an_operator_without_a_gradient_is_named():
    with pytest.raises(ModelError, match="Affine"):
        operators.compute_operator(Affine(np.ones(1), np.ones(1)), torch.zeros(1))


def test_the_command_line_trains_too(tmp_path):
    quantized("s4").save(tmp_path / "net.qnz")
    np.savez(tmp_path / "train.npz", x=images(60, 2))
    arguments = ["fine-tune", tmp_path / "net.qnz", "--data", tmp_path / "train.npz"]
    arguments += ["-o", tmp_path / "tuned.tflite", "--epochs", 1, "--fixed-formats"]
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    assert "fine-tuned: the best is after epoch" in result.output.lower()
    assert qemu_nn.load(tmp_path / "tuned.tflite").graph.nodes


def test_what_no_tflite_file_holds_is_told_before_the_training(tmp_path):
    quantized("q7", 4).save(tmp_path / "net.qnz")
    arguments = ["fine-tune", tmp_path / "net.qnz", "--data", tmp_path / "missing.npz"]
    arguments += ["-o", tmp_path / "tuned.tflite"]
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert (result.exit_code, "save it as .qnz" in result.output) == (2, True), result.output
