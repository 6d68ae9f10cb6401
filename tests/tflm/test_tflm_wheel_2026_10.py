"""Computed places and slopes, states in branches, compressed weights, and ends of networks: as the
Python wheel of TensorFlow Lite Micro of October 2026 computes them, with its own kernels."""

import warnings

import numpy as np
import pytest
from recorded_archives import ARCHIVES
from tflite_files import File

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.ir.stored import weight_bytes

RECORDED = ARCHIVES["tflm_more"]
BUILD = RECORDED.build
STATES = [name for name in RECORDED.names() if name.startswith("svdf_")]


@pytest.mark.parametrize("name", STATES)
def test_a_state_in_a_branch_or_a_loop_lives_on_from_step_to_step(name, tmp_path):
    network = RECORDED.load(name, tmp_path)
    stream, x, made = (
        network.session(qemu_nn.Target(**BUILD)).stream(),
        RECORDED.inputs(network, name),
        [],
    )
    for step in range(next(iter(x.values())).shape[1]):
        made.append(stream.step({key: part[0, step] for key, part in x.items()}))
    results = {key: np.stack([each[key] for each in made]) for key in network.graph.outputs}
    assert RECORDED.wrong(network, name, results) == {}


# ---- slices that begin anywhere ----


def sliced(folder, name, **changed):
    network = RECORDED.load(name, folder)
    x = {key: part[:1].copy() for key, part in RECORDED.inputs(network, name).items()}
    for key, values in changed.items():
        x[key][:] = values
    return network.session().run(x)


def test_a_slice_is_where_its_begins_say(tmp_path):
    made = sliced(tmp_path, "slice_begins_int8", in1=[1, 2, 0])["out0"]
    whole = RECORDED.arrays("slice_begins_int8")["input_0"][:1]
    np.testing.assert_array_equal(made, whole[:, 1:3, 2:4, :3])


@pytest.mark.parametrize("begins", [[-1, 0, 0], [3, 0, 0], [0, 0, 4], [0, 2**31 - 1, 0]])
def test_a_slice_outside_of_its_input_stops(begins, tmp_path):
    with pytest.raises(Error, match="SLICE outside its input"):
        sliced(tmp_path, "slice_begins_int8", in1=begins)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("slice_sizes_int8", {"in2": [2, 3]}),
        ("slice_sizes_int8", {"in1": [0, 0], "in2": [-1, 2]}),
        ("slice_rest_int8", {"in1": [1, 2]}),
    ],
)
def test_a_slice_of_another_size_stops(name, changed, tmp_path):
    with pytest.raises(Error, match="SLICE outside its input"):
        sliced(tmp_path, name, **changed)


def test_a_rest_may_be_computed(tmp_path):
    """Check that -1 selects the rest of an axis, if it is as large as the output."""
    name = "slice_sizes_int8"
    made = sliced(tmp_path, name, in1=[3, 1], in2=[-1, 2])["out0"]
    np.testing.assert_array_equal(made, RECORDED.arrays(name)["input_0"][:1, 3:, 1:3])


@pytest.mark.parametrize(
    ("type", "shape", "match"),
    [("INT64", (2,), "both must be INT32 or both INT64"),
     ("INT32", (3,), r"are INT32 \[3\]; if begins or sizes are computed"),
     ("INT32", (2,), r"its input is \[5, 6\] and its output \[7, 2\]")],
)  # fmt: skip
def test_computed_begins_that_have_no_meaning_are_refused(type, shape, match, tmp_path):
    net = File()
    x, starts = net.input((5, 6)), net.input(shape, None, type=type)
    size = net.tensor((2,), "INT32", data=[2, 2])
    out = net.output((7 if "output" in match else 2, 2))
    net.operator("SLICE", [x, starts, size], [out], "SliceOptions")
    with pytest.raises(ModelError, match=match):
        qemu_nn.load(net.save(tmp_path))


# ---- compressed constants ----


def head(kind, first=0, second=0):
    return bytes([kind, 1, 0, 0, 1, first, second, *[0] * 9])


