"""Calls that become part of others, or are made once: the bytes of a run stay as they are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traced_runs import DEVICE, same_bytes

import qemu_nn
from qemu_nn import Network, Target
from qemu_nn.analysis.summary import summarize
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.scaling import quantize_multiplier
from qemu_nn.ir.graph import Graph, Loop, Node, Tensor
from qemu_nn.runtime import plan as planning
from qemu_nn.runtime.graph_fusion import Folded
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile

pytestmark = pytest.mark.caps

_WHOLE = {"act_min": -128, "act_max": 127}


def unfolded(monkeypatch, *session):
    """Return a session that runs every call."""
    with monkeypatch.context() as patch:
        patch.setattr(planning, "fold", lambda graph, steps, profile: Folded(graph, steps))
        return Session(*session)


class Drawing:
    """Appends calls with random weights; each output has the name of its call."""

    def __init__(self, shape, seed=0):
        self.rng = np.random.default_rng(seed)
        self.input = Tensor("x", shape, "int8", scale=0.1)
        self.tensors, self.nodes, self.arrays = {"x": self.input}, [], {}

    def call(self, name, function, params, inputs, weights=None, bias=None):
        declared = FUNCTIONS[function]
        names = [None, None]
        for i, (role, array) in enumerate((("weights", weights), ("bias", bias))):
            if array is not None:
                names[i] = f"{name}/{role}"
                self.arrays[names[i]] = array
        shape = declared.output.shape(params)
        kept = shape[1:] if len(shape) == 4 and shape[0] == 1 else shape
        output = Tensor(name, kept, declared.output.dtype, scale=0.1)
        self.nodes.append(Node(declared, params, tuple(inputs), output, *names))
        self.tensors[name] = output
        return name

    def pad(self, name, source, pre, post, value):
        side = dict(zip(("input_n", "input_h", "input_w", "input_c"), self.image(source)))
        around = {f"pre_{axis}": n for axis, n in zip("nhwc", (0, *pre, 0))}
        around.update({f"post_{axis}": n for axis, n in zip("nhwc", (0, *post, 0))})
        return self.call(name, "arm_pad_s8", {**side, **around, "pad_value": value}, [source])

    def image(self, source):
        shape = self.tensors[source].shape
        return shape if len(shape) == 4 else (1, *shape)

    def window(self, name, source, kind, kernel, stride, offset, pad=(0, 0), channels=5):
        batches, height, width, depth = self.image(source)
        params = {"batches": batches, "input_c": depth, "input_offset": offset, **_WHOLE}
        params.update(output_offset=3)
        for axis, size, side, step, edge in zip("hw", (height, width), kernel, stride, pad):
            params.update({f"input_{axis}": size, f"filter_{axis}": side, f"stride_{axis}": step})
            params.update({f"pad_{axis}": edge, f"dilation_{axis}": 1})
            params[f"output_{axis}"] = (size + edge - side) // step + 1
        own = {"filter_c": depth, "output_c": channels} if kind == "convolve" else {"ch_mult": 1}
        params.update(own)
        function = f"arm_{kind}_wrapper_s8"
        count = channels if kind == "convolve" else depth
        weights = self.rng.integers(-127, 128, FUNCTIONS[function].weights.shape(params))
        pairs = [quantize_multiplier(v) for v in self.rng.uniform(1e-3, 5e-3, count)]
        bias = np.array([[int(self.rng.integers(-900, 900)), *pair] for pair in pairs], np.int32)
        arrays = (weights.astype(np.int8), np.ascontiguousarray(bias.T))
        return self.call(name, function, params, [source], *arrays)

    def graph(self, *outputs, loops=()):
        outputs = outputs or (self.nodes[-1].name,)
        return Graph("drawn", (self.input,), tuple(self.nodes), outputs, self.arrays, loops=loops)


def padded_window(kind, height, width, depth, kernel, stride, pre, post, offset, value, own=(0, 0)):
    drawn = Drawing((height, width, depth), seed=height * width + depth)
    drawn.pad("pad", "x", pre, post, value)
    drawn.window("layer", "pad", kind, kernel, stride, offset, own)
    return drawn


two = st.tuples
SMALL = st.integers(0, 3)


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["convolve", "depthwise_conv"]),
    size=two(st.integers(3, 12), st.integers(3, 12), st.integers(1, 40)),
    kernel=two(st.integers(1, 3), st.integers(1, 3)),
    stride=two(st.integers(1, 3), st.integers(1, 3)),
    pre=two(SMALL, SMALL),
    post=two(SMALL, SMALL),
    offset=st.integers(-127, 128),
    samples=st.integers(1, 3),
)
def test_padding_in_front_of_a_layer_leaves_its_bytes(
    kind, size, kernel, stride, pre, post, offset, samples
):
    graph = padded_window(kind, *size, kernel, stride, pre, post, offset, -offset).graph()
    for threads in (1, 2):
        same_bytes(graph, samples, threads=threads)


def simple(value=-7, offset=7, kind="convolve", own=(0, 0)):
    return padded_window(kind, 8, 9, 6, (3, 3), (1, 1), (1, 1), (1, 1), offset, value, own)


@pytest.mark.parametrize("kind", ["convolve", "depthwise_conv"])
@pytest.mark.parametrize("device", [DEVICE, profile("cortex-m55", cmsis="7.0.0")])
def test_padding_becomes_part_of_the_layer_behind_it(kind, device):
    graph = simple(kind=kind).graph()
    assert same_bytes(graph, device=device) == ["layer"]
    session = Session(graph, device)
    assert "with pad" in str(session.plan)
    assert [call.node.name for call in session.plan.calls] == ["pad", "layer"]
    traced = Session(graph, device, trace=True).plan
    assert [step.node.name for step in traced.steps] == ["pad", "layer"]


def test_the_sides_of_padding_may_differ():
    drawn = padded_window("convolve", 8, 9, 6, (3, 3), (2, 1), (0, 2), (1, 0), 7, -7)
    assert same_bytes(drawn.graph()) == ["layer"]


def test_padding_adds_to_that_of_the_layer():
    assert same_bytes(simple(own=(1, 1)).graph()) == ["layer"]


def test_padding_with_another_value_is_a_call():
    assert same_bytes(simple(value=-6).graph()) == ["pad", "layer"]


def test_padding_that_something_else_reads_is_a_call():
    drawn = simple()
    drawn.window("other", "pad", "convolve", (3, 3), (2, 2), 7)
    assert same_bytes(drawn.graph("layer", "other")) == ["pad", "layer", "other"]
    assert same_bytes(simple().graph("pad", "layer")) == ["pad", "layer"]


def test_padding_of_channels_is_a_call():
    drawn = simple()
    pad, layer = drawn.nodes
    pad = replace(pad, params={**pad.params, "input_c": 5, "pre_c": 1})
    drawn.input = Tensor("x", (8, 9, 5), "int8", scale=0.1)
    drawn.nodes = [pad, layer]
    assert same_bytes(drawn.graph()) == ["pad", "layer"]


def test_lanes_that_depend_on_their_place_keep_padding():
    device = profile("cortex-m55", cmsis="7.0.0", rounding="single")
    assert same_bytes(simple().graph(), device=device) == ["pad", "layer"]


def test_whoever_asks_for_a_row_gets_every_call():
    steps = Session(simple().graph(), DEVICE, "plain").plan.steps
    assert [step.node.name for step in steps] == ["pad", "layer"]


def test_a_network_in_a_file_is_folded_alike(tmp_path):
    graph = simple().graph()
    Network(graph).save(tmp_path / "net.qnz")
    read = qemu_nn.load(tmp_path / "net.qnz")
    x = draw_inputs(graph, 3)
    want = Session(graph, DEVICE).run(x)["layer"]
    session = read.session(Target("cortex-m4", "7.0.0"))
    np.testing.assert_array_equal(session.run(x)["layer"], want)
    assert [step.node.name for step in session.plan.steps] == ["layer"]


def test_a_report_names_calls_that_are_part_of_others():
    rows = summarize(Session(simple().graph(), DEVICE).plan, {"arena": 1}).layers.rows
    assert [row[0] for row in rows] == ["pad", "layer"]
    assert rows[0][-1] == "with layer"


# ---- what depends on no input ----


def with_constant(kept=False):
    """x + 2 * broadcast of a constant, and the constant's own name."""
    drawn = Drawing((2, 3, 4))
    values = np.arange(4, dtype=np.int8)
    drawn.call("const", "tflm_constant_s8", {"length": 4}, [], values)
    sides = {"input_n": 1, "input_h": 1, "input_w": 1, "input_c": 4}
    sides.update({"output_n": 1, "output_h": 2, "output_w": 3, "output_c": 4})
    drawn.call("wide", "tflm_broadcast_s8", sides, ["const"])
    one = {"offset": 0, "mult": 1 << 30, "shift": 0}
    params = {f"input_{i}_{key}": value for i in (1, 2) for key, value in one.items()}
    params.update(left_shift=20, out_offset=0, out_mult=1 << 30, out_shift=-18, block_size=24)
    drawn.call("sum", "arm_elementwise_add_s8", {**params, **_WHOLE}, ["x", "wide"])
    drawn.call("again", "arm_elementwise_add_s8", {**params, **_WHOLE}, ["sum", "wide"])
    return drawn


