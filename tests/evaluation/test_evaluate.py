"""Evaluation: figures as counted from predictions, of every kind of network, wherever they ran."""

import json
from dataclasses import replace

import affine_networks
import numpy as np
import pytest
from click.testing import CliRunner
from flat_options import grouped
from float_classifiers import classifier, data
from networks import recurrent
from thread_client import Client

import qemu_nn
from qemu_nn.analysis.task_type import convert_scores, infer_kind
from qemu_nn.api.golden import FloatNetwork, Network
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.evaluation import block_reader
from qemu_nn.evaluation.scorers import FloatScorer
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Conv, Dense, Reshape, Sigmoid, Tanh
from qemu_nn.targets import profile

RNG = np.random.default_rng(11)


def dense(*shape, bias=None):
    return Dense(RNG.normal(size=shape) / 3, bias)


def chained(*operators, shape=(6,)):
    """Return a float network of operators in sequence."""
    names = [f"op{number}" for number in range(len(operators))]
    nodes = [
        FloatNode(name, operator, (source,))
        for name, operator, source in zip(names, operators, ["x", *names])
    ]
    return FloatNetwork(FloatGraph("net", "x", shape, None, tuple(nodes), (names[-1],)))


@pytest.fixture(scope="module", params=["power2", "affine", "float", "16 bits"])
def case(request):
    """Return a classifier in some form, samples of its source file, and labels."""
    network, x = classifier(), data(300)
    y = RNG.integers(0, 5, 300)
    if request.param != "float":
        how = {"scheme": "affine"} if request.param == "affine" else {}
        bits = 16 if request.param == "16 bits" else 8
        network = qemu_nn.quantize(network, x[:50], bits=bits, **grouped(**how))
    y[:200] = network.predict(x[:200]).reshape(200, 5).argmax(1)
    return network, x, y


def test_a_classifier_s_figures_are_counted_from_its_predictions(case):
    network, x, y = case
    found = qemu_nn.evaluate(network, qemu_nn.Dataset(x, y), top=(2, 3, 9))
    scores = network.predict(x).reshape(300, 5)
    chosen = scores.argmax(1)
    assert (found.kind, found.samples) == ("classifier", 300)
    assert found.accuracy == found.figures["accuracy"] == np.mean(chosen == y)
    ranked = np.argsort(-scores, axis=1, kind="stable")
    for k in (2, 3):
        assert found.figures[f"top_{k}"] == np.mean((ranked[:, :k] == y[:, None]).any(1))
    assert "top_9" not in found.figures  # of five classes
    pairs = np.zeros((5, 5), int)
    np.add.at(pairs, (y, chosen), 1)
    np.testing.assert_array_equal(found.confusion, pairs)
    assert [row[1] for row in found.classes] == np.bincount(y, minlength=5).tolist()
    if isinstance(network, FloatNetwork):
        assert "agreement" not in found.figures
        return
    real = classifier().predict(x).reshape(300, 5)
    assert found.figures["float_accuracy"] == np.mean(real.argmax(1) == y)
    assert found.figures["agreement"] == np.mean(chosen == real.argmax(1))
    ratio = 10 * np.log10((real**2).sum() / ((scores - real) ** 2).sum())
    assert found.figures["sqnr_db"] == pytest.approx(ratio, rel=1e-3)


def test_figures_are_the_same_wherever_they_were_computed(case, tmp_path, monkeypatch):
    network, x, y = case
    np.savez(tmp_path / "data.npz", x=x, y=y)
    wanted = qemu_nn.evaluate(network, qemu_nn.Dataset(x, y)).json()
    monkeypatch.setattr(block_reader, "_LEAST", 32)  # ten blocks
    for how in ({}, {"threads": 3}, {"client": Client(3)}):
        assert qemu_nn.evaluate(network, qemu_nn.Dataset(x, y), **how).json() == wanted, how
        assert qemu_nn.evaluate(network, tmp_path / "data.npz", **how).json() == wanted, how
        pieces = ((x[i : i + 70], y[i : i + 70]) for i in range(0, 300, 70))
        assert qemu_nn.evaluate(network, pieces, **how).json() == wanted, how


