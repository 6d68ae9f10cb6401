"""Memory shared over time is planned as TensorFlow Lite Micro plans it."""

import json

import affine_networks
import networks
import numpy as np
import pytest
from paths import GOLDEN

from qemu_nn.api import golden as pipeline
from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.ir.graph import Graph, Tensor
from qemu_nn.runtime.arena import Buffer, arrange, plan_tensor_arena

RECORDED = json.loads((GOLDEN / "tflm_arena.json").read_text())["cases"]


def plan(*spans):
    """Offsets and total of buffers (bytes, first, last)."""
    arena = arrange([Buffer(str(i), *span) for i, span in enumerate(spans)])
    return list(arena.offsets), arena.nbytes


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: str(case["head"]))
def test_recorded_networks_take_what_they_take_there(case):
    assert plan(*case["buffers"])[1] == case["head"]


def test_sizes_are_rounded_up_and_lifetimes_include_their_ends():
    assert plan((1, 0, 1), (17, 1, 2), (16, 2, 3)) == ([32, 0, 32], 48)


def test_buffers_that_never_meet_share_their_memory():
    assert plan((64, 0, 1), (64, 2, 3), (64, 4, 4)) == ([0, 0, 0], 64)


def test_the_largest_goes_first_and_a_small_one_into_the_lowest_gap_that_holds_it():
    spans = (48, 0, 9), (80, 0, 2), (64, 2, 9), (32, 3, 9), (16, 3, 9)
    assert plan(*spans) == ([144, 0, 80, 0, 32], 192)


def test_of_equal_sizes_the_last_goes_first():
    assert plan((32, 0, 1), (32, 1, 2)) == ([32, 0], 64)


def test_no_buffers_take_no_memory():
    assert plan() == ([], 0)


@pytest.mark.parametrize("alignment", [1, 4, 16, 64])
@pytest.mark.parametrize("seed", range(20))
def test_what_lives_together_lies_apart(seed, alignment):
    rng = np.random.default_rng(seed)
    firsts = rng.integers(0, 12, 25)
    spans = zip(rng.integers(1, 300, 25), firsts, firsts + rng.integers(0, 6, 25))
    buffers = [Buffer(str(i), *map(int, span)) for i, span in enumerate(spans)]
    arena = arrange(buffers, alignment)
    ends = [start + b.nbytes for start, b in zip(arena.offsets, buffers)]
    for i, one in enumerate(buffers):
        for j, other in enumerate(buffers[:i]):
            apart = ends[i] <= arena.offsets[j] or ends[j] <= arena.offsets[i]
            assert apart or not one.meets(other)
    assert all(start % alignment == 0 for start in arena.offsets)
    assert (
        max(map(arena.count_live_bytes, range(20)))
        <= arena.nbytes
        <= sum(b.nbytes + 63 for b in buffers)
    )


def pool(name, source, size, channels=16):
    """Max pooling of 1x1 windows: `size` x `size` pixels to as many."""
    sides = dict.fromkeys(("input_h", "input_w", "output_h", "output_w"), size)
    ones = dict.fromkeys(("batches", "filter_h", "filter_w", "stride_h", "stride_w"), 1)
    rest = {"channels": channels, "pad_h": 0, "pad_w": 0, "act_min": -128, "act_max": 127}
    return networks.node(name, "arm_max_pool_s8", [source], **sides, **ones, **rest)


def add(name, *sources, elements):
    return networks.node(name, "arm_add_q7", sources, blockSize=elements)


def residual():
    """in -> a -> b -> sum(a, b) -> end: `a` stays while `b` is made."""
    nodes = (
        pool("a", "in", 8),
        pool("b", "a", 8),
        add("sum", "a", "b", elements=1024),
        pool("end", "sum", 8),
    )
    return Graph("residual", (Tensor("in", (8, 8, 16), "int8"),), nodes, ("end",), {})


#: No scratch memory in any layer of residual().
NONE = {"a": {}, "b": {}, "sum": {}, "end": {}}


def test_a_residual_network_keeps_three_tensors_at_its_sum():
    plan = plan_tensor_arena(residual(), NONE)
    assert plan.arena.nbytes == 3072
    assert plan.live == {"a": 2048, "b": 2048, "sum": 3072, "end": 2048}
    assert len({plan.tensors[name] for name in ("a", "b", "sum")}) == 3
    assert plan.scratch == NONE


