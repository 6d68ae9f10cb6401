"""Files of ESP-DL: containers, orders of weights, targets, operators, and damage."""

import contextlib
import warnings

import numpy as np
import pytest
from espdl_cases import (
    CASES,
    classifier,
    conv,
    draw,
    integers,
    recurrent,
    scatter,
    single,
    streaming,
    table,
)
from espdl_files import Model, contain, pack_models
from paths import SHARED
from tflite_damage import changed, every_word

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.runtime.session import draw_inputs
from qemu_nn.testing.esp_dl_networks import compare_networks

pytestmark = pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")

CHIPS = ("esp32", "esp32s3", "esp32p4")


def load(model, tmp_path, **options):
    return qemu_nn.load(model.write(tmp_path / "net.espdl"), **options)


def run(model, tmp_path, x=None, chip="esp32"):
    """Return the inputs of a network, and its first output."""
    network = load(model, tmp_path)
    x = draw_inputs(network.graph, 3) if x is None else x
    return x, network.session(chip).run(x)[network.graph.outputs[0]]


def rounded(sums, shift):
    """Return floor(sums / 2^shift + 1/2), saturated to int8."""
    wide = sums.astype(np.int64) * 2 ** max(-shift, 0)
    if shift > 0:
        wide = (wide + 2 ** (shift - 1)) >> shift
    return wide.clip(-128, 127)


def convolved(x, filters, bias, pads=(0, 0, 0, 0)):
    """Return sums of an image [n, h, w, c] and filters [kh, kw, c, out] with stride 1."""
    top, left, bottom, right = pads
    x = np.pad(x.astype(np.int64), [(0, 0), (top, bottom), (left, right), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(x, filters.shape[:2], (1, 2))
    return np.einsum("nyxcij,ijco->nyxo", windows, filters.astype(np.int64)) + bias


# ---- containers ----


@pytest.mark.parametrize("kind", [b"PDL2", b"PDL3"])
def test_model_of_a_pack_is_read_by_its_name(tmp_path, kind):
    models = {"one.espdl": CASES["gemm"](), "two.espdl": classifier()}
    path = tmp_path / "models.bin"
    path.write_bytes(pack_models({name: contain(m.pack()) for name, m in models.items()}, kind))
    found = qemu_nn.load(path, model="two.espdl")
    assert [node.function.name for node in found.graph.nodes][-1] == "esp_dl_dense_s8"
    with pytest.raises(ModelError, match=r"a pack of 2 models; name one.*have: one.espdl, two"):
        qemu_nn.load(path)
    with pytest.raises(ModelError, match="no model 'three'"):
        qemu_nn.load(path, model="three")


def test_pack_of_one_model_needs_no_name(tmp_path):
    path = tmp_path / "models.espdl"
    path.write_bytes(pack_models({"one.espdl": contain(classifier().pack())}))
    assert len(qemu_nn.load(path).graph.nodes) == 5


def test_pack_with_another_checksum_is_refused(tmp_path):
    data = bytearray(pack_models({"one": contain(classifier().pack())}, b"PDL3"))
    data[-40] ^= 1
    (tmp_path / "models.espdl").write_bytes(data)
    with pytest.raises(ModelError, match="the checksum of its pack"):
        qemu_nn.load(tmp_path / "models.espdl")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"EDL1" + bytes(60), "the form EDL1"),
        (pack_models({"one": b"EDL1" + bytes(60)}, b"PDL1"), "the form EDL1"),
        (contain(bytes(64), mode=1), "encrypted"),
        (contain(bytes(64), mode=7), "its mode is 7"),
        (b"TFL3" + bytes(60), "no model of ESP-DL"),
        (contain(bytes(64))[:40], "its model has 64 bytes, and 24 follow"),
    ],
)
def test_container_is_refused_with_its_reason(tmp_path, data, why):
    path = tmp_path / "net.espdl"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=why):
        qemu_nn.load(path)


# ---- orders of weights and targets ----