def test_other_profiles_stand_beside_the_first():
    network = Network(affine_networks.small())
    x = affine_networks.images(40)
    found = qemu_nn.evaluate(network, x, target="cortex-m4", profiles="cortex-m55,m0")
    assert [name for name, _ in found.profiles] == (
        ["CMSIS 7.0.0, mve, double", "CMSIS 7.0.0, m0, double"]
    )
    single = replace(profile("cortex-m4", "7.0.0"), rounding="single")
    every = qemu_nn.evaluate(network, x, target="cortex-m4", profiles="all")
    assert str(single) in dict(every.profiles)
    for chosen in ([single], [str(single.path)]):
        assert len(qemu_nn.evaluate(network, x, profiles=chosen).profiles) in (0, 1)
    own = network.session(target=qemu_nn.Target(rounding="single")).run(x)
    base = network.session().run(x)
    same = np.mean(
        [np.array_equal(a, b) for a, b in zip(*(next(iter(r.values())) for r in (own, base)))]
    )
    assert dict(every.profiles)[str(single)]["identical"] == same


def test_a_regressor_s_errors_are_averaged():
    network = chained(dense(4, 6), dense(2, 4))
    x = RNG.normal(size=(150, 6))
    y = network.predict(x) + RNG.normal(size=(150, 2))
    quantized = qemu_nn.quantize(network, x, scheme="power2")
    found = qemu_nn.evaluate(quantized, qemu_nn.Dataset(x, y))
    errors = quantized.predict(x) - y
    assert found.kind == "regressor"
    for name, value in {
        "mean_absolute_error": np.abs(errors).mean(),
        "mean_squared_error": (errors**2).mean(),
        "root_mean_squared_error": np.sqrt((errors**2).mean()),
        "mean_error": errors.mean(),
        "largest_error": np.abs(errors).max(),
        "float_mean_absolute_error": np.abs(network.predict(x) - y).mean(),
    }.items():
        assert found.figures[name] == pytest.approx(value, rel=1e-6), name
    assert found.accuracy is None


def test_an_autoencoder_tells_anomalies_by_their_errors(tmp_path):
    network = chained(dense(3, 6), dense(6, 3))
    x = RNG.normal(size=(200, 6)).astype(np.float32)
    y = (RNG.uniform(size=200) < 0.3).astype(np.int64)
    found = qemu_nn.evaluate(network, qemu_nn.Dataset(x, y))
    errors = ((network.predict(x) - x) ** 2).mean(1)
    np.testing.assert_allclose(found.errors, errors, rtol=1e-5)
    assert found.kind == "autoencoder"
    above = (found.errors[y == 1][:, None] > found.errors[y == 0]).mean()
    assert found.figures["auc"] == pytest.approx(above, rel=1e-12)
    assert found.figures["reconstruction_error"] == pytest.approx(errors.mean(), rel=1e-6)
    assert "auc" not in qemu_nn.evaluate(network, x).figures
    with pytest.raises(
        Error,
        match=r"^sample 0 of the data: one label is 2, but .* must be 0",
    ):
        qemu_nn.evaluate(network, qemu_nn.Dataset(x, np.full(200, 2)))


def test_a_recurrent_network_takes_a_label_for_each_step_or_for_each_sequence(tmp_path):
    network = Network(recurrent())
    x = RNG.integers(-9, 9, (30, 5, 4)).astype(np.int16)
    scores = next(iter(network.session().run(x).values()))
    steps = RNG.integers(0, 4, (30, 5))
    steps[:9] = scores[:9].argmax(-1)
    found = qemu_nn.evaluate(network, qemu_nn.Dataset(x, steps))
    assert found.accuracy == np.mean(scores.argmax(-1) == steps)
    assert found.samples == 30
    last = qemu_nn.evaluate(network, qemu_nn.Dataset(x, steps[:, -1]))
    assert last.accuracy == np.mean(scores[:, -1].argmax(-1) == steps[:, -1])
    np.save(tmp_path / "x.npy", x)
    again = qemu_nn.evaluate(network, qemu_nn.Dataset(tmp_path / "x.npy", steps))
    assert again.json() == found.json()
    one = qemu_nn.evaluate(network, qemu_nn.Dataset(x[0], steps[:1]))
    assert (one.samples, one.accuracy) == (1, np.mean(scores[0].argmax(-1) == steps[0]))
    with pytest.raises(Error, match="each of the 1 samples"):
        qemu_nn.evaluate(network, qemu_nn.Dataset(x[0], steps[:5]))


