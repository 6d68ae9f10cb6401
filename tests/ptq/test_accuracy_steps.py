"""The steps that make quantized networks more accurate do what each of them claims."""

import re

import numpy as np
import pytest
from branched_network import SCHEMES, inputs, lowered, network, on_grid, same, scheme
from click.testing import CliRunner
from flat_options import grouped
from float_classifiers import classifier, data
from thread_client import Client

import qemu_nn
from qemu_nn.analysis import layer_cycles
from qemu_nn.api.golden import FloatNetwork
from qemu_nn.cli.main import main
from qemu_nn.cycles import own
from qemu_nn.errors import Error
from qemu_nn.functions.layouts import pack_nibbles, unpack_nibbles
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.stored import weight_bytes
from qemu_nn.lowering.mixed import find_neighbours, mix_widths
from qemu_nn.operators import Conv, Dense, Elementwise, Pool, Relu, Reshape
from qemu_nn.ptq import mixed_precision as widths_of
from qemu_nn.quantizer.adaptive_rounding import compute_loss, round_layer, sum_products
from qemu_nn.quantizer.affine_rules import Rescale
from qemu_nn.quantizer.avgpool_to_conv import replace_average_pools
from qemu_nn.quantizer.bias_correction import correct_bias
from qemu_nn.quantizer.cross_layer_equalization import (
    STRENGTHS,
    equalize_channels,
    find_channel_groups,
)
from qemu_nn.quantizer.im2col import make_weight_matrix, make_window_rows
from qemu_nn.quantizer.steps import STEPS, observe_inputs
from qemu_nn.runtime.evaluate import evaluate


def largest(graph, x):
    return observe_inputs(graph, x, fixed=(), powers=False).largest


@pytest.mark.parametrize("strength", STRENGTHS, ids=lambda each: each.name)
@pytest.mark.parametrize("fill", [False, True])
def test_equalizing_leaves_the_real_function_as_it_is(strength, fill):
    graph, x = network(), inputs()
    result = equalize_channels(graph, largest(graph, x), strength, fill)
    changed = [a.name for a, b in zip(graph.nodes, result.nodes) if a is not b]
    assert changed == ["first", "depthwise", "point", "side", "dense"]
    real, other = (evaluate(each, x)["dense"] for each in (graph, result))
    np.testing.assert_allclose(other, real, rtol=1e-12, atol=1e-12 * np.abs(real).max())


def test_equalized_activations_reach_equally_far():
    graph, x = network(), inputs()
    strength = next(each for each in STRENGTHS if each.name == "activations")
    seen = largest(equalize_channels(graph, largest(graph, x), strength, fill=True), x)
    for tensor in ("first", "depthwise"):
        assert seen[tensor].min() > 0.99 * seen[tensor].max()
    top = max(seen[name].max() for name in ("point", "side", "sum", "relu2"))
    assert 0.87 < top / 2 ** np.ceil(np.log2(top)) < 0.88


def test_what_does_not_commute_with_scaling_is_left_alone():
    whole = {name for group in find_channel_groups(network()) for name in group.tensors}
    limited = {name for group in find_channel_groups(network(limit=6.0)) for name in group.tensors}
    assert whole - limited == {"first", "relu"}
    assert not whole & {"x", "dense"}


def test_layers_with_given_formats_stay():
    graph, x = network(), inputs()
    result = equalize_channels(graph, largest(graph, x), STRENGTHS[0], fixed={"point"})
    changed = [a.name for a, b in zip(graph.nodes, result.nodes) if a is not b]
    assert changed == ["first", "depthwise"]