@pytest.mark.parametrize("out", [1, 7, 8, 15, 16, 17, 31, 32, 35])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_both_orders_of_filters_are_the_same_weights(tmp_path, out, dtype):
    filters = draw((3, 2, 5, out), dtype)
    graphs = [load(conv(filters, (1, 4, 4, 5), dtype, blocks=b), tmp_path).graph for b in (0, 1)]
    for graph in graphs:
        found = graph.arrays["y/weights"].reshape(out, 3, 2, 5)
        np.testing.assert_array_equal(found, filters.transpose(3, 0, 1, 2))


@pytest.mark.parametrize("out", [1, 8, 15, 16, 17, 33])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_both_orders_of_depthwise_filters_are_the_same_weights(tmp_path, out, dtype):
    filters = draw((3, 2, out, 1), dtype)
    for blocks in (0, 1):
        model = conv(filters, (1, 4, 4, out), dtype, blocks=blocks, group=out)
        if out > 1:  # one channel is an ordinary convolution
            found = load(model, tmp_path).graph.arrays["y/weights"]
            np.testing.assert_array_equal(found.reshape(3, 2, out), filters[..., 0])


def test_file_without_label_and_target_is_refused_until_the_target_is_said(tmp_path):
    filters = draw((3, 3, 2, 16))
    model = conv(filters, (1, 4, 4, 2), labels=False)
    with pytest.raises(ModelError, match="name the chip"):
        load(model, tmp_path)
    found = load(model, tmp_path, target="esp32s3").graph.arrays["y/weights"]
    np.testing.assert_array_equal(found.reshape(16, 3, 3, 2), filters.transpose(3, 0, 1, 2))
    other = load(model, tmp_path, target="c").graph.arrays["y/weights"]
    assert (other.ravel() != found.ravel()).any()


def test_file_of_few_channels_needs_no_target(tmp_path):
    assert load(conv(draw((3, 3, 2, 15)), (1, 4, 4, 2), labels=False), tmp_path)


@pytest.mark.parametrize(
    ("model", "options", "why"),
    [
        ({"target": "c"}, {}, "order of generic C by the file says target 'c', but of the ESP32"),
        ({}, {"target": "esp32c3"}, "by target= 'esp32c3', but of the ESP32-S3 and ESP32-P4"),
        ({"target": "esp32x"}, {}, "'esp32x', which is not supported"),
    ],
)
def test_contradicting_target_is_refused(tmp_path, model, options, why):
    with pytest.raises(ModelError, match=why):
        load(conv(draw((3, 3, 2, 16)), (1, 4, 4, 2), **model), tmp_path, **options)


@pytest.mark.parametrize("depthwise", [False, True])
def test_exponents_of_channels_are_shifts_of_an_esp32p4(tmp_path, depthwise):
    filters = draw((1, 1, 20, 1) if depthwise else (1, 1, 2, 20))
    own = [-7 + at % 3 for at in range(20)]
    group = {"group": 20} if depthwise else {}
    model = conv(filters, (1, 4, 4, filters.shape[2]), exponents=(-5, own, -4), **group)
    x, found = run(model, tmp_path, chip="esp32p4")
    flat = filters.reshape(filters.shape[2], -1).astype(np.int64)
    sums = x.astype(np.int64) * flat[:, 0] if depthwise else x.astype(np.int64) @ flat
    sums = sums + draw(20, "int32", 1, -900, 900)
    shifts = -4 + 5 - np.array(own)
    np.testing.assert_array_equal(found, np.rint(sums / 2.0**shifts).clip(-128, 127))
    network = load(model, tmp_path)
    assert str(network.profile()) == "ESP-DL 3.3.9, esp32p4"
    with pytest.raises(Error, match="kernels of an ESP32-P4 alone"):
        network.session("esp32s3")