def test_one_output_is_a_probability_if_the_caller_says_so():
    network = chained(dense(1, 6), Sigmoid())
    x, y = RNG.normal(size=(80, 6)), RNG.integers(0, 2, 80)
    with pytest.raises(Error, match="give kind='classifier'"):
        qemu_nn.evaluate(network, qemu_nn.Dataset(x, y))
    found = qemu_nn.evaluate(network, qemu_nn.Dataset(x, y), kind="classifier")
    assert found.accuracy == np.mean((network.predict(x)[:, 0] > 0.5) == y)
    with pytest.raises(Error, match=r"outside 0\.\.1"):
        qemu_nn.evaluate(chained(dense(1, 6)), qemu_nn.Dataset(x, y), kind="classifier")


def test_the_npu_s_layers_are_evaluated_beside_their_float_ones(tmp_path):
    from ndk_classifier import LAYERS, PARAMS, X

    import qemu_nn.ndk as ndk
    from qemu_nn.ndk.quant_tools.numpy_net import build_numpy_layers

    real = build_numpy_layers(LAYERS, PARAMS, quant=False)
    y = real.predict(X).reshape(100, 3).argmax(1)
    np.savez(tmp_path / "data.npz", x=X, y=y)
    ndk.modelpack.save_to_file(LAYERS, tmp_path / "f.prototxt", PARAMS, tmp_path / "f.npz")
    options = ["-d", tmp_path / "data.npz"]
    output_of("ndk", "quantize", tmp_path / "f.prototxt", *options, "-o", tmp_path / "q.prototxt")
    layers, params = ndk.modelpack.load_from_file(tmp_path / "q.prototxt", tmp_path / "q.npz")
    fixed = build_numpy_layers(layers, params)
    with pytest.raises(Error, match="has no output 'y'; it has p"):
        qemu_nn.evaluate(fixed, qemu_nn.Dataset(X, y), reference=real)
    real = build_numpy_layers(layers, params, quant=False)
    found = qemu_nn.evaluate(fixed, qemu_nn.Dataset(X, y), reference=real, client=Client())
    assert found.profile == "NPU"
    chosen = fixed.predict(X).reshape(100, 3).argmax(1)
    assert found.accuracy == found.figures["agreement"] == np.mean(chosen == y)
    assert found.figures["float_accuracy"] == 1
    told = output_of("ndk", "evaluate", tmp_path / "q.prototxt", *options, "--json")
    assert json.loads(told) == found.to_dict()


def test_several_inputs_come_by_name(tmp_path):
    from tflite_states import STATES

    network = qemu_nn.load(STATES["three_inputs"]().save(tmp_path, "net.tflite"))
    x = {
        t.name: RNG.integers(-100, 100, (20, *t.shape)).astype(t.dtype)
        for t in network.graph.inputs
    }
    found = qemu_nn.evaluate(
        network, x, reference=False, client=Client(), output=network.graph.outputs[0]
    )
    assert (found.samples, found.kind) == (20, "unlabelled")


def test_an_output_of_several_must_be_named():
    graph = classifier().graph
    two = FloatNetwork(replace(graph, outputs=("dense", *graph.outputs)))
    x, y = data(20), RNG.integers(0, 5, 20)
    with pytest.raises(Error, match=r"has the outputs dense, .*: name one of them"):
        qemu_nn.evaluate(two, qemu_nn.Dataset(x, y))
    dense_scores = two.predict(x)["dense"]
    assert qemu_nn.evaluate(two, qemu_nn.Dataset(x, y), output="dense").accuracy == np.mean(
        dense_scores.argmax(1) == y
    )
    with pytest.raises(Error, match="no output 'ip'"):
        qemu_nn.evaluate(two, qemu_nn.Dataset(x, y), output="ip")