def test_what_depends_on_no_input_is_made_once():
    graph = with_constant().graph()
    assert same_bytes(graph, 5) == ["sum", "again"]
    assert same_bytes(graph, 5, threads=2) == ["sum", "again"]
    (constant,) = Session(graph, DEVICE).plan.constants
    assert constant.name == "wide"
    session, x = Session(graph, DEVICE), draw_inputs(graph, 5)
    first = session.run(x)["again"]
    np.testing.assert_array_equal(session.run(x)["again"], first)
    kernel = {row[0]: row[-1] for row in summarize(session.plan, {"arena": 1}).layers.rows}
    assert kernel["wide"] == "left out"


def test_a_constant_that_a_run_returns_is_a_call():
    assert same_bytes(with_constant().graph("wide", "again")) == ["wide", "sum", "again"]


def copying(most=127):
    """Return a layer whose output is limited by a minimum and reshaped."""
    drawn = simple()
    drawn.call("most", "tflm_constant_s8", {"length": 1}, [], np.full(1, most, np.int8))
    sides = dict(zip("nhwc", (1, 8, 9, 5)))
    params = {f"input1_{axis}": side for axis, side in sides.items()}
    params.update({f"input2_{axis}": 1 for axis in "nhwc"})
    drawn.call("clipped", "arm_minimum_s8", params, ["layer", "most"])
    drawn.call("flat", "arm_reshape_s8", {"total_size": 360}, ["clipped"])
    drawn.tensors["flat"] = drawn.tensors["clipped"]
    drawn.pad("wider", "flat", (1, 1), (1, 1), -7)
    return drawn


