"""Commands, goldens, analysis and exports for networks of .pte files."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from exported import check, needs, write
from recorded_files import PTE, QDQ, QDQ_CASES

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.lowering.infer_formats import infer_formats

#: A network of layers, one of several inputs and functions, one of float operators.
SOME = ("view_flatten_conv_linear_m4", "lstm_cell_manual_m4", "softmax_dim1_m55")

CORES = {"m4": "cortex-m4", "m55": "cortex-m55"}


def core(name):
    return CORES[name.rsplit("_", 1)[-1]]


def inputs(name):
    """Return two samples in the program's logical shapes, by name if there are several inputs."""
    arrays = PTE.arrays(name)
    count = sum(key.startswith("in0_") for key in arrays)
    x = [np.stack([arrays[f"in{s}_{j}"] for s in range(2)]) for j in range(count)]
    return {f"input{j}": each for j, each in enumerate(x)} if count > 1 else x[0]


def invoke(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("name", SOME)
def test_every_command_takes_a_program(name, tmp_path):
    model, x = PTE.file(name, tmp_path), inputs(name)
    data = tmp_path / ("x.npz" if isinstance(x, dict) else "x.npy")
    np.savez(data, **x) if isinstance(x, dict) else np.save(data, x)
    how = ("--target", core(name))
    described = json.loads(invoke("info", model, *how, "--json"))
    assert len(described["layers"]) == len(qemu_nn.load(model).graph.nodes)
    invoke("run", model, "-d", data, *how, "-o", tmp_path / "out.npz")
    arrays, graph = PTE.arrays(name), qemu_nn.load(model).graph
    with np.load(tmp_path / "out.npz") as found:
        for j, output in enumerate(graph.outputs):
            assert found[output][1].tobytes() == arrays[f"out1_{j}"].tobytes()
    invoke("golden", model, "-d", data, *how, "-o", tmp_path / "golden")
    assert "are equal" in invoke("compare", tmp_path / "golden", tmp_path / "golden")
    assert "sqnr" in invoke("analyze", model, "-d", data, *how)
    assert "net" in invoke("bench", model, *how, "--batch", "1", "--turns", "1")


def test_variants_tell_where_cores_part(tmp_path):
    model, x = PTE.file("linear_m55", tmp_path), inputs("linear_m55")
    np.save(tmp_path / "x.npy", x)
    said = invoke("variants", model, "-d", tmp_path / "x.npy")
    assert "the bias is lost" in said
    assert "quantized_linear_1" in said


@pytest.mark.parametrize("name", SOME)
def test_the_dequantized_meaning_is_near(name, tmp_path):
    network = qemu_nn.load(PTE.file(name, tmp_path))
    report = qemu_nn.analyze(network, inputs(name), target=core(name))
    layers = json.loads(report.json())["layers"]
    assert {layer["layer"] for layer in layers} >= {
        node.name for node in network.graph.nodes if node.output.dtype == "int8"
    }
    for layer in layers:  # inputs may saturate; what follows is rounded to steps
        if "quantize_per_tensor" not in layer["layer"] and layer["sqnr_single_db"] is not None:
            assert layer["sqnr_single_db"] > (5 if name.startswith("lstm") else 18), layer


def test_scales_that_a_program_does_not_say_follow_from_its_multipliers(tmp_path):
    graph = qemu_nn.load(PTE.file("lstm_cell_manual_m4", tmp_path)).graph
    found = infer_formats(graph).tensors
    assert all(t.scale is not None for t in found.values() if t.dtype == "int8")
    given = {name: t for name, t in graph.tensors.items() if t.scale is not None}
    assert given
    assert all(found[name] == tensor for name, tensor in given.items())
    outputs = [node for node in graph.nodes if node.function.op == "dequantize"]
    for node in outputs:
        scale = float(np.int32(node.params["scale_bits"]).view(np.float32))
        assert found[node.inputs[0]].scale == pytest.approx(scale)
    (add,) = [node for node in graph.nodes if node.function.op == "elementwise_add"][:1]
    first, second = (found[name].scale for name in add.inputs)
    ratio = np.ldexp(float(add.params["input_1_mult"]), add.params["input_1_shift"])
    ratio /= np.ldexp(float(add.params["input_2_mult"]), add.params["input_2_shift"])
    assert first / second == pytest.approx(ratio)


@pytest.mark.parametrize("name", ["unit_sigmoid", "unit_hardswish", "unit_leakyrelu"])
def test_a_table_stands_for_its_own_function(name, tmp_path):
    pytest.importorskip("onnx")
    network, arrays = qemu_nn.load(QDQ.file(name, tmp_path)), QDQ.arrays(name)
    report = qemu_nn.analyze(network, arrays["x0"])
    layers = json.loads(report.json())["layers"]
    assert all(layer["sqnr_whole_db"] is None or layer["sqnr_whole_db"] > 30 for layer in layers)


@pytest.mark.parametrize("name", SOME)
def test_a_stream_of_samples_gives_what_a_run_gives(name, tmp_path):
    session = qemu_nn.load(PTE.file(name, tmp_path)).session(target=core(name))
    codes = session.host.codes(inputs(name))
    named = codes if isinstance(codes, dict) else {session.graph.input.name: codes}
    want, stream = session.run(codes), session.stream()
    for number in range(2):
        got = stream.step({key: array[number] for key, array in named.items()})
        assert all(got[key].tobytes() == want[key][number].tobytes() for key in want)


@pytest.mark.parametrize(("name", "dtype"), [("linear_m4", "float32"), ("linear_m4_i8io", "int8")])
def test_predict_returns_the_program_s_own_type(name, dtype, tmp_path):
    arrays = PTE.arrays(name)
    got = qemu_nn.load(PTE.file(name, tmp_path)).predict(arrays["in0_0"])
    assert (got.dtype, got.shape) == (arrays["out0_0"].dtype, arrays["out0_0"].shape)
    assert got.dtype == dtype
    assert got.tobytes() == arrays["out0_0"].tobytes()


def test_a_program_of_integers_is_compared_in_the_format_that_it_says(tmp_path):
    arrays = PTE.arrays("linear_m4_i8io")
    network = qemu_nn.load(PTE.file("linear_m4_i8io", tmp_path))
    (output,) = network.graph.outputs
    assert network.graph.tensors[output].spelled == "int8 0.01019*(q+23)"
    x = np.clip(arrays["in0_0"], 5, 25).reshape(1, 1, -1).repeat(3, 0)  # near 0, which is 15
    assert qemu_nn.evaluate(network, x).figures["sqnr_db"] > 25
    report = json.loads(qemu_nn.analyze(network, x).json())
    assert report["layers"][-1]["sqnr_whole_db"] > 25


@pytest.mark.compiles
@needs("pc")
@pytest.mark.parametrize("name", SOME)
def test_exported_c_passes_its_self_test(name, tmp_path):
    network = pipeline.Network(qemu_nn.load(PTE.file(name, tmp_path)).graph)
    folder = write(tmp_path / "net", network, data=inputs(name), target=core(name))
    status, lines = check(folder)
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


@pytest.mark.compiles
@needs("m4")
def test_exported_c_passes_on_an_emulated_device(tmp_path):
    name = "view_flatten_conv_linear_m4"
    network = pipeline.Network(qemu_nn.load(PTE.file(name, tmp_path)).graph)
    folder = write(tmp_path / "net", network, data=inputs(name), target=core(name))
    status, lines = check(folder, "m4")
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


@pytest.mark.parametrize(
    ("archive", "name"), [(QDQ, "branchy_s8_pc"), (QDQ_CASES, "s16_add"), (QDQ, "unit_add")]
)
def test_evaluate_takes_the_file_s_own_order_of_axes(archive, name, tmp_path):
    pytest.importorskip("onnx")
    network = qemu_nn.load(archive.file(name, tmp_path))
    rng, inputs = np.random.default_rng(0), network.graph.inputs
    x = {t.name: rng.uniform(*t.format.ends, (3, *t.logical)) / 2 for t in inputs}
    found = qemu_nn.evaluate(network, x if len(x) > 1 else x[inputs[0].name])
    assert found.figures["sqnr_db"] > 20
