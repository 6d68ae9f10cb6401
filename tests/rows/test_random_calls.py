"""Generators of random calls deliver what their names say."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels.table import list_rows
from qemu_nn.testing.borders import find_moving_array, place_on_borders
from qemu_nn.testing.calls import OUTPUTS, draw_recipe
from qemu_nn.testing.channels import PARTITIONS, SCALES, draw_channel_sizes, draw_scales
from qemu_nn.testing.geometry import MOST_COUNTED, SHAPES, VECTOR_WIDTHS
from qemu_nn.testing.networks import FAMILIES, draw_network
from qemu_nn.testing.rows import EVERY_FUNCTION, draw_call
from qemu_nn.testing.values import VALUES, get_ends

LAYERS = ("arm_convolve_wrapper_s8", "arm_depthwise_conv_wrapper_s8", "arm_fully_connected_s8")


def plain(function):
    return next(row for row in list_rows(function.op, function.type) if row.kind == "plain")


def sample(name, seed, shape=None):
    return draw_call(FUNCTIONS[name], plain(FUNCTIONS[name]), seed, shape)


def test_every_generator_is_drawn():
    names = {kind: Counter() for kind in ("shape", "scales", "inputs", "weights", "output")}
    for function in EVERY_FUNCTION:
        for seed in range(40):
            recipe = draw_recipe(Random(seed), function)
            for kind, counter in names.items():
                counter[getattr(recipe, kind)] += 1
    numbered = {name for name in SHAPES if name[-1].isdigit() or name[0].isdigit()}
    assert names["shape"].keys() == SHAPES.keys() - numbered - {"every_value"}
    assert names["scales"].keys() == SCALES.keys()
    assert names["inputs"].keys() == VALUES.keys()
    assert names["output"].keys() == OUTPUTS.keys()


@pytest.mark.parametrize("name", LAYERS)
def test_a_seed_gives_the_same_call_again(name):
    first, again = (sample(name, 2**40 + 1, "declared") for _ in range(2))
    assert str(first) == str(again)
    for key, array in first.arguments.items():
        np.testing.assert_array_equal(array, again.arguments[key])


@pytest.mark.parametrize("count", [1, 2, 69, MOST_COUNTED])
def test_a_shape_has_the_channels_of_its_name(count):
    for name in LAYERS:
        call = sample(name, 0, f"{count}_channels")
        assert call.wanted.shape[-1] == count


@pytest.mark.parametrize("width", VECTOR_WIDTHS)
def test_a_shape_has_the_width_of_its_name(width):
    for name in LAYERS[:2]:
        assert sample(name, 0, f"width_{width}").params["input_w"] == width


def test_windows_are_larger_than_the_image():
    calls = [sample(LAYERS[0], seed, "large_windows").params for seed in range(20)]
    assert sum(p["filter_w"] > p["input_w"] for p in calls) > 5


@pytest.mark.parametrize("channels", [1, 2, 5, 70])
@pytest.mark.parametrize("name", PARTITIONS)
def test_a_partition_puts_channels_into_classes(name, channels):
    classes = PARTITIONS[name](np.random.default_rng(0), channels)
    assert len(classes) == channels
    assert np.all((classes >= 0) & (classes < channels))
    counts = {"each": 70, "alike": 1, "pairs": 35, "first": 2, "last": 2}
    if channels == 70 and name in counts:
        assert len(np.unique(classes)) == counts[name]


def test_channels_share_multipliers_or_shifts_or_both():
    rng = np.random.default_rng(0)
    counts = {}
    for name in SCALES:
        pair = draw_scales(rng, name, 40, -8, 0.0)
        counts[name] = tuple(len(np.unique(values)) for values in pair)
    assert counts["alike"] == (1, 1)
    assert counts["one_multiplier"][0] == 1 < counts["one_multiplier"][1]
    assert counts["one_shift"][1] == 1 < counts["one_shift"][0] == 40


def test_special_scales_stay_in_the_range_of_shifts():
    pair = draw_scales(np.random.default_rng(0), "each", 500, -8, 0.5, most=7)
    assert {0, 1, 2**30, 2**31 - 1} <= {*pair[0].tolist()}
    assert (pair[1].min(), pair[1].max()) == (-31, 7)


def test_some_channels_are_zeros_and_others_small():
    weights, seen = np.full((200, 4), 127, np.int8), set()
    for seed in range(40):
        sized = draw_channel_sizes(np.random.default_rng(seed), weights, 0)
        np.testing.assert_array_equal(sized, np.repeat(sized[:, :1], 4, axis=1))
        seen.update(sized[:, 0].tolist())
    assert seen == {0, *(127 >> size for size in range(7))}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "float32"])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_of_the_type_and_in_its_range(name, dtype):
    found = VALUES[name](np.random.default_rng(0), dtype, (3, 5))
    low, high = get_ends(dtype)
    assert (found.dtype, found.shape) == (dtype, (3, 5))
    assert np.all((found >= low) & (found <= high))


@pytest.mark.parametrize(("dtype", "count"), [("int8", 256), ("uint8", 300), ("int16", 512)])
def test_every_part_of_a_range_has_a_value(dtype, count):
    found = VALUES["every"](np.random.default_rng(0), dtype, (count,))
    low, high = get_ends(dtype)
    step = (high - low + 1) // 256
    assert np.unique((found.astype(int) - low) // step).size == 256


@pytest.mark.parametrize("name", ["arm_nn_activations_direct_q7", "arm_nn_activations_direct_q15"])
def test_every_draw_of_every_value_meets_all_entries_of_a_table(name):
    call = sample(name, 0, "every_value")
    (values,) = [call.arguments[array.name] for array in call.function.inputs]
    shift = 8 * (values.dtype.itemsize - 1)
    assert np.unique(values.astype(int) >> shift).size == 256


def neighbors(call, name, change):
    """Return the outputs with each element of an array changed by so much."""
    array = call.arguments[name].copy()
    array += np.array(change, array.dtype)
    return call.compute_plain({**call.arguments, name: array}).astype(int)


@pytest.mark.parametrize("name", [*LAYERS, "arm_elementwise_add_s16", "tflm_sub_s16"])
def test_a_sum_of_each_channel_is_next_to_one_with_another_output(name):
    """Compare outputs of biases one below and one above; some channels have one output only."""
    moves = total = 0
    for seed in range(30):
        call = sample(name, seed)
        moved = find_moving_array(call.function)
        found = place_on_borders(Random(seed), call.function, call.arguments, call.compute_plain)
        call = replace(call, arguments=found)
        here = call.wanted.astype(int)
        steps = [neighbors(call, moved, change) != here for change in (-1, 1)]
        stepped = np.any(np.logical_or(*steps).reshape(-1, here.shape[-1]), axis=0)
        moves, total = moves + int(stepped.sum()), total + stepped.size
    assert moves > 0.75 * total


@pytest.mark.parametrize("family", FAMILIES)
def test_a_network_has_layers_of_its_family(family):
    for seed in range(10):
        graph, _ = draw_network(Random(seed), family)
        assert len(graph.nodes) >= 2
        assert {node.function.name for node in graph.nodes} <= {*FAMILIES[family]}