def test_exponents_of_channels_are_as_many_as_channels_and_shift_to_the_right(tmp_path):
    shape, filters = (1, 4, 4, 2), draw((3, 3, 2, 3))
    with pytest.raises(ModelError, match=r"2 exponents.*one for each of 3 channels"):
        load(conv(filters, shape, exponents=(-5, [-7, -6], -4)), tmp_path)
    with pytest.raises(ModelError, match=r"shifted by -1 to 8 bits.*must be 0 to 31"):
        load(conv(filters, shape, exponents=(-5, [-7, 2, -6], -4)), tmp_path)


def test_network_needs_a_chip_of_the_family(tmp_path):
    network = load(classifier(), tmp_path)
    with pytest.raises(Error, match=r"calls ESP-DL.*not on m4; give such a target: esp32,"):
        network.session("m4")
    with pytest.raises(Error, match=r"does not tell the chip.*give one as the target: esp32s3"):
        network.session()
    assert str(network.profile("esp32c3")) == "ESP-DL 3.3.9, esp32"
    assert network.session("esp32-s3-devkitc-1").profile.path == "esp32s3"


def test_notes_name_the_chip_of_the_file(tmp_path):
    assert "an ESP32-S3 or ESP32-P4" in load(classifier(), tmp_path).notes[0]
    assert "exported for esp32p4" in load(classifier(target="esp32p4"), tmp_path).notes[0]


# ---- operators ----


@pytest.mark.parametrize("rectified", [0, 1])
def test_conv_has_padding_on_four_sides_and_its_activation(tmp_path, rectified):
    filters, pads = draw((3, 2, 4, 17)), [1, 0, 2, 1]
    model = conv(filters, (1, 5, 6, 4), pads=pads, activation="Relu" if rectified else "Linear")
    x, got = run(model, tmp_path)
    bias = draw(17, "int32", 1, -900, 900)
    wanted = rounded(convolved(x, filters, bias, pads), -4 + 5 + 7)
    np.testing.assert_array_equal(got, np.maximum(wanted, 0) if rectified else wanted)
    assert (wanted < 0).any()


def test_conv_of_rows_has_the_shape_of_its_input_not_that_of_the_description(tmp_path):
    filters = draw((3, 4, 6))
    x, got = run(conv(filters, (1, 9, 4)), tmp_path)
    bias = draw(6, "int32", 1, -900, 900)
    sums = convolved(x[:, None], filters[None], bias)[:, 0]
    np.testing.assert_array_equal(got, rounded(sums, 8))
    assert got.shape == (3, 7, 6)


def test_gemm_and_matmul_by_constants_take_rows_of_any_rank(tmp_path):
    weights = draw((5, 18))
    for operator, shape in (("Gemm", (1, 1, 5, 18)), ("MatMul", (5, 18))):
        model = Model()
        model.inputs.append(model.value("x", "int8", (1, 4, 5), -5))
        model.outputs.append(model.value("y", "int8", (1, 4, 18), -4))
        model.filters("w", weights[None, None], -7)
        name, data, _, *told = model.constants.pop()
        model.constants.append((name, data, shape, *told))
        model.node(operator, ["x", "w"], ["y"], quant_type="S8")
        x, got = run(model, tmp_path)
        sums = x.astype(np.int64) @ weights.astype(np.int64)
        np.testing.assert_array_equal(got, rounded(sums, 8))


@pytest.mark.parametrize(("depth", "out"), [(8, 16), (8, 19), (3, 33), (5, 7), (1, 16)])
@pytest.mark.parametrize("blocks", [False, True])
def test_right_operand_that_a_node_computes_is_in_the_order_of_weights(
    tmp_path, depth, out, blocks
):
    from espdl_files import pack

    model = single("MatMul", [(1, 2, 3, depth), (1, 2, depth, out)], (1, 2, 3, out), made=-4)
    model.target = "esp32s3" if blocks else "c"
    network = load(model, tmp_path)
    left, right = draw((1, 2, 3, depth), seed=1), draw((2, depth, out), seed=2)
    stored = [pack(each[None, None], 16 if blocks else 2**30) for each in right]
    x = {"x0": left, "x1": np.array(stored).reshape(1, 2, depth, out)}
    got = network.session("esp32").run(x)["y"]
    sums = left.astype(np.int64) @ right.astype(np.int64)
    np.testing.assert_array_equal(got, rounded(sums, 6))


