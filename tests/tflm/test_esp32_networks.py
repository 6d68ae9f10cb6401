"""Networks on the chips of the ESP32 family: generic C, the ESP32-S3's own bits, and refusals."""

import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from esp32_files import classes, convolution, dense, product
from paths import SHARED
from tflite_cases import CASES

import qemu_nn
from qemu_nn import Target
from qemu_nn.analysis.fit import Fit
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, Refused
from qemu_nn.runtime.session import draw_inputs

REFERENCE = Target("m3", kernels="reference")
S3, OLD_S3 = (Target("esp32s3", esp_nn=release) for release in ("1.2.3", "1.1.2"))
C3 = Target("esp32c3")

pytestmark = pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")


def run(network, target, x=None):
    """Return the network's outputs and layers on random inputs, and the warnings."""
    x = draw_inputs(network.graph, 3) if x is None else x
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        session = network.session(target)
    return session.run(x, trace=True), [str(each.message) for each in said]


def differing(network, target, x=None):
    """Return the layers that differ from the framework's own kernels, and the warnings."""
    wanted, _ = run(network, REFERENCE, x)
    got, said = run(network, target, x)
    return [name for name in wanted if not np.array_equal(wanted[name], got[name])], said


#: Beginnings of cases that esp-tflite-micro does not run, and the reason.
REFUSED = {
    "convolve_without_bias": "it has no bias",
    "depthwise_without_bias": "it has no bias",
    "convolve_grouped": "it has groups",
}


def test_one_warning_names_all_layers_of_one_fault(tmp_path):
    net = product((3, 5), (3, 5))
    net.operator("MUL", net.inputs, [net.output((3, 5), 0.05, 5)], "MulOptions")
    network = qemu_nn.load(net.save(tmp_path))
    (said,) = run(network, S3)[1]
    assert ": 2 layers: ESP-NN 1.2.3: " in said
    assert all(repr(node.name) in said for node in network.graph.nodes)


@pytest.mark.parametrize("name", [name for name in CASES if "lstm" not in name])
def test_generic_c_has_the_bits_of_the_reference_kernels(name, tmp_path):
    network = qemu_nn.load(CASES[name]().save(tmp_path))
    if name in REFUSED:
        with pytest.raises(Refused, match=REFUSED[name]):
            network.session(C3)
        return
    try:
        network.session(REFERENCE)
    except Error as error:
        with pytest.raises(type(error)):
            network.session(C3)
        return
    x = draw_inputs(network.graph, 2, steps=2)
    assert differing(network, C3, x)[0] == []


def test_products_of_one_shape_have_a_tail_on_an_s3(tmp_path):
    rng = np.random.default_rng(3)
    x = [rng.integers(-128, 128, (400, 3, 5)).astype(np.int8) for _ in range(2)]
    network = qemu_nn.load(product((3, 5), (3, 5)).save(tmp_path))
    layers, said = differing(network, S3, x)
    assert layers == ["output"]
    assert "round ties differently" in said[0]
    got, wanted = run(network, S3, x)[0]["output"], run(network, REFERENCE, x)[0]["output"]
    places = np.flatnonzero((got != wanted).reshape(400, -1).any(axis=0))
    assert places.min() >= 8
    assert np.abs(got.astype(int) - wanted).max() == 1
    assert differing(network, C3, x) == ([], [])


@pytest.mark.parametrize(("shape", "data"), [((3, 1), None), ((1,), [7]), ((5,), [1, 2, 3, 4, 5])])
def test_products_that_broadcast_are_the_frameworks_own(shape, data, tmp_path):
    network = qemu_nn.load(product((3, 5), shape, data).save(tmp_path))
    assert differing(network, S3) == ([], [])
    network.save(tmp_path / "again.qnz")
    assert differing(qemu_nn.load(tmp_path / "again.qnz"), S3) == ([], [])


@pytest.mark.parametrize(
    ("own", "old", "new"),
    [
        ({}, True, False),
        ({"size": (7, 7)}, False, False),
        ({"size": (7, 8)}, True, True),
        ({"kernel": 4, "stride": 1}, True, True),
        ({"stride": 1}, False, False),
    ],
)
def test_padding_at_the_end_depends_on_the_release(own, old, new, tmp_path):
    network = qemu_nn.load(convolution(**own).save(tmp_path))
    for target, is_wrong in ((OLD_S3, old), (S3, new), (C3, False)):
        layers, said = differing(network, target)
        assert bool(layers) == bool(said) == is_wrong


def test_an_esp32_p4_warns_that_its_kernels_were_read(tmp_path):
    network = qemu_nn.load(convolution(kernel=4).save(tmp_path))
    layers, said = differing(network, Target("esp32p4"))
    assert layers == []
    assert said == [
        "net: ESP-NN's kernels for the ESP32-P4 were read, not run (CONV_2D); results are those of "
        "the framework's own kernels"
    ]


