"""Sensitivity: the noise at the outputs that one layer, or one of its channels, makes alone."""

import json
import math

import numpy as np
import pytest
from branched_network import inputs, network
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api.network import FloatNetwork
from qemu_nn.cli.main import main
from qemu_nn.runtime.calls_after import plan_calls_after
from qemu_nn.runtime.evaluate import evaluate

X = inputs(24)


@pytest.fixture(scope="module", params=["affine", "power2"])
def made(request):
    return qemu_nn.quantize(FloatNetwork(network(slope=0.0)), X, scheme=request.param)


def ratio(network, wanted, got):
    """Return the signal-to-noise ratio of the output's integers in decibels."""
    form = network.graph.tensors["dense"].format
    right, values = form.dequantize(wanted), form.dequantize(got)
    noise = np.sum((values - right) ** 2)
    return 10 * math.log10(np.sum(right**2) / noise) if noise else math.inf


def test_a_layer_alone_errs_as_a_run_from_its_tensor_says(made):
    """Compute the first layer from exact inputs, and put it into the exact network."""
    report = qemu_nn.analyze(made, X, sensitivity=True)
    graph, profile = made.graph, made.session().profile
    real = evaluate(made.reference, X, trace=True)
    name = graph.nodes[0].name
    own = made.session().run(graph.input.format.quantize(X), trace=True)[name]
    exact = graph.tensors[name].format.quantize(real[name]).reshape(own.shape)
    after = plan_calls_after(graph, name, graph.outputs, profile)
    wanted = after.run(exact, {})["dense"]
    whole, channels = report.sensitivity[name]
    assert whole == pytest.approx(ratio(made, wanted, after.run(own, {})["dense"]))
    for channel in (0, 5):
        tried = exact.copy()
        tried[..., channel] = own[..., channel]
        assert channels[channel] == pytest.approx(
            ratio(made, wanted, after.run(tried, {})["dense"])
        )


def test_branches_are_fed_the_exact_values_of_the_others(made):
    report = qemu_nn.analyze(made, X, sensitivity=True)
    real = evaluate(made.reference, X, trace=True)
    form = made.graph.tensors
    exact = {n: form[n].format.quantize(real[n]).reshape(-1, *form[n].shape) for n in form}
    after = plan_calls_after(made.graph, "point", ("dense",), made.session().profile)
    assert "side" in after.others
    session = made.session()
    call = plan_calls_after(made.graph, "depthwise" if "depthwise" in form else "leaky", (), None)
    assert call.session is None
    twice = after.run(np.concatenate([exact["point"]] * 2), exact)["dense"]
    np.testing.assert_array_equal(twice[: len(X)], twice[len(X) :])
    assert session.run(exact["x"]).keys() == {"dense"}
    assert 0 < report.sensitivity["point"][0] < 80


def test_layers_before_the_outputs_are_told_the_most_sensitive_first(made):
    report = qemu_nn.analyze(made, X, sensitivity=True)
    rows = report.sensitivity_table().records()
    names = {node.name for node in made.graph.nodes} - {"dense"}
    assert {row["layer"] for row in rows} == names
    finite = [row["output_db"] for row in rows if row["output_db"] is not None]
    assert finite == sorted(finite)
    assert len(finite) >= 4
    first = rows[0]
    channels = report.sensitivity[first["layer"]][1]
    assert first["channel"] == int(np.argmin(channels))
    told = {
        (row["layer"], row["channel"]): row["output_db"]
        for row in report.channels_table().records()
    }
    assert told[first["layer"], first["channel"]] == first["channel_output_db"]
    assert "channel_output_db" in report.text()


def test_it_is_measured_only_if_asked_for(made, tmp_path):
    report = qemu_nn.analyze(made, X)
    assert report.sensitivity == {}
    assert "channel_output_db" not in report.text()
    made.save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", X)
    arguments = ["analyze", str(tmp_path / "net.qnz"), "-d", str(tmp_path / "x.npy"), "--json"]
    assert json.loads(CliRunner().invoke(main, arguments).output)["sensitivity"] == []
    found = json.loads(CliRunner().invoke(main, [*arguments, "--sensitivity"]).output)
    wanted = qemu_nn.analyze(made, X, sensitivity=True)
    assert found["sensitivity"] == json.loads(wanted.json())["sensitivity"] != []


def test_the_page_has_it(made):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    assert "<h2>Sensitivity</h2>" in qemu_nn.analyze(made, X, sensitivity=True).html()
    assert "<h2>Sensitivity</h2>" not in qemu_nn.analyze(made, X).html()


def test_several_inputs_are_refused(monkeypatch, made):
    with pytest.raises(qemu_nn.Error, match="sensitivity"):
        qemu_nn.analyze(made, X, sensitivity="yes")