def test_operands_broadcast_in_both_directions(tmp_path):
    shapes = [(1, 3, 1, 5), (4, 1)]
    for operator, function, shift in (("Mul", np.multiply, 6), ("Add", np.add, 0)):
        model = single(operator, shapes, (1, 3, 4, 5), made=-4)
        a, b = draw(shapes[0], seed=1), draw(shapes[1], seed=2)
        got = load(model, tmp_path).session("esp32").run({"x0": a, "x1": b[None]})["y"]
        np.testing.assert_array_equal(got, rounded(function(a.astype(int), b.astype(int)), shift))


def halves(x):
    """Return floor(x + 1/2) as int8."""
    return np.floor(x + 0.5).clip(-128, 127).astype(np.int8)


def spread(x):
    made = np.zeros((len(x), 5, 5, 4), x.dtype)
    made[:, :4:3, ::2] = x
    return made


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("relu", lambda x: halves(x.clip(0) / 2)),
        ("neg", lambda x: (-x.astype(int)).clip(-128, 127)),
        ("clip", lambda x: x.clip(-9, 40)),
        ("leaky_relu", lambda x: halves(np.where(x < 0, x / 4, x))),
        ("global_average_pool", lambda x: halves(x.mean((1, 2), keepdims=True))),
        ("reduce_mean", lambda x: halves(x.mean(2, keepdims=True))),
        ("quantize", lambda x: halves(x * 16)),
        ("resize", lambda x: x.repeat(2, 1).repeat(2, 2)),
        ("insert_zeros", spread),
        ("prelu", lambda x: np.where(x < 0, x.astype(int) * draw(5) >> 6, x).clip(-128, 127)),
        ("lut", lambda x: draw(256, low=-99, high=99)[x.astype(int) + 128]),
        ("transpose", lambda x: x.transpose(0, 3, 1, 2)),
        ("slice", lambda x: x[:, 1:9:3, 1::2]),
        ("reshape", lambda x: x.reshape(-1, 3, 8)),
        ("pad", lambda x: np.pad(x, [(0, 0), (2, 0), (0, 1)])),
        ("requantize", lambda x: rounded(x, 2)),
        ("reverse", lambda x: np.concatenate([x[:, 1::-1], x[:, 2:]], 1)),
        ("reduce_l2", lambda x: halves(np.sqrt((x.astype(float) ** 2).sum(2, keepdims=True)))),
    ],
)
def test_elements_move_as_in_numpy(tmp_path, name, wanted):
    x, got = run(CASES[name](), tmp_path)
    np.testing.assert_array_equal(got, wanted(x))


def test_comparisons_remainders_and_updates_are_those_of_the_operands(tmp_path):
    (x, y), got = run(CASES["greater"](), tmp_path)
    np.testing.assert_array_equal(got, x > y)
    (x, y), got = run(CASES["mod"](), tmp_path)
    np.testing.assert_array_equal(got, np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y))))
    (x, y), got = run(CASES["scatter"](), tmp_path)
    wanted = x.astype(int)
    wanted[:, [2, 0]] += y
    np.testing.assert_array_equal(got, wanted.clip(-128, 127))