def test_what_copies_is_left_out():
    assert same_bytes(copying().graph(), 3) == ["layer", "wider"]
    assert same_bytes(copying().graph("wider", "flat"), 3) == ["layer", "flat", "wider"]
    assert same_bytes(copying(126).graph(), 3) == ["layer", "clipped", "wider"]


@pytest.mark.parametrize("early", [True, False])
def test_a_variable_is_read_where_it_is_unless_it_was_written_since(early):
    length = {"length": 8 * 9 * 6}
    drawn = Drawing((8, 9, 6))
    kept = drawn.tensors["kept"] = Tensor("kept", (8, 9, 6), "int8", scale=0.1)
    drawn.call("old", "tflm_read_variable_s8", length, ["kept"])
    drawn.tensors["old"] = kept
    drawn.window("layer", "old", "convolve", (3, 3), (1, 1), 7)
    drawn.call("kept =", "tflm_assign_variable_s8", length, ["kept", "x"])
    nodes = drawn.nodes if early else [drawn.nodes[i] for i in (0, 2, 1)]
    graph = Graph("kept", (drawn.input,), tuple(nodes), ("layer",), drawn.arrays, states=(kept,))
    x, session = draw_inputs(graph, 2, 3), Session(graph, DEVICE)
    want = session.run(x, trace=True)["layer"]
    np.testing.assert_array_equal(session.run(x)["layer"], want)
    assert ("old" in [step.node.name for step in session.plan.steps]) is not early