@pytest.mark.parametrize(
    ("shape", "warns"), [((1, 10), 0), ((4, 10), 0), ((1, 4, 10), 1), ((1, 20, 10), 0)]
)
def test_softmax_of_three_axes_may_write_after_its_scratch_memory(shape, warns, tmp_path):
    network = qemu_nn.load(classes(shape).save(tmp_path))
    layers, said = differing(network, C3)
    assert (layers, len(said)) == ([], warns)
    assert all("scratch memory is counted by the second axis" in each for each in said)


def test_many_samples_at_once_give_the_bits_of_single_samples(tmp_path):
    """Compare a batch, which is computed as rows of one call, with runs of one sample."""
    network = qemu_nn.load(dense().save(tmp_path))
    x = draw_inputs(network.graph, 70)
    session = network.session(S3)
    whole = session.run(x)["output"]
    single = np.concatenate([session.run(x[i : i + 1])["output"] for i in range(70)])
    np.testing.assert_array_equal(whole, single)
    assert differing(network, S3, x) == ([], [])


def test_goldens_of_an_s3_compare_with_its_bits_alone(tmp_path):
    network = qemu_nn.load(convolution(size=(7, 8)).save(tmp_path))
    x = draw_inputs(network.graph, 2)
    qemu_nn.golden(network, x, tmp_path / "g", target=S3)
    manifest = json.loads((tmp_path / "g" / "manifest.json").read_text())
    assert manifest["profile"] | {"core": ""} == {
        "core": "",
        "path": "esp32s3",
        "cmsis": "7.0.0",
        "rounding": "double",
        "esp_nn": "1.2.3",
    }
    for target, is_equal in ((S3, True), (C3, False)):
        folder = tmp_path / target.device
        folder.mkdir()
        for number, dump in enumerate(run(network, target, x)[0]["output"]):
            np.save(folder / f"x{number}_output.npy", dump)
        assert qemu_nn.compare(tmp_path / "g", folder).same == is_equal


def call(*arguments):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_check_names_the_quirk_of_a_network(tmp_path):
    path = convolution(size=(7, 8)).save(tmp_path)
    code, text = call("check", path, "--target", "esp32s3", "--esp-nn", "1.2.3")
    assert code == 0
    assert "windows at the end read the next row" in text
    assert "windows at the end" not in call("check", path, "--target", "esp32c3")[1]


def test_variants_list_chips_and_releases_beside_cmsis_nn(tmp_path):
    network = qemu_nn.load(convolution(size=(7, 8)).save(tmp_path))
    table = qemu_nn.variants(network, target=S3)
    said = " ".join(str(row["other_profiles"]) for row in table.records())
    chips = ("1.2.6, esp32;", "1.2.6, esp32s3;", "1.5.0, esp32s3;", "1.2.6, esp32p4;")
    for name in (*(f"ESP-NN {chip}" for chip in chips), "CMSIS-NN"):
        assert name in said
    assert "ESP-NN 1.1.2, esp32s3" not in said


def test_an_arena_has_the_scratch_memory_of_the_chip(tmp_path):
    network = qemu_nn.load(convolution(stride=1).save(tmp_path))
    figures = {name: network.fit(name) for name in ("esp32c3", "esp32s3")}
    assert all(isinstance(fit, Fit) for fit in figures.values())
    heads = {name: fit.tflm.head for name, fit in figures.items()}
    assert heads["esp32s3"] > heads["esp32c3"] == 8 * 8 * 8 + 8 * 8 * 8
    _, text = call("info", tmp_path / "net.tflite", "--target", "esp32s3")
    assert "tensors at multiples of 16 bytes" in text


@pytest.mark.parametrize("wanted", [{"cmsis": "7.0.0"}, {"rounding": "single"}, {"esp_nn": "9"}])
def test_builds_that_no_esp32_has_are_refused(wanted):
    with pytest.raises(Error, match=r"esp32s3|ESP-NN"):
        Target("esp32s3", **wanted)


def test_functions_of_q7_are_refused(tmp_path):
    network = qemu_nn.load(qemu_nn.__path__[0] + "/demo/digits.qnz")
    with pytest.raises(Error, match="quantize it with scheme='affine'"):
        network.session("esp32")


@pytest.mark.parametrize("name", [name for name in CASES if "lstm" in name])
def test_an_lstm_keeps_its_state_as_in_the_reference_kernels(name, tmp_path):
    network = qemu_nn.load(CASES[name]().save(tmp_path))
    try:
        graph = network.session(REFERENCE).graph
    except Error as error:
        with pytest.raises(type(error)):
            network.session(S3)
        return
    x = draw_inputs(graph, 2, steps=3)
    for target in (C3, S3, OLD_S3):
        assert differing(network, target, x) == ([], [])