def test_normalizations_are_those_of_floats_rounded(tmp_path):
    x, got = run(CASES["layer_norm"](), tmp_path)
    real = x / 32
    deviation = np.sqrt(real.var(-1, keepdims=True) + 1e-5)
    normal = (real - real.mean(-1, keepdims=True)) / deviation
    wanted = normal * draw((4,)) / 16 + draw((4,), seed=1) / 32
    assert np.abs(got - (32 * wanted).clip(-128, 127)).max() < 0.501
    x, got = run(CASES["rms_norm"](), tmp_path)
    real = x / 32
    size = np.sqrt((real**2).mean(-1, keepdims=True) + 1e-5)
    assert np.abs(got - (32 * real / size * [1, -0.5, 2, 3]).clip(-128, 127)).max() < 0.501
    x, got = run(CASES["lp_norm"](), tmp_path)
    size = np.abs(x.astype(float)).sum(1, keepdims=True)
    assert np.abs(got - (128.0 * x / size).clip(-128, 127)).max() < 0.501


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("operator", ["GRU", "LSTM"])
def test_last_states_are_those_of_the_sequence(tmp_path, operator, directions):
    network = load(recurrent(operator, directions), tmp_path)
    assert [tensor.name for tensor in network.outputs] == ["y", "h", "c"][: len(network.outputs)]
    x = draw_inputs(network.graph, 3)
    got = network.session("esp32").run(x)
    y = got["y"].reshape(3, 4, directions, 5)
    ends = [y[:, -1, 0], y[:, 0, 1]] if directions == 2 else [y[:, -1, 0]]
    np.testing.assert_array_equal(got["h"].reshape(3, directions, 5), np.stack(ends, 1))
    missing = load(recurrent(operator, directions, states=False), tmp_path)
    zeros = [x[0], *(np.zeros_like(each) for each in x[1:])]
    for name, result in network.session("esp32").run(zeros).items():
        np.testing.assert_array_equal(missing.session("esp32").run(x[0])[name], result)


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"linear_before_reset": 0}, "its linear_before_reset is 0; the device computes 1 alone"),
        ({"hidden_size": 4}, r"must be \[1, 12, 3\]"),
        ({"layout": 1}, "one sequence of three axes"),
    ],
)
def test_what_the_device_does_not_compute_of_a_gru_is_refused(tmp_path, attributes, why):
    with pytest.raises(ModelError, match=why):
        load(recurrent("GRU", **attributes), tmp_path)


def test_softmax_is_of_floats(tmp_path):
    x, got = run(CASES["softmax"](), tmp_path)
    power = np.exp(x / 32)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, power / power.sum(-1, keepdims=True), rtol=1e-5)
    assert load(CASES["softmax"](), tmp_path).outputs[0].dtype == "float32"


def test_table_of_16_bits_has_a_place_for_every_32nd_integer(tmp_path):
    x, got = run(CASES["lut_s16"](), tmp_path)
    places = (x.astype(int) + 32768 + 16) >> 5
    np.testing.assert_array_equal(got, draw(2049, "int16", low=-99, high=99)[places])


def test_curve_of_16_bits_ignores_its_table_as_the_device_does(tmp_path):
    model = table("Sqrt", "int16")
    graph = load(model, tmp_path).graph
    assert graph.nodes[0].function.name == "esp_dl_sqrt_s16"


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (lambda: single("Gelu", [(1, 9)], (1, 9)), "the device has no function without"),
        (lambda: table_with(places=255), "must have 256 elements of int8"),
        (lambda: table_with(exponent=-6), "the device stops"),
        (
            lambda: single(
                "ReduceSum", [(1, 2, 3, 2, 3)], (1, 2, 1), constants={"a": integers(0, 2, 4)}
            ),
            "the device writes no output",
        ),
        (
            lambda: single(
                "Resize", [(1, 3, 4, 2)], (1, 6, 8, 2), constants={"": None}, mode="cubic"
            ),
            "by mode 'cubic'",
        ),
        (lambda: scatter("add", ((0, 3), (0, 0))), "an index is outside of its data"),
        (lambda: scatter("mean"), "its reduction is 'mean'; have: none, add"),
        (lambda: scatter("none", ((0, 1, 2),)), "indices must have one number"),
        (
            lambda: single(
                "ReverseSequence", [(1, 3, 4)], (1, 3, 4), constants={"n": integers(2)}, time_axis=2
            ),
            "only if these are the first two axes",
        ),
        (
            lambda: single("LayerNormalization", [(1, 4)], (1, 4), constants={"s": (draw(3), -5)}),
            "must have 4 elements",
        ),
    ],
)
def test_what_the_device_does_not_compute_is_refused(tmp_path, model, why):
    with pytest.raises(ModelError, match=why):
        load(model(), tmp_path)


