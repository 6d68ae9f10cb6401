"""Advice: each fault that is planted into a network or its data is named, with its remedy."""

import re
from dataclasses import replace

import click
import numpy as np
import pytest
from flat_options import grouped

import qemu_nn
from qemu_nn.analysis.faults import Fault, Gain, Remedy, spell_advice
from qemu_nn.api.network import FloatNetwork
from qemu_nn.cli.main import main
from qemu_nn.cli.spelling import spelled
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.input_summary import InputSummary, InputTally
from qemu_nn.operators import Conv, Dense, Elementwise, Pool, Relu, Reshape
from qemu_nn.runtime.evaluate import evaluate

SCHEMES = ("affine", "power2")
SIDE = 12


def images(seed, count=64):
    """Return smooth images with channels of different means, from 0 to 1."""
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(size=(count, 4, 4, 3)) * [0.5, 0.7, 0.9] + [0.05, 0.1, 0.05]
    wide = np.kron(coarse, np.ones((1, 3, 3, 1)))
    return ((wide + np.roll(wide, 1, 1) + np.roll(wide, 1, 2)) / 3).astype(np.float32)


CALIBRATION, TEST = images(1), images(2)


def layers():
    """Return the operators of a small classifier."""
    rng = np.random.default_rng(0)

    def weights(*shape):
        return rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))

    return {
        "conv1": Conv(weights(8, 3, 3, 3), rng.normal(size=8) / 9, pads=(1,) * 4),
        "relu1": Relu(),
        "pool1": Pool("max", (2, 2), (2, 2)),
        "conv2": Conv(weights(16, 3, 3, 8), rng.normal(size=16) / 9, pads=(1,) * 4),
        "relu2": Relu(),
        "pool2": Pool("average", (2, 2), (2, 2)),
        "flat": Reshape((144,)),
        "fc1": Dense(weights(24, 144), rng.normal(size=24) / 9),
        "relu3": Relu(),
        "fc2": Dense(weights(10, 24), rng.normal(size=10) / 9),
    }


def network(**changed):
    """Return the classifier as a float network, with some operators replaced."""
    names = {**layers(), **changed}
    sources = ("x", *names)
    nodes = tuple(FloatNode(n, op, (s,)) for s, (n, op) in zip(sources, names.items()))
    return FloatNetwork(FloatGraph("net", "x", (SIDE, SIDE, 3), "NHWC", nodes, ("fc2",)))


def advise(float_network=None, calibration=CALIBRATION, data=TEST, **how):
    """Return the advice on a network that is calibrated on some data and analyzed on other."""
    made = qemu_nn.quantize(float_network or network(), calibration, **grouped(**how))
    return qemu_nn.analyze(made, data).advice


def gain(line):
    """Return what advice promises of its first remedy, in decibels before and after."""
    before, after = re.search(r"\((-?[\d.]+) -> (-?[\d.]+) dB\)", line).groups()
    return float(before), float(after)


def scaled(operator, row=None, column=None, by=1.0):
    """Return a layer with one output channel or one input channel multiplied."""
    weights, bias = operator.weights.copy(), operator.bias.copy()
    if row is not None:
        weights[row] *= by
        bias[row] *= by
    if column is not None:
        weights[..., column] *= by
    return replace(operator, weights=weights, bias=bias)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_clean_network_gets_no_advice(scheme):
    assert advise(scheme=scheme) == ()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_outlier_channel_is_named_with_its_remedy_and_what_that_gains(scheme):
    own = layers()
    planted = network(
        conv1=scaled(own["conv1"], row=5, by=200), conv2=scaled(own["conv2"], column=5, by=1 / 200)
    )
    (line,) = advise(planted, scheme=scheme)
    assert line.startswith("relu1" if scheme == "affine" else "conv1")
    assert "channel 5 of its outputs reaches" in line
    assert ("channel 5 of its weights reaches" in line) == (scheme == "power2")
    assert 'effort={"steps": ["equalize"]}' in line
    before, after = gain(line)
    assert after > before + 5
    equalized = qemu_nn.quantize(planted, TEST[::2], scheme=scheme, effort={"steps": ["equalize"]})
    report = qemu_nn.analyze(equalized, TEST[1::2])
    assert report.layers[-1].whole.sqnr == pytest.approx(after, abs=0.05)  # as it was promised


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_outlier_row_of_a_dense_layer_is_named(scheme):
    own = layers()
    planted = network(
        fc1=scaled(own["fc1"], row=19, by=300), fc2=scaled(own["fc2"], column=19, by=1 / 300)
    )
    (line,) = advise(planted, scheme=scheme)
    assert line.startswith("relu3" if scheme == "affine" else "fc1")
    assert "channel 19 of its outputs" in line
    assert "equalize" in line
    assert gain(line)[1] > gain(line)[0] + 10