def test_averages_by_convolutions_are_the_same():
    graph, x = network(), inputs()
    result = replace_average_pools(graph)
    assert isinstance(result.node("pool").operator, Conv)
    for name in ("pool", "dense"):
        real, other = (evaluate(each, x, trace=True)[name] for each in (graph, result))
        np.testing.assert_allclose(other, real, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "pool",
    [
        Pool("average", (3, 3), (2, 2), ceil=True),
        Pool("average", (3, 2), (2, 2), (1, 1, 1, 0)),
        Pool("average", (3, 3), (2, 2), (1, 0, 1, 1), ceil=True, count_pads=True),
    ],
)
def test_a_layer_behind_makes_up_for_averages_at_the_border(pool):
    graph, x = network(), inputs()
    old = {node.name: node for node in graph.nodes}
    old["pool"] = FloatNode("pool", pool, ("relu2",))
    size = int(np.prod(pool.shape((6, 6, 8))))
    old["flat"] = FloatNode("flat", Reshape((size,)), ("pool",))
    weights = np.random.default_rng(7).normal(size=(5, size))
    old["dense"] = FloatNode("dense", Dense(weights, np.zeros(5)), ("flat",))
    graph = graph.with_nodes(old.values())
    result = replace_average_pools(graph)
    assert isinstance(result.node("pool").operator, Conv)
    real, other = (evaluate(each, x)["dense"] for each in (graph, result))
    np.testing.assert_allclose(other, real, rtol=1e-12, atol=1e-12 * np.abs(real).max())
    assert replace_average_pools(graph, {"dense"}).node("pool").operator == pool
    seen = graph.with_nodes([*old.values(), FloatNode("other", Relu(), ("flat",))])
    assert replace_average_pools(seen).node("pool").operator == pool


@pytest.mark.parametrize("name", SCHEMES)
def test_rounding_is_never_worse_than_to_the_nearest(name):
    graph, x = network(slope=0.0), inputs(12)
    _, formats, graph = lowered(name, graph, x)
    real = evaluate(graph, x, trace=True)
    noise = np.random.default_rng(5)
    gained = 0.0
    for node in graph.nodes:
        if not isinstance(node.operator, (Conv, Dense)):
            continue
        source, grid = real[node.inputs[0]], formats.grid(node)
        device = source + noise.normal(size=source.shape) * 0.01 * source.std()
        rows = [make_window_rows(node.operator, values, 1024) for values in (device, source)]
        near = round_layer(node.operator, grid, *rows)
        assert on_grid(make_weight_matrix(near), grid.weights, grid.weight_limits)
        assert on_grid(near.bias, grid.biases, grid.bias_limits)
        plain = np.rint(make_weight_matrix(node.operator) / grid.weights).clip(*grid.weight_limits)
        weights = make_weight_matrix(node.operator)
        bias = np.asarray(node.operator.bias).reshape(weights.shape[:2])
        found = sum_products(*rows, weights, bias)

        def error(values, offsets, found=found):
            columns = offsets.reshape(*values.shape[:2], 1)
            return compute_loss(found, np.concatenate([values, columns], axis=2)).sum()

        nearest = error(plain * grid.weights, grid.bias(np.asarray(node.operator.bias)))
        chosen = error(make_weight_matrix(near), near.bias)
        assert chosen <= nearest + 1e-9 * abs(nearest)
        gained += nearest - chosen
    assert gained > 0


@pytest.mark.parametrize("name", SCHEMES)
def test_parameters_on_the_grid_become_these_integers(name):
    graph, x = network(slope=0.0), inputs(20)
    own, formats, graph = lowered(name, graph, x)
    device = own.lower(graph, formats)
    nodes = []
    for node in graph.nodes:
        if isinstance(node.operator, Conv):
            grid = formats.grid(node)
            rows = make_window_rows(
                node.operator, evaluate(graph, x, trace=True)[node.inputs[0]], 512
            )
            near = round_layer(node.operator, grid, rows, rows)
            node = FloatNode(node.name, near, node.inputs)
        nodes.append(node)
    changed = own.lower(graph.with_nodes(nodes), formats)
    assert [(n.function, n.params) for n in changed.nodes] == [
        (n.function, n.params) for n in device.nodes
    ]
    point = next(node for node in nodes if node.name == "point")
    array = next(n.weights for n in changed.nodes if n.weights and "point" in n.weights)
    integers = make_weight_matrix(point.operator) / formats.grid(point).weights
    assert np.array_equal(changed.arrays[array].reshape(-1), np.rint(integers).ravel())