def table_with(places=256, exponent=-7):
    model = table("Sigmoid")
    model.constants[0] = ("table", draw(places), (places,), exponent, "")
    return model


def test_concat_copies_integers_of_different_exponents(tmp_path):
    network = load(CASES["concat"](), tmp_path)
    x = draw_inputs(network.graph, 2)
    got = network.session("esp32").run(x)["y"]
    np.testing.assert_array_equal(got, np.concatenate(x, axis=1))


def test_split_has_an_output_for_each_part(tmp_path):
    model = single("Split", [(1, 3, 7)], (1, 3, 2), constants={"l": integers(2, 5)}, axis=-1)
    model.outputs.append(model.value("z", "int8", (1, 3, 5), -5))
    model.nodes[0][3].append("z")
    network = load(model, tmp_path)
    x = draw_inputs(network.graph, 2)
    got = network.session("esp32").run(x)
    np.testing.assert_array_equal(np.concatenate([got["y"], got["z"]], axis=-1), x)


@pytest.mark.parametrize(
    ("dtype", "places"),
    [("int8", (4, 0, 4)), ("float32", (2, 1)), ("int8", (3,)), ("int16", (3,)), ("float32", (0,))],
)
def test_gather_takes_rows_at_places(tmp_path, dtype, places):
    made = {"constants": {"at": integers(*places)}, "axis": 1}
    network = load(single("Gather", [(1, 5, 4)], (1, len(places), 4), dtype, **made), tmp_path)
    x = draw_inputs(network.graph, 2)
    got = network.session("esp32").run(x)["y"]
    np.testing.assert_array_equal(got.reshape(2, -1, 4), x.reshape(2, 5, 4)[:, list(places)])