def decoded(folder, encoded, how, shape=(4,), type="INT8", **form):
    """Return the numbers that DECODE computes from bytes."""
    net = File()
    parts = [
        net.tensor((len(each),), "UINT8", data=np.frombuffer(each, np.uint8))
        for each in (encoded, how)
    ]
    made = net.tensor(shape, type, **{"scale": 0.5, **form})
    net.operator("CUSTOM:TFLM_DECODE", parts, [made])
    net.outputs.append(made)
    net.operator("RELU", [net.input((1, 2))], [net.output((1, 2))])
    network = qemu_nn.load(net.save(folder))
    return network.session().run(np.zeros((1, 2), np.int8))[network.graph.outputs[0]].ravel()


def test_places_in_a_table_count_from_the_first_bit(tmp_path):
    got = decoded(tmp_path, bytes([0b00_01_10_11]), head(0, 2, 4) + bytes([9, 8, 7, 255]))
    assert got.tolist() == [9, 8, 7, -1]


def test_what_is_pruned_is_the_zero_point(tmp_path):
    got = decoded(tmp_path, bytes([0b0101_0000]), head(2) + bytes([1, 2]), zero=-3)
    assert got.tolist() == [-3, 1, -3, 2]


def test_huffman_codes_go_from_table_to_table(tmp_path):
    """Check a prefix code, one bit a table: 0 is 5, 10 is 6, 11 is 7."""
    found, one = 0x8000, 1 << 11
    table = np.array([found | one | 5, 1, found | one | 6, found | one | 7], "<u2")
    codes = bytes([0b0_10_11_0_00, 0, 0, 0])
    assert decoded(tmp_path, codes, head(1) + table.tobytes()).tolist() == [5, 6, 7, 5]


@pytest.mark.parametrize(
    ("encoded", "how", "match"),
    [
        (bytes(1), head(0, 2, 4)[:15], "must be the header of an encoding of version 1"),
        (
            bytes(1),
            b"\0\2" + head(0, 2, 4)[2:] + bytes(4),
            "must be the header of an encoding of version 1",
        ),
        (bytes(1), head(127) + bytes(4), "has the kind 127"),
        (bytes(1), head(0, 4, 16) + bytes(16), "its encoded data end before"),
        (bytes(1), head(0, 0, 1) + bytes(4), "its encoded data end before"),
        (b"\xff", head(0, 2, 4) + bytes(3), "outside of its table"),
        (b"\xf0", head(2) + bytes(3), "its encoded data end before"),
        (b"\xff" * 4, head(1) + bytes(2), "outside of its table"),
        (bytes(4), head(1) + bytes(2), "its encoded data end before"),
    ],
)
def test_a_damaged_encoding_is_refused(encoded, how, match, tmp_path):
    with pytest.raises(ModelError, match=rf"TFLM_DECODE \(operator 0\): .*{match}"):
        decoded(tmp_path, encoded, how)


def test_types_and_zero_points_that_the_framework_refuses_are_refused(tmp_path):
    with pytest.raises(ModelError, match="is pruned and has zero points; they must be 0"):
        decoded(tmp_path, b"\xf0", head(2) + bytes(8), type="INT16", zero=3)
    with pytest.raises(ModelError, match="16-bit Huffman tables"):
        decoded(tmp_path, bytes(4), head(1) + bytes(8), type="INT16")
    scales = {"shape": (2, 2, 2), "scale": [0.5, 0.25], "axis": 1}
    with pytest.raises(ModelError, match="has 2 scales along axis 1"):
        decoded(tmp_path, b"\xff", head(2) + bytes(8), **scales)


# ---- weights ----