def test_a_target_moves_between_families_with_its_month():
    old = Target("m4", cmsis="6.0.0", tflm="2026-05")
    assert old.on("m55") == Target("m55", cmsis="6.0.0", tflm="2026-05")
    moved = old.on("esp32s3")
    assert moved == Target("esp32s3", tflm="2026-05")
    assert OLD_S3.on("esp32c3") == Target("esp32c3", esp_nn="1.1.2")
    assert moved.on("m4") == Target("m4", tflm="2026-05")
    assert Target.of(OLD_S3.profile()) == Target(
        "esp32s3", rounding="double", kernels="reference", esp_nn="1.1.2"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("variants", "arm_softmax_s8"), "a function or an op of CMSIS-NN"),
        (("variants", "NET", "--releases"), "esp32s3 runs kernels that have no states of CMSIS-NN"),
        (
            ("info", "NET", "--cycles"),
            "instruction counts exist for CMSIS-NN only",
        ),
    ],
)
def test_what_is_of_cmsis_nn_alone_is_refused(arguments, said, tmp_path):
    path = dense().save(tmp_path)
    given = (path if each == "NET" else each for each in arguments)
    code, text = call(*given, "--target", "esp32s3")
    assert code != 0
    assert said in text
    with pytest.raises(Error, match="which does not have arm_relu6_s8"):
        qemu_nn.cmsis.arm_relu6_s8(data=np.zeros(4, np.int8), target="esp32s3")


def test_several_chips_are_compared_in_one_table(tmp_path):
    path = dense().save(tmp_path)
    code, text = call("info", path, "--fit", "esp32s3,stm32f411", "--target", "esp32s3")
    assert code == 0
    assert all(name in text for name in ("esp32s3", "stm32f411", "cortex-m4"))


def test_a_float_network_is_quantized_for_an_s3():
    demo = qemu_nn.__path__[0] + "/demo"
    with np.load(f"{demo}/digits.npz") as stored:
        images, labels = stored["x"] / 128, stored["y"]
    made = qemu_nn.quantize(f"{demo}/digits.onnx", images[:100], target=S3)
    assert differing(made, S3) == ([], [])
    found = qemu_nn.evaluate(made, (images, labels), target=S3)
    assert found.accuracy > 0.9


def test_the_content_of_a_file_is_loaded_whatever_its_first_byte(tmp_path):
    network = qemu_nn.load(CASES["convolve_same"]().save(tmp_path))
    network.save(tmp_path / "again.tflite")
    content = (tmp_path / "again.tflite").read_bytes()
    assert content[0] == 8  # ONNX files begin with the same byte
    assert qemu_nn.load(content).layers == network.layers


# ---- published networks ----

PUBLISHED = SHARED / "models_tflite2"
needs_networks = pytest.mark.skipif(
    not PUBLISHED.exists(), reason="the published networks are not next to the clone"
)
ESPHOME = (
    *("esphome_alexa", "esphome_hey_jarvis", "esphome_okay_nabu"),
    *(
        f"esphome_v2_{word}"
        for word in (
            *("alexa", "choo_choo_homie", "hey_home_assistant", "hey_jarvis", "hey_mycroft"),
            *("hey_peppa_pig", "okay_computer", "okay_nabu", "vad"),
        )
    ),
)


@needs_networks
@pytest.mark.parametrize("name", ESPHOME)
def test_wake_words_are_unchanged_on_every_chip(name):
    network = qemu_nn.load(PUBLISHED / f"{name}.tflite")
    x = draw_inputs(network.graph, 1, steps=12)
    for target in (C3, S3, OLD_S3, Target("esp32p4")):
        assert differing(network, target, x)[0] == []


@needs_networks
def test_a_face_detector_writes_after_its_scratch_memory():
    network = qemu_nn.load(PUBLISHED / "openmv_fomo_face_detection.tflite")
    layers, said = differing(network, S3)
    assert layers == []
    assert len(said) == 1
    assert "it writes 112,800 bytes after its scratch memory" in said[0]
    assert differing(network, C3) == ([], [])


@needs_networks
def test_a_residual_network_is_wrong_with_the_older_release():
    network = qemu_nn.load(SHARED / "models_tflite" / "pretrainedResnet_quant.tflite")
    layers, said = differing(network, OLD_S3)
    assert layers[0] == network.graph.nodes[4].name
    assert ": 2 layers: ESP-NN 1.1.2: " in said[0]
    assert differing(network, S3) == ([], [])