def test_labels_of_images_may_have_their_channels_on_either_end():
    conv = Conv(RNG.normal(size=(3, 3, 3, 2)) / 3, None, pads=(1, 1, 1, 1), layout="NCHW")
    nodes = (FloatNode("conv", conv, ("x",)), FloatNode("y", Tanh(), ("conv",)))
    network = FloatNetwork(FloatGraph("net", "x", (2, 4, 5), "NCHW", nodes, ("y",)))
    x = RNG.normal(size=(80, 2, 4, 5)).astype(np.float32)
    y = network.predict(x)
    quantized = qemu_nn.quantize(network, x, scheme="affine")
    for whose, end in ((network, 1e-5), (quantized, 0.3)):
        for labels in (y, np.moveaxis(y, 1, -1)):
            found = qemu_nn.evaluate(whose, (x, labels))
            assert found.figures["largest_error"] < end
        with pytest.raises(Error, match=r"labels have the shape \[N, 60\]"):
            qemu_nn.evaluate(whose, qemu_nn.Dataset(x, y.reshape(80, -1)))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            {"data": (data(40), np.full(40, 5))},
            r"^sample 0 of the data: one label is 5, but labels must be classes 0\.\.4",
        ),
        (
            {"data": (data(40), np.r_[np.zeros(39, int), 7])},
            r"^sample 39 of the data: .* is 7",
        ),
        ({"data": (data(40), np.zeros((40, 3), int))}, r"labels of a classifier are one class"),
        (
            {"data": (data(40), np.full(40, 0.5))},
            r"a value for each output.*; classes have to be integers",
        ),
        ({"kind": "tree"}, "no kind 'tree'"),
        ({"kind": "autoencoder"}, "has the size of its input"),
        ({"kind": "regressor"}, "as labels: give them"),
        ({"top": 0}, "top must be at least 1"),
        ({"profiles": "m99"}, "m99"),
        ({"reference": 5}, "but must be a float network"),
        ({"threads": 0}, "threads must be"),
    ],
)
def test_what_does_not_fit_is_a_sentence(how, words):
    network = qemu_nn.quantize(classifier(), data(40), scheme="power2")
    with pytest.raises(Error, match=words):
        qemu_nn.evaluate(network, **{"data": data(40), **how})


def test_kinds_follow_from_labels_and_shapes():
    floats, ints = np.zeros((4, 3)), np.zeros(4, int)
    assert infer_kind(None, (8,), (3,), None) == "classifier"
    assert infer_kind(None, (8,), (8,), None) == "autoencoder"
    assert infer_kind(None, (8,), (8,), ints) == "autoencoder"
    assert (
        infer_kind(None, (8,), (1,), None) == infer_kind(None, (8,), (2, 3), None) == "unlabelled"
    )
    assert infer_kind(None, (8,), (3,), floats) == "regressor"
    assert infer_kind(None, (8,), (2, 2, 5), np.zeros((4, 2, 2), int)) == "classifier"
    assert infer_kind("regressor", (8,), (1,), ints) == "regressor"
    with pytest.raises(Error, match="leave them out"):
        infer_kind("unlabelled", (8,), (3,), ints)
    with pytest.raises(Error, match=r"give labels \[N, 2, 2\]"):
        convert_scores(np.zeros((4, 2, 2, 5)), ints, False)


def test_inputs_that_were_not_scaled_are_told():
    network = qemu_nn.quantize(chained(dense(3, 6)), RNG.normal(size=(100, 6)), scheme="power2")
    with pytest.warns(qemu_nn.InputWarning, match="were they scaled"):
        qemu_nn.evaluate(network, 255 * RNG.uniform(size=(40, 6)))