def test_the_zero_point_of_weights_is_not_looked_at_with_more_axes(tmp_path):
    """CMSIS-NN computes such a layer as a convolution, which knows none."""
    made = []
    for zero in (0, 9):
        net, rng = File(), np.random.default_rng(3)
        weights = net.tensor((5, 8), "INT8", 0.01, zero, rng.integers(-128, 128, (5, 8)))
        out = net.output((2, 3, 5), 0.1)
        ends = [net.input((2, 3, 8), 0.05, 3), weights, -1], [out]
        net.operator("FULLY_CONNECTED", *ends, "FullyConnectedOptions", KeepNumDims=True)
        network = qemu_nn.load(net.save(tmp_path))
        x = rng.integers(-128, 128, (4, 2, 3, 8)).astype(np.int8)
        for build in ({}, BUILD):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                made.append(network.session(qemu_nn.Target(**build)).run(x)["output"])
            hidden = any("its weights, 9, is ignored" in str(each.message) for each in told)
            assert hidden == (zero == 9 and build == {})
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])
    assert (made[2] != made[3]).any()


def test_computed_weights_with_a_zero_point_are_refused_where_they_would_not_count(tmp_path):
    network = RECORDED.load("dense_computed_rows_zero", tmp_path)
    with pytest.raises(Error, match=r"zero point of its weights, 5, is ignored"):
        network.session()


def computed(folder, length=3, type="INT32", value=0):
    """Return the functions of a layer with computed weights and a constant bias."""
    net = File()
    bias = net.tensor((length,), type, data=[value] * length, scale=0.25, zero=0)
    ends = [net.input((1, 4)), net.input((3, 4)), bias], [net.output((1, 3))]
    net.operator("FULLY_CONNECTED", *ends, "FullyConnectedOptions")
    nodes = qemu_nn.load(net.save(folder)).graph.nodes
    return [node.function.name for node in nodes]


def test_computed_weights_without_a_bias_are_a_product_of_matrices(tmp_path):
    assert computed(tmp_path) == ["arm_batch_matmul_s8"]
    assert computed(tmp_path, value=1)[-1] == "tflm_fully_connected_tensor_s8"


@pytest.mark.parametrize(("length", "type"), [(4, "INT32"), (3, "INT64"), (3, "INT16")])
def test_a_bias_that_does_not_fit_computed_weights_is_refused(length, type, tmp_path):
    with pytest.raises(ModelError, match=r"its bias, .*, is .*; it must be INT32 \[3\]"):
        computed(tmp_path, length, type)


# ---- what devices with CMSIS-NN, or of other months, do not run ----


@pytest.mark.parametrize(
    ("name", "build", "match"),
    [
        (
            "dense_tensor_int16_bias32",
            {},
            "reads pairs of its elements, and memory after them, as INT64",
        ),
        (
            "dense_tensor_int16",
            {**BUILD, "tflm": "2026-02"},
            "32-bit accumulators are not supported",
        ),
        ("dense_chan_int16", {}, "one scale per channel; .* requires one scale in all"),
        (
            "conv_groups_int16",
            {},
            "16-bit groups; CMSIS-NN computes them as one group and reads past",
        ),
        ("leaky_neg_int8", {"tflm": "2026-02"}, "its slope is -0.3; before April 2026"),
        ("cast_int8_bool", {}, "to bool; that requires October 2026 or later"),
        ("maximum_five_int8", {}, "up to 4 axes and stops at 5"),
        ("bmm_five_int8", {"tflm": "2026-10"}, "it has 5 axes; the kernel takes up to 4"),
        ("bmm_five_float32", {"kernels": "reference"}, "it has 5 axes; the kernel takes up to 4"),
    ],
)
def test_what_a_build_does_not_run_is_refused_with_the_reason(name, build, match, tmp_path):
    network = RECORDED.load(name, tmp_path)
    with pytest.raises(Error, match=match):
        network.session(qemu_nn.Target(**build))