def test_correcting_removes_the_mean_error():
    graph, x = network(), inputs(40)
    own, formats, graph = lowered("affine", graph, x)
    real = evaluate(graph, x, trace=True)
    shifted = [
        FloatNode(
            n.name, Conv(n.operator.weights * 1.02, n.operator.bias, pads=(1, 1, 1, 1)), n.inputs
        )
        if n.name == "first"
        else n
        for n in graph.nodes
    ]
    from qemu_nn.runtime.session import Session

    def measure(now):
        device = own.lower(now, formats)
        traced = Session(device, own.profile).run(device.input.format.quantize(x), trace=True)
        return lambda name: device.tensors[name].format.dequantize(traced[name])

    def mean_error(now):
        return np.abs((measure(now)("relu") - real["relu"]).mean((0, 1, 2)))

    start = graph.with_nodes(shifted)
    grid = formats.grid(graph.node("first"))
    result = correct_bias(start, "first", grid, real.__getitem__, measure)
    before, after = mean_error(start), mean_error(result)
    assert (after <= before).all()
    assert after.max() < before.max() / 5
    assert on_grid(result.node("first").operator.bias, grid.biases, grid.bias_limits)


def closeness(quantized, x):
    real = evaluate(quantized.reference, x)["dense"]
    return 10 * np.log10((real**2).sum() / ((real - quantized.predict(x)) ** 2).sum())


@pytest.mark.parametrize(
    "how", [{"effort": "fast"}, {"steps": []}, {"effort": "best", "minutes": 0}]
)
def test_without_effort_nothing_changes(how):
    net, x = classifier(softmax=False), data()
    assert same(
        qemu_nn.quantize(net, x, **grouped(**how)),
        qemu_nn.quantize(net, x, scheme="power2"),
    )


@pytest.mark.parametrize(("name", "gain"), [("power2", 2), ("affine", 2)])
def test_steps_help_on_other_data_and_are_told(name, gain):
    net, x, other = FloatNetwork(network(slope=0.0)), inputs(24), inputs(40, seed=6)
    plain = qemu_nn.quantize(net, x, scheme=name)
    steps = ["round", "equalize", "correct", "average"]
    better = qemu_nn.quantize(net, x, scheme=name, effort={"steps": steps})
    assert closeness(better, other) > closeness(plain, other) + gain
    told = [note.split(":")[0] for note in better.notes[-4:]]
    assert told == ["average", "equalize", "round", "correct"]


@pytest.mark.parametrize("steps", [["equalize"], ["equalize", "correct"]])
def test_all_samples_say_how_far_values_reach(steps):
    net, x = FloatNetwork(network(slope=0.0)), inputs(24)
    quantized = qemu_nn.quantize(net, x, scheme="affine", effort={"steps": steps})
    assert any("equalize" in note and "->" in note for note in quantized.notes)
    highest = quantized.graph.input.format.dequantize(np.array(127, np.int8))
    assert x[::4].max() * 1.1 < 0.98 * x.max() < highest


def test_rows_have_scales_of_their_own(tmp_path):
    graph, x = network(slope=0.0), inputs(24)
    dense = graph.node("dense").operator
    spread = 4.0 ** np.arange(5)[:, None]
    uneven = FloatNode("dense", Dense(dense.weights / spread, dense.bias), ("flat",))
    net = FloatNetwork(graph.with_nodes([*graph.nodes[:-1], uneven]))
    quantized = qemu_nn.quantize(net, x, scheme="affine")
    last = quantized.graph.nodes[-1]
    assert last.function.name == "arm_fully_connected_per_channel_s8"
    assert np.abs(quantized.graph.arrays[last.weights]).max(1).tolist() == [127] * 5
    plain = "arm_fully_connected_s8"
    for how in ({"functions": {"dense": plain}}, {"bits": 16}):
        other = qemu_nn.quantize(net, x, **grouped("affine", **how))
        assert other.graph.nodes[-1].function.name == how.get("functions", {}).get(
            "dense", "arm_fully_connected_s16"
        )