def test_scratch_lives_while_its_layer_runs():
    plan = plan_tensor_arena(residual(), {**NONE, "a": {"ctx": 1500}, "b": {"ctx": 40}})
    assert plan.live == {"a": 2048 + 1504, "b": 2048 + 48, "sum": 3072, "end": 2048}
    assert plan.arena.nbytes == 4096  # a is after sum, and the input fits nowhere below
    assert plan.scratch["a"] == {"ctx": 0}
    assert plan.scratch["sum"] == {}


def test_outputs_stay_to_the_end_and_an_unread_input_lives_at_the_start():
    graph = residual()
    held = Graph("held", (graph.input,), graph.nodes, ("a", "end"), {})
    assert plan_tensor_arena(held, NONE).live["end"] == 3072
    lone = Graph("lone", (graph.input,), (graph.nodes[0], pool("c", "a", 8)), ("c",), {})
    assert plan_tensor_arena(lone, {"a": {}, "c": {}}).live == {"a": 2048, "c": 2048}


def nothing(graph):
    return {node.name: {} for node in graph.nodes}


def test_the_residual_network_of_mlperf_tiny_takes_what_tflite_micro_takes():
    # three tensors of 32x32x16 at the first sum: the head that print_allocations() reports
    graph = S8_NETWORKS["resnet8_s8"]()
    plan = plan_tensor_arena(graph, nothing(graph))
    assert plan.arena.nbytes == plan.live["add1"] == 3 * 32 * 32 * 16


def test_the_keyword_network_of_mlperf_tiny_takes_what_tflite_micro_takes():
    # two tensors of 25x5x64 at every layer
    graph = S8_NETWORKS["kws_dscnn_s8"]()
    plan = plan_tensor_arena(graph, nothing(graph))
    assert plan.arena.nbytes == plan.live["pw3"] == 2 * 25 * 5 * 64


def test_a_report_says_where_everything_lies_and_how_long():
    network = pipeline.Network(affine_networks.small())
    told = json.loads(pipeline.describe(network, target="cortex-m0").json())
    rows = {row["layer"]: row for row in told["layers"]}
    sizes = {"in": 224, "conv": 160, "dw": 160, "pw": 160, "sum": 160, "pool": 16, "dense": 16}
    live = {"conv": ("in", "conv"), "dw": ("conv", "dw"), "pw": ("conv", "dw", "pw")}
    live.update(sum=("conv", "pw", "sum"), pool=("sum", "pool"), dense=("pool", "dense"))
    for layer, names in live.items():
        own = sum(sizes[name] for name in names) + -(-rows[layer]["scratch_bytes"] // 16) * 16
        assert rows[layer]["bytes_in_use"] == own
    assert [row["needed_until"] for row in told["layers"]] == [
        *("sum", "pw", "sum", "pool", "dense", "softmax", "softmax")
    ]
    assert told["peak_bytes"] == max(row["bytes_in_use"] for row in told["layers"])
    assert rows[told["peak_layer"]]["bytes_in_use"] == told["peak_bytes"]
    assert told["tflm_head_bytes"] >= told["peak_bytes"]
    assert "tflm_arena_bytes" not in told  # that is of a .tflite file


@pytest.mark.parametrize(
    ("core", "scratch", "total"),
    [
        # convolution: 2 columns of 28 taps in 16 bits, after all else; pooling: 8 sums
        ("cortex-m4", [112, 0, 0, 0, 32, 0, 0], 592),
        ("cortex-m0", [112, 0, 0, 0, 0, 0, 0], 592),
        # 4 columns of 32 taps; depthwise: 4 * 124 channels * 9 taps; dense: 5 sums
        ("cortex-m55", [128, 4464, 0, 0, 0, 20, 0], 4784),
    ],
)
def test_scratch_memory_is_that_of_the_core(core, scratch, total):
    told = json.loads(pipeline.describe(pipeline.Network(affine_networks.small()), core).json())
    assert [row["scratch_bytes"] for row in told["layers"]] == scratch
    assert told["activation_bytes"] == total