@pytest.mark.parametrize("scheme", SCHEMES)
def test_data_of_another_scale_are_blamed_before_any_layer(scheme):
    with pytest.warns(qemu_nn.InputWarning):
        (line,) = advise(data=TEST * 255, scheme=scheme)
    assert line.startswith("x: these data span")
    assert "a factor of 255" in line
    assert "Preprocessing(scale=1/255)" in line
    assert gain(line)[1] > 25
    with pytest.warns(qemu_nn.InputWarning):
        (line,) = advise(calibration=CALIBRATION * 255, scheme=scheme)
    assert "multiply these by 255" in line
    assert "calibrate with data as these" in line


def test_channels_in_the_reverse_order_are_told():
    labels = network().predict(TEST).argmax(1)
    (line,) = advise(data=(TEST[..., ::-1], labels))
    assert "one is RGB, and the other BGR: reverse the channels of these (" in line
    before, after = re.search(r"([\d.]+)% -> ([\d.]+)% right", line).groups()
    assert float(after) > float(before)
    assert float(after) > 90


def test_channels_first_that_are_read_as_channels_last_are_told():
    wrong = np.moveaxis(TEST, -1, 1).reshape(TEST.shape)
    (line,) = advise(data=wrong)
    assert line.startswith("x: these data seem to have their channels first in memory")
    swapped = np.moveaxis(CALIBRATION, -1, 1).reshape(CALIBRATION.shape)
    (line,) = advise(calibration=swapped)
    assert line.startswith("x: the calibration data seem to have their channels first")


def test_a_mean_that_is_not_subtracted_is_told():
    mean = CALIBRATION.mean((0, 1, 2))
    (line,) = advise(calibration=CALIBRATION - mean)
    assert "the mean of channel 2 is" in line
    assert "was the mean subtracted" in line
    assert gain(line)[1] > gain(line)[0] + 3


def test_a_wild_sample_of_the_calibration_is_named():
    wild = CALIBRATION.copy()
    wild[3, 5, 5, 1] = 80
    made = qemu_nn.quantize(network(), wild, method="minmax")
    assert any("sample 3 of the calibration data reaches 80" in note for note in made.notes)
    with pytest.warns(qemu_nn.InputWarning):
        (line,) = qemu_nn.analyze(made, TEST).advice
    assert line.startswith("x: sample 3 of the calibration data reaches 80")
    assert "calibrate without it" in line
    assert gain(line)[1] > gain(line)[0] + 10


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_constant_calibration_data_are_told(value):
    made = qemu_nn.quantize(network(), np.full_like(CALIBRATION, value))
    assert any(f"the calibration data are {value:g} in all of 64" in note for note in made.notes)
    (line,) = qemu_nn.analyze(made, TEST).advice
    assert line.startswith(f"x: the calibration data are {value:g} in all of 64 samples")
    assert "calibrate with data as these" in line
    assert gain(line)[1] > 25


def test_a_layer_that_saturates_by_itself_gets_a_range_that_holds_its_values():
    narrow = {"conv2": {"output": (-0.1, 0.1)}}
    (line,) = advise(formats=narrow, scheme="affine")
    assert "% of its values saturate" in line
    assert line.startswith("relu2")
    low, high = map(float, re.search(r'"output": \((\S+), (\S+)\)', line).groups())
    assert low == 0
    assert high > 0.3
    assert gain(line)[1] > gain(line)[0] + 10


def test_a_layer_that_inherits_its_saturation_is_not_blamed():
    made = qemu_nn.quantize(network(), CALIBRATION, method="minmax")
    conv = made.graph.node("relu1")  # the convolution with its activation
    rows = made.graph.arrays[conv.bias] + np.array([[0], [0], [2]], np.int32)  # shifts, by 2
    arrays = {**made.graph.arrays, conv.bias: rows}
    broken = replace(made, graph=replace(made.graph, arrays=arrays))
    report = qemu_nn.analyze(broken, TEST)
    late = [each.name for each in report.layers if each.lost_share >= 1 and each.name != "relu1"]
    assert late, "nothing saturates behind the broken layer"
    assert report.advice[0].startswith("relu1: it makes the error")
    assert not any(line.startswith(name) for line in report.advice for name in late)


def test_terms_of_unequal_size_that_share_a_format_are_named():
    rng = np.random.default_rng(3)
    nodes = (
        FloatNode("s", Conv(rng.normal(size=(8, 1, 1, 3)) / 2), ("x",)),
        FloatNode("b", Conv(rng.normal(size=(8, 1, 1, 8)) * 40), ("s",)),
        FloatNode("y", Elementwise("add"), ("s", "b")),
    )
    graph = FloatGraph("net", "x", (SIDE, SIDE, 3), "NHWC", nodes, ("y",))
    lines = advise(FloatNetwork(graph), scheme="power2")
    line = next(line for line in lines if line.startswith("y: "))
    assert "its terms s (to" in line
    assert "share the format Q" in line
    assert 'scheme="affine"' in line
    assert gain(line)[1] > gain(line)[0] + 10
    assert advise(FloatNetwork(graph), scheme="affine") == ()