def test_the_same_data_give_the_same_network_on_threads_and_a_cluster():
    net, x = classifier(softmax=False), data(12)
    first, *others = (
        qemu_nn.quantize(
            net,
            x,
            scheme="power2",
            effort={"steps": ["formats", "equalize", "round"]},
            **how,
        )
        for how in ({}, {"threads": 2}, {"client": Client(3)})
    )
    for other in others:
        assert same(first, other)
        assert first.notes == other.notes


def test_analysis_compares_scaled_channels_with_what_they_stand_for():
    net, x = FloatNetwork(network(slope=0.0)), inputs(8)
    quantized = qemu_nn.quantize(net, x, scheme="affine", effort={"steps": ["equalize", "round"]})
    report = qemu_nn.analyze(quantized, x)
    assert min(layer.whole.sqnr for layer in report.layers) > 15
    real, other = (evaluate(each, x)["dense"] for each in (net.graph, quantized.reference))
    np.testing.assert_allclose(other, real, rtol=1e-4, atol=1e-5 * np.abs(real).max())


def test_a_softmax_stays():
    quantized = qemu_nn.quantize(
        classifier(), data(), scheme="power2", effort={"steps": ["equalize", "round"]}
    )
    assert "prob" in quantized.graph.outputs


def test_a_search_among_the_steps_goes_on_where_it_was(tmp_path):
    how = {"steps": ["search", "round"], "search_range": 1}
    file = tmp_path / "search.json"
    first = qemu_nn.quantize(
        classifier(softmax=False),
        data(),
        **grouped(**how, resume=file),
    )
    written = file.read_bytes()
    second = qemu_nn.quantize(
        classifier(softmax=False),
        data(),
        **grouped(**how, resume=file),
    )
    assert same(first, second)
    assert file.read_bytes() == written


def test_without_time_each_step_is_told():
    quantized = qemu_nn.quantize(
        classifier(), data(), scheme="power2", effort={"level": "best", "minutes": 0}
    )
    assert quantized.notes[-len(STEPS) :] == tuple(
        f"{name}: there was no time for it" for name in STEPS
    )


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"effort": "most"}, "'most'"),
        ({"steps": "round"}, "but must be a list of"),
        ({"steps": ["rund"]}, "round"),
        ({"minutes": -1}, "minutes is -1, but must be 0 or more"),
        ({"client": 2}, "effort='best'"),
    ],
)
def test_what_no_step_understands_is_told(how, words):
    with pytest.raises(Error) as caught:
        qemu_nn.quantize(classifier(), data(), **grouped(**how))
    assert words in str(caught.value)


def test_one_sample_cannot_fit_and_judge():
    with pytest.raises(Error, match="need two or more: one to fit, and one to judge"):
        qemu_nn.quantize(classifier(), data(1), scheme="power2", effort={"steps": ["round"]})


def test_the_command_line_takes_steps_by_commas(tmp_path):
    classifier().save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", data())
    files = [str(tmp_path / name) for name in ("net.qnz", "x.npy", "out.qnz")]
    arguments = ["quantize", files[0], "--data", files[1], "-o", files[2]]
    done = CliRunner().invoke(main, [*arguments, "--steps", "equalize, correct", "--minutes", "5"])
    assert done.exit_code == 0, done.output
    assert "note: equalize: " in done.output.replace("\n", " ").lower()
    wrong = CliRunner().invoke(main, [*arguments, "--steps", "equalise"])
    assert wrong.exit_code != 0
    assert "equalize" in wrong.output
    assert isinstance(qemu_nn.load(files[0]), FloatNetwork)


NARROW = {
    "relu": "arm_convolve_wrapper_s4",
    "depthwise": "arm_depthwise_conv_wrapper_s4",
    "point": "arm_convolve_s4",
    "dense": "arm_fully_connected_s4",
}