def test_loops_around_folded_calls_stay_around_the_others(monkeypatch):
    drawn = Drawing((8, 9, 6))
    one = np.ones(1, np.int32)
    drawn.call("zero", "tflm_constant_s32", {"length": 1}, [], one * 0)
    drawn.call("turn", "tflm_read_variable_s32", {"length": 1}, ["zero"])
    drawn.call("image", "tflm_read_variable_s8", {"length": 8 * 9 * 6}, ["x"])
    drawn.tensors["image"] = Tensor("image", (8, 9, 6), "int8")
    drawn.call("most", "tflm_constant_s32", {"length": 1}, [], one * 3)
    drawn.call("goes on", "tflm_less_s32", {"length": 1}, ["turn", "most"])
    drawn.call("one", "tflm_constant_s32", {"length": 1}, [], one)
    drawn.call("next", "tflm_add_s32", {"length": 1, "activation": 0}, ["turn", "one"])
    drawn.call("copy", "tflm_read_variable_s8", {"length": 8 * 9 * 6}, ["image"])
    drawn.tensors["copy"] = Tensor("copy", (8, 9, 6), "int8")
    drawn.pad("pad", "copy", (1, 1), (1, 1), -7)
    drawn.window("layer", "pad", "convolve", (3, 3), (1, 1), 7, channels=6)
    drawn.call("turn =", "tflm_assign_variable_s32", {"length": 1}, ["turn", "next"])
    length = {"length": 8 * 9 * 6}
    drawn.call("image =", "tflm_assign_variable_s8", length, ["image", "layer"])
    drawn.call("out", "tflm_read_variable_s8", length, ["image"])
    graph = drawn.graph("out", loops=(Loop(3, 5, 12, "goes on"),))
    ran = same_bytes(graph, 3)
    assert not {"zero", "most", "one", "pad"} & set(ran)
    assert {"turn", "image", "layer", "turn =", "image ="} <= set(ran)
    x = draw_inputs(graph, 3)
    want = unfolded(monkeypatch, graph, DEVICE).run(x)["out"]
    np.testing.assert_array_equal(Session(graph, DEVICE).run(x)["out"], want)


def test_padding_of_what_a_loop_writes_is_a_call():
    """Check a layer that reads after the image was overwritten: the padded image is older."""
    drawn = Drawing((8, 9, 6))
    length = {"length": 8 * 9 * 6}
    drawn.pad("pad", "x", (1, 1), (1, 1), -7)
    drawn.window("layer", "pad", "convolve", (3, 3), (1, 1), 7, channels=6)
    drawn.call("state =", "tflm_assign_variable_s8", length, ["kept", "layer"])
    nodes = [replace(drawn.nodes[0], inputs=("kept",)), *drawn.nodes[1:]]
    moved = [nodes[0], replace(nodes[2], inputs=("kept", "x")), nodes[1]]
    kept = Tensor("kept", (8, 9, 6), "int8", scale=0.1)
    graph = Graph("kept", (drawn.input,), tuple(moved), ("layer",), drawn.arrays, states=(kept,))
    x = draw_inputs(graph, 2, 3)
    session = Session(graph, DEVICE)
    want = session.run(x, trace=True)["layer"]
    np.testing.assert_array_equal(session.run(x)["layer"], want)
    assert [step.node.name for step in session.plan.steps] == ["pad", "state =", "layer"]
