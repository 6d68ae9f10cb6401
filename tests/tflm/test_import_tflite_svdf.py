"""SVDF with 8-bit states, softmax of a near scale, QUANTIZE to 32 bits: as the framework does.

keyword_scrambled.tflite of TensorFlow Lite Micro has the two latter, its 8-bit sibling states with
zero points.
"""

import numpy as np
import pytest
from paths import SHARED
from tflite_cases import CASES, Net, inputs

import qemu_nn
from qemu_nn.functions import FUNCTIONS

PUBLISHED = SHARED / "models_tflite2" / "tflm_keyword_scrambled.tflite"


def outputs(net, folder, x, core="cortex-m4"):
    network = qemu_nn.load(net.save(folder))
    return next(iter(network.session(core).run(x).values()))


@pytest.mark.parametrize("near", [0.9991, 1.0009])
@pytest.mark.parametrize("name", ["softmax_s8_s16", "softmax_s16"])
def test_the_scale_of_a_softmax_of_16_bits_may_be_near(name, near, tmp_path):
    exact, other = CASES[name](), CASES[name]()
    other.tensors[1]["scales"] *= np.float32(near)
    x = inputs(name, qemu_nn.load(exact.save(tmp_path)).graph.input)
    want = outputs(exact, tmp_path, x)
    np.testing.assert_array_equal(outputs(other, tmp_path, x), want)


@pytest.mark.parametrize(("name", "factor"), [("softmax_s16", 1.0011), ("softmax_s8", 1.0001)])
def test_no_other_scale_of_a_softmax_may_differ(name, factor, tmp_path):
    net = CASES[name]()
    net.tensors[1]["scales"] *= np.float32(factor)
    with pytest.raises(qemu_nn.ModelError, match="its output has the scale"):
        qemu_nn.load(net.save(tmp_path))


def widened(type="INT16", zero=-32768):
    net = Net(type)
    x = net.input((1, 5), 2.0**-16, zero, type)
    y = net.output((1, 5), 2.0**-15, 7, "INT32")
    net.operator("QUANTIZE", [x], [y])
    return net


def test_quantize_to_32_bits_rounds_as_the_others_do(tmp_path):
    x = np.array([[-32768, -32767, -32766, 0, 32767]], np.int16)
    got = outputs(widened(), tmp_path, x)
    assert got.dtype == np.int32
    assert got.tolist() == [[7, 8, 8, 16391, 32775]]  # halves go up


def with_a_zero_point(zero):
    net = CASES["svdf_s8"]()
    net.tensors[net.operators[0][1][4]]["zeros"] = np.int64([zero])
    return net


def svdf(network, x, added, zero):
    """SVDF of rank 1 in Python integers; added: to the sum of each filter; zero: in the state."""
    (node,) = network.graph.nodes
    p, arrays = node.params, network.graph.arrays
    weights, bias = arrays[node.weights].astype(int), arrays[node.bias].ravel()
    features = weights[: p["units"] * p["input_size"]].reshape(p["units"], -1)
    times = weights[features.size :].reshape(p["units"], -1)

    def scaled(value, name):
        product = int(value) * p[f"{name}_multiplier"] * 2 ** max(p[f"{name}_shift"], 0)
        high = (product + (2**30 if product >= 0 else 1 - 2**30)) // 2**31
        high += product < 0 and (product + 1 - 2**30) % 2**31 != 0
        right = -min(p[f"{name}_shift"], 0)
        half = 2**right >> 1
        return (high + half - (high < 0 and right > 0)) >> right if right else high

    state, found = np.full(times.shape, zero), []
    for vector in x.astype(int) - p["input_offset"]:
        newest = [scaled(row @ vector + added, "in") for row in features]
        newest = np.clip(newest, -32768, 32767).astype(np.int8)  # wraps
        state = np.column_stack([state[:, 1:], newest])
        sums = bias + (state * times).sum(1)
        found.append([scaled(each, "out") + p["output_offset"] for each in sums])
    return np.clip(found, -128, 127)


@pytest.mark.parametrize("zero", [0, -50, 37])
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m3", "cortex-m55"])
def test_the_zero_point_of_a_state_reaches_heliums_sums_alone(zero, core, tmp_path):
    network = qemu_nn.load(with_a_zero_point(zero).save(tmp_path))
    (node,) = network.graph.nodes
    x = inputs("svdf_s8", network.graph.input, steps=(12,))
    added = node.params["input_offset"] * zero * node.params["input_size"]
    got = network.session(core).run(x)[node.name]
    want = [svdf(network, sample, added if core == "cortex-m55" else 0, zero) for sample in x]
    np.testing.assert_array_equal(got.reshape(np.shape(want)), want)


def test_a_saved_network_of_before_has_no_zero_point():
    function = FUNCTIONS["arm_svdf_s8"]
    params = {name: 1 for name in function.params if name != "state_offset"}
    assert function.parse_params(params)["state_offset"] == 0


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"{PUBLISHED} is not there")
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_keyword_scrambled_computes_what_was_recorded(core):
    stored = np.load(PUBLISHED.with_name("tflm_keyword_scrambled_golden.npz"))
    session = qemu_nn.load(PUBLISHED).session(core)
    for kind in ("", "seq_", "walk_"):
        x = stored[f"{kind}input_0"]  # samples from reset, or steps of one
        x = x.reshape((1, -1, 96) if kind else (-1, 1, 96))
        traced = session.run(x, trace=True)
        (name,) = session.graph.outputs
        got = traced[name].reshape(stored[f"{kind}output_0"].shape)
        np.testing.assert_array_equal(got, stored[f"{kind}output_0"])
    layers = [node.name for node in session.graph.nodes]
    last = [stored[key] for key in stored.files if key.startswith("walk_last_t")]
    assert len(last) == len(layers)
    for name, values in zip(layers, last):
        np.testing.assert_array_equal(traced[name][0, -1], values.ravel(), name)