def test_sums_of_the_float_network_do_not_depend_on_other_samples():
    network = chained(
        Reshape((9, 9, 40)),
        Conv(RNG.normal(size=(7, 3, 3, 40))),
        Conv(RNG.normal(size=(5, 7, 7, 7))),
        Reshape((5,)),
        dense(700, 5),
        dense(11, 700),
        shape=(3240,),
    )
    x = RNG.normal(size=(70, 3240)).astype(np.float32)
    scorer = FloatScorer(network.graph)
    whole = scorer.scores(x)["op5"]
    for size in (1, 7, 64):
        parts = [scorer.scores(x[i : i + size])["op5"] for i in range(0, 70, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_allclose(whole, network.predict(x), rtol=1e-3, atol=1e-2)


def test_a_block_s_size_follows_from_the_data_alone():
    sizes = [block_reader.choose_block_size(n, 3136) for n in (1, 10_000, 100_000, 10**8)]
    assert sizes == [64, 128, 1024, 16384]
    assert [block_reader.choose_block_size(10_000, size) for size in (600_000, 10**9)] == [64, 1]


def test_names_of_classes_are_matched(tmp_path):
    graph = replace(classifier().graph, classes=tuple("abcde"))
    x = data(50)
    chosen = FloatNetwork(graph).predict(x).reshape(50, 5).argmax(1)
    found = qemu_nn.evaluate(
        FloatNetwork(graph), qemu_nn.Dataset(x, np.array(list("abcde"))[chosen])
    )
    assert found.accuracy == 1.0
    assert [row[0] for row in found.classes] == list("abcde")
    turned = FloatNetwork(replace(graph, classes=tuple("edcba")))
    names = np.array(list("edcba"))[chosen]
    assert qemu_nn.evaluate(turned, qemu_nn.Dataset(x, names)).accuracy == 1.0
    other = np.array(["one", "two", "three", "four", "five"])
    with pytest.raises(Error, match="the label 'five' is not among the classes e, d, c, b, a"):
        qemu_nn.evaluate(turned, qemu_nn.Dataset(x, np.r_[other, np.full(45, "one")]))


def test_a_network_without_a_float_form_is_evaluated_alone():
    from networks import classifier as integers
    from networks import images

    found = qemu_nn.evaluate(Network(integers()), (images(30), RNG.integers(0, 10, 30)))
    assert set(found.figures) == {"accuracy", "top_5"}


def test_results_print_in_every_form(case):
    pandas = pytest.importorskip("pandas", reason="a data frame needs pandas")
    network, x, y = case
    found = qemu_nn.evaluate(network, qemu_nn.Dataset(x, y))
    frame = found.to_pandas()
    assert list(frame.columns) == ["of", "figure", "value"]
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(found.csv().splitlines()) - 1


def test_an_evaluation_reads_well(case):
    network, x, y = case
    found = qemu_nn.evaluate(network, qemu_nn.Dataset(x, y))
    assert f"accuracy {100 * found.accuracy:.2f} %" in " ".join(found.text().split())
    assert repr(found).startswith("Evaluation\nnetwork")
    assert "<table>" in found._repr_html_()
    again = json.loads(found.json())
    assert again == found.to_dict()
    assert again["classes"][0]["class"] == "0"
    assert "class 4" in found.csv()


# ---- the command line ----


def output_of(*arguments, code=0):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_the_verb_prints_what_the_function_returns(tmp_path):
    network, x = qemu_nn.quantize(classifier(), data(40), scheme="power2"), data(90)
    y = RNG.integers(0, 5, 90)
    network.save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    options = ["-d", tmp_path / "x.npy", "--labels", tmp_path / "y.npy", "--top", 2]
    more = ["--profiles", "m3,m55", "--threads", 2]
    found = qemu_nn.evaluate(network, qemu_nn.Dataset(x, y), top=2, profiles="m3,m55")
    told = output_of("evaluate", tmp_path / "net.qnz", *options, *more)
    assert told.endswith(f"{found.text()}\n")  # below a line on the inputs, on stderr
    told = output_of("evaluate", tmp_path / "net.qnz", *options, *more, "--json")
    assert json.loads(told[told.index("{") :]) == found.to_dict()
    alone = output_of("evaluate", tmp_path / "net.qnz", *options, "--no-reference", "--csv")
    assert "agreement" not in alone
    assert "float_" not in alone
    wrong = output_of("evaluate", tmp_path / "net.qnz", *options, "--kind", "autoencoder", code=2)
    assert "but an autoencoder" in wrong
    assert "Traceback" not in wrong


@pytest.mark.slow
def test_processes_give_the_same_figures(case):
    pytest.importorskip("distributed", reason="a cluster of processes needs dask")
    network, x, y = case
    found = qemu_nn.evaluate(network, qemu_nn.Dataset(x, y), client=2)
    assert found.json() == qemu_nn.evaluate(network, qemu_nn.Dataset(x, y)).json()