@pytest.mark.parametrize(
    "name",
    ["dense_tensor_bias", "dense_given_bias_int16", "leaky_neg_int16", "places64_slice",
     "places64_update_far", "mean_three_int8", "padv2_scale_int16"],
)  # fmt: skip
def test_where_no_kernel_of_cmsis_nn_differs_the_default_build_has_the_same_bits(name, tmp_path):
    network = RECORDED.load(name, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = network.session().run(RECORDED.inputs(network, name))
    assert RECORDED.wrong(network, name, results) == {}


def test_the_low_half_of_a_place_counts(tmp_path):
    """Check the starts of SLICE; DYNAMIC_UPDATE_SLICE clamps all of them first."""
    begins = np.int64([1, 2, 0]) + 2**32
    made = sliced(tmp_path, "places64_slice", input_2=begins)["output"]
    whole = RECORDED.arrays("places64_slice")["input_0"][:1]
    np.testing.assert_array_equal(made, whole[:, 1:3, 2:4, :3])
    with pytest.raises(Error, match="SLICE outside its input"):
        sliced(tmp_path, "places64_slice", input_2=[2**31, 0, 0])


@pytest.mark.parametrize("name", ["leaky_neg_int8", "mean_three_int16"])
def test_a_negative_slope_and_three_groups_of_axes_are_written(name, tmp_path):
    RECORDED.load(name, tmp_path).save(tmp_path / "written.tflite")
    network = qemu_nn.load(tmp_path / "written.tflite")
    assert RECORDED.differences(network, name) == {}


def test_three_groups_of_int8_are_written_with_what_cmsis_nn_does_not_run(tmp_path):
    RECORDED.load("mean_three_int8", tmp_path).save(tmp_path / "written.tflite")
    network = qemu_nn.load(tmp_path / "written.tflite")
    with pytest.raises(Error, match="leaves its output uninitialized"):
        network.session()
    x = RECORDED.inputs(network, "mean_three_int8")
    assert (
        RECORDED.wrong(network, "mean_three_int8", network.session(qemu_nn.Target(**BUILD)).run(x))
        == {}
    )


def test_weights_of_4_bits_count_once(tmp_path):
    network = RECORDED.load("depthwise_s4_odd", tmp_path)
    held = network.graph.arrays
    own = [held[name] for node in network.graph.nodes for name in (node.weights, node.bias)]
    assert (
        weight_bytes(network.graph)
        == sum(array.nbytes for array in own)
        < sum(array.nbytes for array in held.values())
    )


# ---- ends ----


def test_an_output_that_is_an_input_in_another_shape_is_a_copy(tmp_path):
    net = File()
    x = net.input((1, 6), 0.5, 3)
    net.operator("RESHAPE", [x], [net.output((2, 3), 0.5, 3)], "ReshapeOptions")
    network = qemu_nn.load(net.save(tmp_path))
    got = network.session().run(np.arange(6, dtype=np.int8)[None])["output"]
    assert got.tolist() == [[[0, 1, 2], [3, 4, 5]]]


@pytest.mark.parametrize(("x", "want"), [([0.9, -7.0], [5, -11]), ([1000.0, -1000.0], [127, -128])])
def test_a_network_that_is_a_conversion_alone_has_it(x, want, tmp_path):
    net = File()
    real = net.input((1, 2), None, type="FLOAT32")
    net.operator("QUANTIZE", [real], [net.output((1, 2), 0.5, 3)])
    session = qemu_nn.load(net.save(tmp_path)).session()
    assert session.run(np.float32([x]))["output"].tolist() == [want]


@pytest.mark.parametrize(
    "name", ["ends_reshape_two", "ends_const", "ends_through", "alone_squeeze_int16"]
)
def test_copies_are_reshapes_in_a_file_that_is_written(name, tmp_path):
    RECORDED.load(name, tmp_path).save(tmp_path / "written.tflite")
    network = qemu_nn.load(tmp_path / "written.tflite")
    assert RECORDED.differences(network, name) == {}


def test_a_state_of_a_branch_is_not_written(tmp_path):
    network = RECORDED.load("svdf_in_if_int8", tmp_path)
    with pytest.raises(
        Error, match=r"it copies a state, as branches do; save the network as \.qnz"
    ):
        network.save(tmp_path / "written.tflite")
    assert not (tmp_path / "written.tflite").exists()