def test_weights_of_four_bits_come_two_in_a_byte():
    weights = np.arange(-8, 7, dtype=np.int8)
    packed = pack_nibbles(weights)
    assert packed.nbytes == 8
    assert np.array_equal(unpack_nibbles(packed, weights.size), weights)


def test_layers_take_weights_of_four_bits_by_their_functions():
    net, x = FloatNetwork(network(slope=0.0)), inputs(24)
    quantized = qemu_nn.quantize(
        net, x, scheme="affine", effort={"steps": ["round"]}, options={"functions": NARROW}
    )
    assert {node.function.name for node in quantized.graph.nodes} >= {*NARROW.values()}
    own = next(node for node in quantized.graph.nodes if node.name == "dense")
    integers = unpack_nibbles(quantized.graph.arrays[own.weights], 160)
    assert np.abs(integers).max() == 7
    assert closeness(quantized, inputs(40, seed=6)) > 25


def test_networks_of_four_bits_are_written_as_tflite(tmp_path):
    net, x = FloatNetwork(network(slope=0.0)), inputs(12)
    functions = {**NARROW, "point": "arm_convolve_wrapper_s4"}
    quantized = qemu_nn.quantize(net, x, scheme="affine", options={"functions": functions})
    quantized.save(tmp_path / "net.tflite")
    again = qemu_nn.load(tmp_path / "net.tflite")
    assert np.array_equal(again.predict(x), quantized.predict(x))


def test_as_many_layers_as_flash_asks_for_get_four_bits():
    net, x = FloatNetwork(network(slope=0.0)), inputs(24)
    whole = qemu_nn.quantize(net, x, scheme="affine")
    size = sum(array.nbytes for array in whole.graph.arrays.values())
    assert same(qemu_nn.quantize(net, x, scheme="affine", budget={"flash": size}), whole)
    steps = ["average", "round"]
    less = qemu_nn.quantize(
        net, x, scheme="affine", effort={"steps": steps}, budget={"flash": size - 60}
    )
    narrow = [n.name for n in less.graph.nodes if n.function.name.endswith("s4")]
    assert 0 < len(narrow) < 5
    assert sum(array.nbytes for array in less.graph.arrays.values()) <= size - 60
    told, back = ([n for n in less.notes if words in n] for words in (": 4 bits", "bits again"))
    assert len(told) - len(back) == len(narrow)
    assert closeness(less, x) > 25


def widths(quantized):
    """Layer -> the type of what it writes."""
    return {node.name: node.output.dtype for node in quantized.graph.nodes}


def cycles(quantized):
    return qemu_nn.estimate(quantized, target=qemu_nn.Target("m4", cmsis="7.0.0")).cycles[1]


def test_widths_change_where_a_layer_of_another_width_reads():
    graph, _ = scheme("affine").prepare(network())
    result, dtype = mix_widths(graph, {"depthwise", "point", "pool"})
    assert dtype == "int8"
    changes = {n.name: n.operator.to for n in result.nodes if isinstance(n.operator, Rescale)}
    assert changes == {
        **{"relu/16bits": "int16", "leaky/8bits": "int8", "point/8bits": "int8"},
        **{"relu2/16bits": "int16", "flat/8bits": "int8"},
    }
    assert result.node("side").inputs == ("leaky/8bits",)
    assert result.node("sum").inputs == ("point/8bits", "side")
    whole, dtype = mix_widths(graph, [node.name for node in graph.nodes])
    assert (whole.nodes, dtype) == (graph.nodes, "int16")


def test_layers_that_share_a_tensor_are_neighbours():
    near = find_neighbours(scheme("affine").prepare(network())[0])
    assert near["first"] == {"depthwise"}
    assert near["point"] == {"depthwise", "side", "sum"}
    assert near["pool"] == {"sum", "dense"}


