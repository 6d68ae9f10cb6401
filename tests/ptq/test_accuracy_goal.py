"""The smallest network that is accurate enough, and runs that compute only what changed."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from branched_network import inputs, network, scheme
from click.testing import CliRunner

import qemu_nn
from qemu_nn.analysis.charts import chart_curves
from qemu_nn.api.network import FloatNetwork
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.ir.stored import weight_bytes
from qemu_nn.operators import Conv, Dense
from qemu_nn.ptq.rerun import Rerun, list_changed
from qemu_nn.quantizer.statistics import observe
from qemu_nn.runtime.evaluate import evaluate
from qemu_nn.runtime.session import Session

X = inputs(200)


def balanced():
    """Return a float network with more than one class."""
    graph = network(slope=0.0)
    dense = graph.node("dense").operator
    mean = evaluate(graph, X)["dense"].mean(0)
    return FloatNetwork(
        graph.with_operators({"dense": replace(dense, bias=dense.bias - 0.9 * mean)})
    )


FLOAT = balanced()


def smallest(accuracy, data=X, **how):
    return qemu_nn.quantize(FLOAT, data, scheme="affine", budget={"accuracy": accuracy, **how})


def classes(x):
    return FLOAT.predict(x).reshape(len(x), -1).argmax(1)


def agreement(made, x):
    return (made.predict(x).reshape(len(x), -1).argmax(1) == classes(x)).mean()


def test_the_network_is_smaller_and_accurate_enough():
    plain = qemu_nn.quantize(FLOAT, X, scheme="affine")
    sizes = {}
    for drop in (0.1, 0.2):
        made = smallest(drop)
        rows = made.curve.records()
        sizes[drop] = weight_bytes(made.graph)
        assert sizes[drop] == rows[-1]["flash"]
        assert rows[0]["flash"] == weight_bytes(plain.graph)
        assert all(row["accuracy"] >= 1 - drop for row in rows)
        assert agreement(made, inputs(400)) > 1 - 2 * drop - 0.02  # on other samples
    assert weight_bytes(plain.graph) > sizes[0.1] > sizes[0.2]


@pytest.mark.parametrize("cost", ["ram", "cycles"])
def test_another_cost_can_be_made_small(cost):
    made = smallest(0.2, smallest=cost)
    rows = made.curve.records()
    assert rows[-1][cost] < rows[0][cost]
    assert rows[-1]["accuracy"] >= 0.8


def test_labels_say_what_is_right_and_steps_keep_the_size():
    labels = classes(X)
    wrong = np.where(np.arange(200) % 10 == 1, (labels + 1) % 5, labels)  # every fifth that judges
    made = smallest(0.1, qemu_nn.Dataset(X, labels=wrong))
    assert "float network 80.00%" in made.notes[-1]
    steps = {"steps": ["round"]}
    better = qemu_nn.quantize(FLOAT, X, scheme="affine", budget={"accuracy": 0.1}, effort=steps)
    assert weight_bytes(better.graph) == weight_bytes(smallest(0.1).graph)


@pytest.mark.parametrize(
    ("budget", "how", "words"),
    [
        ({"accuracy": 0.001}, {}, "accuracy=0.001 needs 2000 samples"),
        ({"accuracy": 0.02, "flash": 900}, {}, "leave out flash="),
        ({"accuracy": 1.5}, {}, "but must be from 0 to below 1"),
        ({"accuracy": "much"}, {}, "accuracy must be"),
        ({"accuracy": 0.02, "smallest": "price"}, {}, "smallest"),
        ({"accuracy": 0.02}, {"scheme": "power2"}, "accuracy= needs scheme='affine'"),
        ({"accuracy": 0.02}, {"bits": 16}, "accuracy= needs scheme='affine' with bits=8"),
    ],
)
def test_what_does_not_fit_is_refused(budget, how, words):
    with pytest.raises(Error, match=words):
        qemu_nn.quantize(FLOAT, X, budget=budget, **{"scheme": "affine", **how})


def test_no_network_is_returned_that_is_not_accurate_enough():
    labels = classes(X)
    coarse = {"x": {"output": (-300.0, 300.0)}}
    with pytest.raises(Error, match=r"are right with all layers as wide .* give more calibration"):
        qemu_nn.quantize(
            FLOAT,
            (X, labels),
            scheme="affine",
            budget={"accuracy": 0.1},
            options={"formats": coarse},
        )


def test_the_curve_is_a_picture_in_the_report_and_part_of_the_file(tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    made = smallest(0.1)
    made.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    assert again.curve == made.curve
    chart = chart_curves(made.curve)[0]
    assert chart.names == ("flash", "accuracy")
    report = qemu_nn.analyze(again, X[:16])
    assert chart in report.charts()
    assert report.html().count("<h2>Accuracy against costs</h2>") == 1
    assert "Share of correct classes, against flash" in report.html()
    plain = qemu_nn.analyze(qemu_nn.quantize(FLOAT, X, scheme="affine"), X[:16])
    assert "<h2>Accuracy against costs</h2>" not in plain.html()


@pytest.mark.parametrize("rows", [3, [[1]], [[True] * 7], [[{}] * 7]])
def test_a_damaged_curve_is_refused(tmp_path, rows):
    smallest(0.1).save(tmp_path / "net.qnz")
    with zipfile.ZipFile(tmp_path / "net.qnz") as old:
        entries = {name: old.read(name) for name in old.namelist()}
    document = json.loads(entries["graph.json"])
    document["curve"]["rows"] = rows
    entries["graph.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(tmp_path / "bad.qnz", "w") as new:
        for name, data in entries.items():
            new.writestr(name, data)
    with pytest.raises(ModelError, match="'rows' must be lists"):
        qemu_nn.load(tmp_path / "bad.qnz")


def test_the_command_line_finds_the_smallest_network(tmp_path, monkeypatch):
    FLOAT.save(tmp_path / "float.qnz")
    np.save(tmp_path / "x.npy", X)
    arguments = ["quantize", "float.qnz", "-d", "x.npy", "-o", "net.qnz", "--scheme", "affine"]
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, [*arguments, "--accuracy", "0.1", "--smallest", "flash"])
    assert result.exit_code == 0, result.output
    assert " bytes of weights, " in result.output
    assert qemu_nn.load("net.qnz").curve == smallest(0.1).curve


# ---- runs after a change ----


@pytest.mark.parametrize("name", ["power2", "affine"])
def test_only_calls_after_a_change_run_and_all_bits_are_those_of_a_whole_run(name):
    own = scheme(name)
    graph = own.prepare(network(slope=0.0), softmax=False)[0]
    formats = own.assign_formats(graph, observe(graph, [X[:32]]), {})
    run = Rerun(X[:8], own.profile)
    layers = [n.name for n in graph.nodes if isinstance(n.operator, (Conv, Dense))]
    ran, every = [], []
    for layer in ["", *reversed(layers), *reversed(layers)]:
        changed = graph
        if layer:
            operator = graph.node(layer).operator
            moved = replace(operator, weights=operator.weights * 0.75)
            changed = graph.with_operators({layer: moved})
        calls = own.lower(changed, formats)
        before = run.calls
        found = run.run(calls)
        ran.append(run.calls - before)
        every.append(len(calls.nodes))
        wanted = Session(calls, own.profile).run(calls.input.format.quantize(X[:8]))
        assert found.keys() == wanted.keys()
        for output, codes in wanted.items():
            np.testing.assert_array_equal(found[output], codes)
    assert ran[0] == every[0]
    assert sum(ran) < 0.75 * sum(every)
    assert run.run(calls).keys() == wanted.keys()


def test_a_call_has_changed_if_its_inputs_parameters_or_arrays_have():
    own = scheme("affine")
    graph = own.prepare(network(slope=0.0), softmax=False)[0]
    calls = own.lower(graph, own.assign_formats(graph, observe(graph, [X[:32]]), {}))
    assert list_changed(calls, calls) == []
    assert list_changed(calls, None) == list(calls.nodes)
    last = calls.nodes[-1]
    arrays = {**calls.arrays, last.weights: calls.arrays[last.weights] + np.int8(1)}
    assert list_changed(replace(calls, arrays=arrays), calls) == [last]
    other = replace(last, params={**last.params, "act_min": 3})
    assert list_changed(replace(calls, nodes=(*calls.nodes[:-1], other)), calls) == [other]