def rearranged(operator, x, block, mode):
    """Return what ESP-DL's loops over pixels and channels make of images."""
    n, h, w, c = x.shape
    squared, grown = block * block, operator == "DepthToSpace"
    sides = (h * block, w * block, c // squared) if grown else (h // block, w // block, c * squared)
    out = np.zeros((n, *sides), x.dtype)
    for row, column, channel in np.ndindex(h, w, c):
        if not grown:
            inside = row % block * block + column % block
            place = (row // block, column // block, channel * squared + inside)
        elif mode == "CRD":
            inside = channel % squared
            tall, wide = inside // block, channel % block
            place = (row * block + tall, column * block + wide, channel // squared)
        else:
            tall, wide = channel // squared, channel % squared // block
            place = (row * block + tall, column * block + wide, channel % block)
        out[(slice(None), *place)] = x[:, row, column, channel]
    return out


@pytest.mark.parametrize(
    ("operator", "shape", "block", "mode"),
    [
        ("SpaceToDepth", (1, 4, 6, 3), 2, ""),
        ("DepthToSpace", (1, 2, 3, 12), 2, "CRD"),
        ("DepthToSpace", (1, 2, 3, 8), 2, "DCR"),
        ("DepthToSpace", (1, 2, 1, 27), 3, ""),
    ],
)
def test_blocks_of_pixels_become_channels_and_back(tmp_path, operator, shape, block, mode):
    model = single(operator, [shape], (1, 1), blocksize=block, mode=mode)
    network = load(model, tmp_path)
    x = draw_inputs(network.graph, 2)
    wanted = rearranged(operator, x.reshape(2, *shape[1:]), block, mode)
    got = network.session("esp32").run(x)["y"]
    np.testing.assert_array_equal(got, wanted.reshape(got.shape))


def test_views_that_are_outputs_have_the_names_of_the_file(tmp_path):
    model = single("Squeeze", [(1, 1, 5)], (1, 5), constants={"axes": integers(1)})
    network = load(model, tmp_path)
    assert network.graph.outputs == ("y",)
    x = draw_inputs(network.graph, 2)
    np.testing.assert_array_equal(network.session("esp32").run(x)["y"], x.reshape(2, 5))


def test_cache_of_a_stream_keeps_its_rows_between_steps(tmp_path):
    network = load(streaming(), tmp_path)
    x = draw((2, 6, 2, 4), low=-99, high=99)
    got = network.session("esp32").run(x)["y"]
    rows = np.concatenate([np.zeros((2, 2, 4), "int8"), x.reshape(2, 12, 4)], axis=1)
    sums = convolved(rows[:, None], draw((1, 3, 4, 5)), 0)[:, 0]
    np.testing.assert_array_equal(got.reshape(2, 12, 5), rounded(sums, 8))


def test_nodes_run_after_those_that_compute_their_inputs(tmp_path):
    model = classifier()
    _, wanted = run(model, tmp_path)
    model.nodes.reverse()
    np.testing.assert_array_equal(run(model, tmp_path)[1], wanted)
    model.nodes[0][2][0] = "y"
    with pytest.raises(ModelError, match="depends on its own output"):
        load(model, tmp_path)


@pytest.mark.parametrize(
    ("operator", "shapes", "more", "why"),
    [
        ("GridSample", [(1, 4)], {}, r"not supported: GridSample 'GridSample_0' \(node 0\)"),
        ("Split", [(1, 4)], {"axis": 1}, "takes num_outputs for a length"),
        ("Slice", [(1, 4)], {"constants": {"s": integers(3), "e": integers(0), "a": integers(1),
         "p": integers(-1)}}, "its step is -1"),
        ("Concat", [(1, 4), (2, 4)], {"axis": 1}, "its inputs are"),
        ("Transpose", [(1, 4)], {"perm": [0, 0]}, "each of 2 axes once"),
        ("Gather", [(1, 4)], {"axis": 1, "constants": {"at": integers(-1)}}, "none from the end"),
        ("SpaceToDepth", [(1, 4, 5, 1)], {"blocksize": 2}, "must be multiples of its blocksize"),
        ("DepthToSpace", [(1, 4, 5, 12)], {"blocksize": 2}, "takes one for the other"),
        ("DepthToSpace", [(1, 4, 5, 9)], {"blocksize": 2, "mode": "CRD"}, "of whole blocks"),
        ("DepthToSpace", [(1, 4)], {"blocksize": 2}, "of 4 axes"),
        ("Reshape", [(1, 4)], {"constants": {"s": integers(3)}}, "as many elements"),
        ("Flatten", [(1, 4)], {"made": -4}, "shares memory with its input"),
        ("StreamingCache", [(2, 4)], {"window_size": 2}, "before axis 1 must be of length 1"),
        ("Add", [(1, 4), (1, 3)], {}, "shapes"),
        ("Add", [(1, 4)], {}, "it has 1 inputs; it must have 2"),
        ("MaxPool", [(1, 4, 2)], {"kernel_shape": [5]}, "has the shape"),
    ],
)  # fmt: skip
def test_node_is_refused_by_name_with_its_reason(tmp_path, operator, shapes, more, why):
    with pytest.raises(ModelError, match=why) as told:
        load(single(operator, shapes, (1, 4), **more), tmp_path)
    assert operator in str(told.value)
    assert "node 0" in str(told.value)


def test_kernel_of_another_type_is_refused(tmp_path):
    model = classifier()
    operator, name, inputs, outputs, attributes = model.nodes[0]
    model.nodes[0] = (operator, name, inputs, outputs, {**attributes, "quant_type": "S16"})
    with pytest.raises(ModelError, match=r"its quant_type is 'S16', but its input 0 is .*int8"):
        load(model, tmp_path)


# ---- whole networks ----


@pytest.mark.parametrize("name", CASES)
def test_every_operator_runs_on_every_chip(tmp_path, name):
    network = load(CASES[name](), tmp_path)
    x = draw_inputs(network.graph, 3)
    for chip in CHIPS:
        session = network.session(chip)
        plain = network.session(chip, variant="plain")
        for layer, got in session.run(x, trace=True).items():
            np.testing.assert_array_equal(got, plain.run(x, trace=True)[layer])


@pytest.mark.parametrize("chip", CHIPS)
def test_orders_of_weights_do_not_change_results(tmp_path, chip):
    results = [run(classifier(blocks), tmp_path, chip=chip)[1] for blocks in (False, True)]
    np.testing.assert_array_equal(*results)


def test_chips_differ_in_rounding_and_in_their_accumulators(tmp_path):
    filters = np.full((1, 1, 64, 16), 127, np.int8)
    x = np.full((1, 1, 1, 64), 127, np.int8)
    model = conv(filters, (1, 1, 1, 64), exponents=(-5, -7, 3), bias=False)
    got = {chip: int(run(model, tmp_path, x, chip)[1].ravel()[0]) for chip in CHIPS}
    assert got == {"esp32": 32, "esp32s3": 16, "esp32p4": 32}  # 64 * 127 * 127 is above 2^19
    half = conv(np.full((1, 1, 1, 1), 1, np.int8), (1, 1, 1, 1), exponents=(0, 0, 1), bias=False)
    halves = np.array([[1], [3]], np.int8).reshape(2, 1, 1, 1)
    got = {chip: run(half, tmp_path, halves, chip)[1].ravel().tolist() for chip in CHIPS}
    assert got == {"esp32": [1, 2], "esp32s3": [1, 2], "esp32p4": [0, 2]}


def test_variants_compares_the_three_kernel_sets(tmp_path):
    network = load(classifier(), tmp_path)
    table = qemu_nn.variants(network, target="esp32s3")
    told = {row["other_profiles"] for row in table.records()}
    assert "ESP-DL 3.3.9, esp32p4" in told
    assert not any("CMSIS" in each for each in told)


def test_network_survives_qnz_and_pickles(tmp_path):
    import pickle

    for make in (classifier, streaming):
        network = load(make(), tmp_path)
        x = draw_inputs(network.graph, 4)
        wanted = network.session("esp32s3").run(x)["y"]
        network.save(tmp_path / "net.qnz")
        for again in (qemu_nn.load(tmp_path / "net.qnz"), pickle.loads(pickle.dumps(network))):
            session = again.session("esp32s3", threads=2)
            np.testing.assert_array_equal(session.run(x)["y"], wanted)
            copied = pickle.loads(pickle.dumps(session))
            np.testing.assert_array_equal(copied.run(x)["y"], wanted)


# ---- damage ----


@pytest.mark.parametrize("name", CASES)
def test_damaged_files_are_refused_with_one_sentence(tmp_path, name):
    data, path = contain(CASES[name]().pack()), tmp_path / "net.espdl"
    told = []
    for seed in range(40):
        path.write_bytes(changed(data, np.random.default_rng(seed), every_word))
        with said(told):
            network = qemu_nn.load(path)
            lead = (1, 2) if network.graph.states else (1,)
            x = {t.name: np.ones((*lead, *t.shape), t.dtype) for t in network.graph.inputs}
            network.session("esp32s3").run(x)
    assert told
    assert all("\n" not in each and len(each) < 2000 for each in told)


@contextlib.contextmanager
def said(told):
    """Append the sentence of an error."""
    try:
        yield
    except Error as error:
        told.append(str(error))


# ---- the public networks ----


@pytest.mark.skipif(not (SHARED / "esp").is_dir(), reason="needs the recorded networks")
def test_public_networks_have_the_recorded_tensors():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [*compare_networks(SHARED / "esp")]
    assert [each for each in found if each.outcome == "different"] == []
    assert sum(each.outcome == "equal" for each in found) > 450