@pytest.mark.parametrize("name", ["ram", "cycles"])
def test_layers_are_as_wide_as_a_budget_lets_them(name):
    net, x = FloatNetwork(network(slope=0.0)), inputs(24)
    narrow, wide = (qemu_nn.quantize(net, x, scheme="affine", bits=bits) for bits in (8, 16))
    of = {
        "ram": lambda each: each.fit(qemu_nn.Target("stm32f411", cmsis="7.0.0"), stack=0).ram,
        "cycles": cycles,
    }[name]
    budget = (of(narrow) + of(wide)) // 2
    between = qemu_nn.quantize(net, x, scheme="affine", budget={name: budget})
    assert {*widths(between).values()} == {"int8", "int16"}
    assert of(between) <= budget
    assert closeness(between, x) > closeness(narrow, x) + 1
    last = between.curve.records()[-1]
    assert of(between) <= last[name] <= budget  # an estimate leaves out what rescales
    assert name == "cycles" or of(between) == last[name]
    assert last["snr"] == pytest.approx(closeness(between, x), abs=0.1)
    assert len(between.curve.rows) == sum(" dB" in note for note in between.notes) > 1
    everything = qemu_nn.quantize(net, x, scheme="affine", budget={name: 2 * of(wide)})
    assert same(everything, wide)


def test_widths_of_weights_and_of_activations_share_budgets(tmp_path):
    net, x = FloatNetwork(network(slope=0.0)), inputs(24)
    plain = qemu_nn.quantize(net, x, scheme="affine")
    size = weight_bytes(plain.graph)
    budgets = {"flash": size - 60, "cycles": int(1.3 * cycles(plain))}
    steps = ["average", "correct"]
    both = qemu_nn.quantize(net, x, scheme="affine", effort={"steps": steps}, budget=budgets)
    assert "int16" in widths(both).values()
    assert any(node.function.name.endswith("s4") for node in both.graph.nodes)
    assert weight_bytes(both.graph) <= size - 60
    assert cycles(both) <= budgets["cycles"]
    both.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    assert np.array_equal(again.predict(x), both.predict(x))
    real, other = (evaluate(each, x)["dense"] for each in (net.graph, again.reference))
    np.testing.assert_allclose(other, real, rtol=1e-4, atol=1e-5 * np.abs(real).max())


def test_networks_of_two_widths_are_written_as_tflite(tmp_path):
    net, x = FloatNetwork(network(slope=0.0)), inputs(12)
    size = cycles(qemu_nn.quantize(net, x, scheme="affine"))
    quantized = qemu_nn.quantize(net, x, scheme="affine", budget={"cycles": int(1.1 * size)})
    assert "tflm_requantize_s8_s16" in {node.function.name for node in quantized.graph.nodes}
    quantized.save(tmp_path / "net.tflite")
    again = qemu_nn.load(tmp_path / "net.tflite")
    assert np.array_equal(again.predict(x), quantized.predict(x))


def test_what_nothing_is_known_of_is_not_taken_for_cheap(monkeypatch):
    """Check a network whose 8-bit maximum has counts, without those of the 16-bit one."""
    known = {
        core: {name: values for name, values in functions.items() if "maximum" not in name}
        for core, functions in own.read_own().items()
    }
    monkeypatch.setattr(own, "read_own", lambda: known)
    uncached = layer_cycles._compute_cached_cycles.__wrapped__
    monkeypatch.setattr(layer_cycles, "_compute_cached_cycles", uncached)
    rng, x = np.random.default_rng(1), inputs(8)
    nodes = [
        FloatNode("a", Conv(rng.normal(size=(4, 1, 1, 2)), None), ("x",)),
        FloatNode("b", Conv(rng.normal(size=(4, 1, 1, 2)), None), ("x",)),
        FloatNode("both", Elementwise("maximum"), ("a", "b")),
    ]
    net = FloatNetwork(FloatGraph("net", "x", x.shape[1:], "NHWC", tuple(nodes), ("both",)))
    free = qemu_nn.quantize(net, x, scheme="affine", budget={"ram": 10**6})
    assert {*widths(free).values()} == {"int16"}
    counted = qemu_nn.quantize(net, x, scheme="affine", budget={"cycles": 10**8})
    assert widths(counted)["both"] == "int8"
    assert not any("not counted" in note for note in counted.notes)