def test_dead_channels_are_told_only_if_they_waste_memory():
    own = layers()
    dead = own["fc1"].bias.copy()
    dead[:12] = -100
    lines = advise(network(fc1=replace(own["fc1"], bias=dead)), data=images(2, 128))
    assert [line for line in lines if re.search("1[23] of 24 channels are 0 for all", line)]
    few = own["conv1"].bias.copy()
    few[:4] = -9  # half of the first layer, which has few weights
    planted = network(conv1=replace(own["conv1"], bias=few))
    assert advise(planted, data=images(2, 128), scheme="affine") == ()


# ---- sentences and summaries alone ----


def test_a_remedy_is_named_only_if_it_gains():
    cheap, costly = Remedy("cheap", {}), Remedy("costly", {}, costly=True)
    fault = Fault("a", "a: text", (cheap, costly), certain=False)

    def told(before, first, second):
        return spell_advice(fault, {cheap: Gain(before, first), costly: Gain(before, second)})

    assert told(30.0, 31.0, 60.0) is None
    assert told(10.0, 31.0, 60.0) == "a: text: cheap (10.0 -> 31.0 dB)"
    assert told(10.0, 9.0, 60.0) == "a: text: costly (10.0 -> 60.0 dB)"
    assert spell_advice(replace(fault, certain=True), {}) == "a: text: cheap, or costly"
    assert spell_advice(replace(fault, remedies=()), {}) is None
    fixed = Remedy("fix", fix=np.flip)
    gains = {fixed: Gain(30.0, 29.0, (0.5, 0.75))}
    assert spell_advice(replace(fault, remedies=(fixed,)), gains) == (
        "a: text: fix (30.0 -> 29.0 dB, 50.0% -> 75.0% right)"
    )


def test_a_summary_in_parts_is_that_of_the_whole_and_survives_a_file(tmp_path):
    parts, whole = InputTally(), InputTally()
    whole.add(CALIBRATION)
    for piece in np.array_split(CALIBRATION, 5):
        other = InputTally()
        other.add(piece)
        parts.merge(other)
    found, wanted = parts.summarize(), whole.summarize()
    for name in ("low", "high", "mean", "std", "error", "rough"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name)), name
    made = qemu_nn.quantize(network(), CALIBRATION)
    made.save(tmp_path / "net.qnz")
    assert qemu_nn.load(tmp_path / "net.qnz").calibration == made.calibration == wanted


@pytest.mark.parametrize(
    "change",
    [
        {"mean": [0.0]},
        {"samples": 0},
        {"std": ["a", "b", "c"]},
        {"rough": [1.0]},
        {"usual": float("inf")},
        {"more": 1},
    ],
)
def test_a_summary_that_is_damaged_is_refused(change):
    tally = InputTally()
    tally.add(CALIBRATION)
    values = {**tally.summarize().to_dict(), **change}
    with pytest.raises(qemu_nn.Error):
        InputSummary.from_dict(values)


def test_outlier_channels_have_figures_and_a_picture():
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    own = layers()
    planted = network(
        conv1=scaled(own["conv1"], row=5, by=200), conv2=scaled(own["conv2"], column=5, by=1 / 200)
    )
    made = qemu_nn.quantize(planted, CALIBRATION, scheme="power2")
    report = qemu_nn.analyze(made, TEST)
    rows = [row for row in report.channels_table().records() if row["layer"] == "conv1"]
    assert [row["channel"] for row in rows if row["outlier"]] == [5]
    real = evaluate(made.reference, TEST, trace=True)["conv1"].astype(float)
    codes = made.session().run(made.graph.input.format.quantize(TEST), trace=True)["conv1"]
    error = made.graph.tensors["conv1"].format.dequantize(codes) - real
    ratios = 10 * np.log10((real**2).sum((0, 1, 2)) / (error**2).sum((0, 1, 2)))
    np.testing.assert_allclose([row["sqnr_whole_db"] for row in rows], ratios, rtol=1e-3)
    page = report.html()
    for what in ("values", "weights"):
        picture = page.split(f'aria-label="Channels of conv1, {what}"', 1)[1].split("</svg>", 1)[0]
        outliers = picture.split('fill="var(--warn)" d="', 1)[1].split('"', 1)[0]
        assert re.fullmatch(r"M5 100v-100\.0h\.9V100z", outliers)
    clean = qemu_nn.analyze(qemu_nn.quantize(network(), CALIBRATION, scheme="affine"), TEST)
    assert "values, 8 channels" not in clean.html()


def test_remedies_are_in_the_words_of_the_command_line():
    found = [
        spelled(text, click.Context(main))
        for text in (
            'scale alike, effort={"steps": ["equalize"]} (1 -> 2 dB)',
            'take others, effort={"steps": ["formats", "equalize"]}',
            'give it fewer fraction bits, formats={"conv": {"output": -2}}',
            "scale these, such as by Preprocessing(scale=1/255)",
            'take a scale for each channel, scheme="affine"',
        )
    ]
    assert found == [
        "scale alike, --steps equalize (1 -> 2 dB)",
        "take others, --steps formats,equalize",
        "give it fewer fraction bits, --format conv.output=-2",
        "scale these, such as by --scale 1/255",
        "take a scale for each channel, --scheme affine",
    ]