def test_without_time_a_budget_holds_all_the_same():
    net, x = FloatNetwork(network(slope=0.0)), inputs(8)
    most = int(1.2 * cycles(qemu_nn.quantize(net, x, scheme="affine")))
    assert (
        cycles(
            qemu_nn.quantize(
                net,
                x,
                scheme="affine",
                effort={"level": "fast", "minutes": 0},
                budget={"cycles": most},
            )
        )
        <= most
    )


def test_budgets_that_pull_apart_are_met_if_some_widths_meet_both():
    """Depthwise weights of 4 bits take many more cycles than those of 8, which then are enough."""
    net, x = FloatNetwork(network(slope=0.0)), inputs(8)
    budgets = {"flash": 800, "cycles": 165_000}
    found = qemu_nn.quantize(
        net, x, scheme="affine", effort={"level": "fast", "minutes": 0}, budget=budgets
    )
    assert cycles(found) <= budgets["cycles"]
    assert sum(array.nbytes for array in found.graph.arrays.values()) <= budgets["flash"]


def test_without_time_the_way_to_a_budget_is_short(monkeypatch):
    """Check that the saving of each change is computed once, not again after later changes."""
    net, x, tried = FloatNetwork(network(slope=0.0)), inputs(8), []
    made = widths_of.make_trial
    monkeypatch.setattr(
        widths_of, "make_trial", lambda job, bits: tried.append(bits) or made(job, bits)
    )
    found = qemu_nn.quantize(
        net, x, scheme="affine", effort={"level": "fast", "minutes": 0}, budget={"ram": 864}
    )
    assert found.fit(qemu_nn.Target("stm32f411", cmsis="7.0.0"), stack=0).ram <= 864
    assert len(found.curve.rows) == 4
    assert len(tried) < 45


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"flash": 100, "scheme": "affine"}, "more than flash=100; no other bits of a layer"),
        ({"ram": 100, "scheme": "affine"}, "bytes of memory, more than ram=100"),
        ({"cycles": 100, "scheme": "affine"}, "cycles, more than cycles=100"),
        ({"cycles": 10**7, "scheme": "affine", "target": "m0"}, "no instruction counts of m0"),
        ({"ram": 1.5, "scheme": "affine"}, "ram must be an integer"),
        ({"flash": 100}, "flash= needs scheme='affine' with bits=8"),
        ({"cycles": 100, "scheme": "affine", "bits": 16}, "cycles= needs scheme='affine'"),
        ({"flash": 0, "scheme": "affine"}, "flash"),
    ],
)
def test_budgets_that_no_width_reaches_are_told(how, words):
    with pytest.raises(Error) as caught:
        qemu_nn.quantize(FloatNetwork(network(slope=0.0)), inputs(4), **grouped(**how))
    assert words in str(caught.value)


@pytest.mark.parametrize("count", [24, 80])
def test_notes_promise_what_unseen_data_give(count):
    net, unseen = FloatNetwork(network(slope=0.0)), inputs(2000, seed=77)
    for seed in range(2):
        x = inputs(count, seed=200 + seed)
        plain = qemu_nn.quantize(net, x, scheme="affine")
        steps = ["equalize", "round", "correct"]
        better = qemu_nn.quantize(net, x, scheme="affine", effort={"steps": steps})
        told = [float(r) for note in better.notes for r in re.findall(r"([0-9.]+) dB", note)][-1]
        assert told < closeness(better, unseen) + 2
        assert closeness(better, unseen) > closeness(plain, unseen) - 0.1


def test_few_samples_do_not_cut_off_what_unseen_data_reach():
    net, unseen = FloatNetwork(network(slope=0.0)), inputs(500, seed=77)
    gains = []
    for seed in range(12):
        x = inputs((1, 2, 4)[seed % 3], seed=100 + seed)
        seen, wider = (
            closeness(qemu_nn.quantize(net, x, scheme="affine", method=method), unseen)
            for method in ("minmax", "extrapolate")
        )
        gains.append(wider - seen)
    assert np.mean(gains) > 1
    assert min(gains) > -4
