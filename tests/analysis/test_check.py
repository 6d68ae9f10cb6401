"""Checks of files and folders: the networks that run, and every reason against the others."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from paths import GOLDEN
from soon import soon
from tflite_cases import CASES, Net
from tflite_damage import changed
from tflite_files import File

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.importers.tflite import examine
from qemu_nn.importers.tflite.ethosu import ETHOSU
from qemu_nn.importers.tflite.network import CONVERTERS
from qemu_nn.importers.tflite.parser import read
from qemu_nn.importers.tflite.tflm_answers import find_answer, list_answers, supported

REFUSED = GOLDEN / "tflm_refused.tsv"
DIGITS = Path(qemu_nn.__file__).parent / "demo" / "digits.qnz"
TYPES = ("INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL", "FLOAT32")


def call(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def broken():
    """Return a file: a convolution that runs, two unsupported operators, and readers of their
    outputs.
    """
    net = CASES["convolve_same"]()
    first, second = (net.middle(9, 10, 6) for _ in range(2))
    text = net.tensor((1, 4), "STRING")
    left = net.middle(4)
    net.operator("TILE", [2, net.list(1, 1)], [first])
    net.operator("RELU", [first], [second])
    net.operator("TILE", [second, net.list(1, 1)], [text])
    net.operator("RELU", [text], [left])
    net.operator("CUSTOM:Ethos", [second], [net.middle(9, 10, 6)])
    net.outputs.append(left)
    return net


@pytest.fixture
def net(tmp_path):
    return broken().save(tmp_path)


# ---- operator by operator ----


def test_every_operator_is_examined_and_readers_go_on_with_what_the_file_says(net):
    found = examine(net)
    names = ["CONV_2D", "TILE", "RELU", "TILE", "RELU", "Ethos"]
    assert [each.operator for each in found.findings] == names
    assert [each.index for each in found.findings] == [0, 1, 2, 3, 4, 5]
    assert [bool(each.reason) for each in found.findings] == [False, True, False, True, True, True]
    assert [each.looked_at for each in found.findings] == [True] * 4 + [False, True]
    assert found.graph is None


def test_equal_reasons_are_said_once(net):
    reasons = examine(net).reasons
    assert len(reasons) == 3
    assert reasons[0].startswith("TILE (operator 1 and 1 more): the operator is not supported. ")
    assert "TensorFlow Lite Micro refuses it: Didn't find op for" in reasons[0]
    assert "'TILE'" in reasons[0]
    assert reasons[1].startswith("RELU (operator 4): not looked at")


@pytest.mark.parametrize("name", ["convolve_same", "reshape_of_an_open_batch", "softmax_s8"])
def test_a_file_that_runs_has_the_network_that_load_reads(name, tmp_path):
    path = CASES[name]().save(tmp_path)
    found, loaded = examine(path), qemu_nn.load(path).graph
    assert found.reasons == ()
    assert not found.failed
    assert found.graph.nodes == loaded.nodes
    assert len(found.findings) == len(read(path).operators)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda net: net.outputs.clear(), "it has no outputs"),
        (lambda net: net.inputs.clear(), "it has no inputs"),
        (lambda net: net.tensors[0].update(signature=[-1, -1, 10, 4]), "has no fixed size"),
    ],
)
def test_faults_of_the_whole_file_are_reasons(change, fault, tmp_path):
    net = CASES["convolve_same"]()
    change(net)
    found = examine(net.save(tmp_path))
    assert fault in found.reasons[0]
    assert found.graph is None


def test_a_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(b"\x08\0\0\0TFL3" + bytes(99))
    with pytest.raises(ModelError, match="damaged"):
        examine(path)


def test_what_is_too_large_is_not_looked_at_for_ever(tmp_path):
    net = Net()
    x, w = net.begin(256), net.weights((2**15, 256), 0, False)
    for _ in range(40):
        y = net.middle(2**15)
        net.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    net.outputs.append(y)
    found = examine(net.save(tmp_path))
    assert "its constants take more than 256 MiB" in found.reasons[0]
    assert "not looked at, because the network is already too large" in found.reasons[1]
    assert sum(each.looked_at for each in found.findings) == 32  # 31 run, one is too large


@pytest.mark.parametrize("name", list(CASES)[::8])
def test_damaged_files_are_examined_as_they_are_loaded(name, tmp_path):
    data, path = CASES[name]().bytes(), tmp_path / "net.tflite"
    for number in range(30):
        path.write_bytes(changed(data, np.random.default_rng(number)))
        with soon(300):
            try:
                loaded = qemu_nn.load(path).graph
            except ModelError:
                loaded = None
            try:
                found = examine(path)
            except ModelError:
                assert loaded is None
                continue
        assert (found.graph is None) == (loaded is None), number
        assert bool(found.reasons) == (loaded is None), number
        assert all("\n" not in reason for reason in found.reasons)


# ---- what TensorFlow Lite Micro refuses ----


@pytest.mark.parametrize("line", REFUSED.read_text().splitlines(), ids=lambda line: line.split()[0])
def test_what_another_build_refused_is_recorded_in_its_words(line):
    """Compare the texts of the build with CMSIS-NN with those of the wheel."""
    _, operator, words = line.split("\t")
    if operator in ("TRANSPOSE_CONV", "STRIDED_SLICE") or "BOOL" in words:
        pytest.skip("it depends on the bias, on masks, or on the month")
    assert any(text and text in words for text in list_answers(operator).values())


@pytest.mark.parametrize(
    ("operator", "kinds", "words"),
    [
        ("CONCATENATION", ["UINT8", "UINT8"], "input_type == kTfLiteFloat32"),
        ("BATCH_MATMUL", ["INT16", "INT8"], "lhs_data->type == rhs_data->type"),
        ("ADD", ["FLOAT16", "FLOAT16"], "Type FLOAT16"),
        ("ADD_N", ["INT8", "INT8"], ""),
        ("TILE", ["INT8", "INT32"], "Didn't find op for builtin opcode 'TILE'"),
        ("GATHER", ["INT8", "INT32"], ""),
        ("GATHER", ["INT8", "INT64"], "Positions of type 'INT64' are not supported by gather."),
    ],
)
def test_types_that_the_framework_refuses(operator, kinds, words, tmp_path):
    net = File()
    inputs = [net.input((1, 4), 0.5, 3, kind) for kind in kinds]
    net.operator(operator, inputs, [net.output((1, 4), type=kinds[0])])
    model = read(net.save(tmp_path))
    said = find_answer(model, model.operators[0])
    assert said is not None
    assert (said.startswith(words), bool(said)) == (True, bool(words))


def test_an_operator_of_refused_types_has_the_frameworks_text(tmp_path):
    net = File()
    axis = net.tensor((1,), "INT64", data=[1])
    net.operator("CUMSUM", [net.input((1, 4)), axis], [net.output((1, 4))], "CumsumOptions")
    (reason,) = examine(net.save(tmp_path)).reasons
    words = "TensorFlow Lite Micro refuses it: axis->type != kTfLiteInt32 (4 != 2)"
    assert reason.endswith(f"it computes INT8 from INT8, INT64 (constant). {words}")


def test_operators_that_the_network_omits_are_asked_too(tmp_path):
    """Refuse a file by an operator that computes the known shape of a RESHAPE."""
    net = File()
    x, made = net.input((1, 4)), [net.tensor((n,), "INT32") for n in (2, 2)]
    net.operator("SHAPE", [x], [made[0]], "ShapeOptions", OutType=2)
    net.operator("TILE", [made[0], net.tensor((1,), "INT32", data=[1])], [made[1]])
    net.operator("RESHAPE", [x, made[1]], [net.output((4, 1))], "ReshapeOptions")
    path = net.save(tmp_path)
    with pytest.raises(ModelError, match="find op for builtin opcode 'TILE'"):
        qemu_nn.load(path)
    (reason,) = examine(path).reasons
    assert "find op for builtin opcode 'TILE'" in reason


def test_sums_of_several_formats_are_refused(tmp_path):
    net = File()
    inputs = [net.input((1, 4), scale) for scale in (0.5, 0.25)]
    net.operator("ADD_N", inputs, [net.output((1, 4))])
    assert (
        "refuses it: input_tensor_first->params.scale ==" in examine(net.save(tmp_path)).reasons[0]
    )


def test_what_is_read_here_the_framework_has():
    assert set(CONVERTERS) - set(ETHOSU) <= supported()


# ---- info ----


def test_info_of_a_file_that_does_not_run_is_a_table(net):
    code, text = call("info", net)
    assert code == 2
    assert [line.split() for line in text.splitlines()[2:6]] == [
        ["CONV_2D", "1", "1"],
        ["Ethos", "1", "0"],
        ["RELU", "2", "1"],
        ["TILE", "2", "0"],
    ]
    assert "refuses it: Didn't find op" in text
    assert "4 of 6 operators do not run" in text


def test_info_as_json_has_every_operator(net):
    code, text = call("info", net, "--json")
    told = json.loads(text)
    assert (code, told["file"], told["runs"]) == (2, "net.tflite", False)
    assert [each["runs"] for each in told["operators"]] == [
        *(True, False, True, False, None, False)
    ]
    assert told["operators"][1]["tflm_refuses"] == "Didn't find op for builtin opcode 'TILE'"
    assert len(call("info", net, "--csv")[1].splitlines()) == 7


def test_info_of_a_damaged_file_is_a_sentence(tmp_path):
    (tmp_path / "net.tflite").write_bytes(b"TFL3")
    code, text = call("info", tmp_path / "net.tflite")
    assert code == 2
    assert text.startswith("Error: ")


# ---- check ----


def test_check_walks_over_folders_and_says_what_runs(tmp_path):
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    CASES["convolve_same"]().save(folder, "good.tflite")
    broken().save(folder, "bad.tflite")
    (tmp_path / "deep" / "digits.qnz").write_bytes(DIGITS.read_bytes())
    (folder / "notes.txt").write_text("nothing")
    seen = []
    checks = qemu_nn.check(tmp_path, progress=lambda files: seen.extend(files) or files)
    names = [Path(model.file).name for model in checks.models]
    assert names == ["digits.qnz", "bad.tflite", "good.tflite"]
    assert len(seen) == 3
    assert [model.runs for model in checks.models] == [True, False, True]
    assert [model.operators for model in checks.models][1:] == [6, 1]
    assert not checks.run
    facts = qemu_nn.api.golden.describe(qemu_nn.load(folder / "good.tflite")).facts
    good = checks.models[2]
    assert good.arena_bytes == facts["tflm_arena_bytes"]
    assert good.weight_bytes == facts["weight_bytes"]
    assert "2 of 3 networks run" in checks.text()
    assert "er/bad.tflite:\n  TILE" in checks.text()
    rows = json.loads(checks.json())
    assert [row["runs"] for row in rows] == [True, False, True]
    assert len(rows[1]["reasons"]) == 3
    assert len(checks.csv().splitlines()) == 4


def test_the_exit_code_says_whether_all_run(tmp_path, net):
    good = CASES["convolve_same"]().save(tmp_path, "good.tflite")
    assert call("check", good, "--target", "cortex-m55")[0] == 0
    assert call("check", good, net)[0] == 1
    assert call("check", tmp_path / "none.tflite")[0] == 2
    assert call("check", good, "--target", "cortex-m9")[0] == 2
    assert call("check")[0] == 2
    assert json.loads(call("check", good, "--json")[1])[0]["runs"] is True


def test_a_file_that_cannot_be_read_does_not_end_the_check(tmp_path):
    (tmp_path / "a.tflite").write_bytes(b"nothing")
    (tmp_path / "b.qnz").write_bytes(b"nothing")
    CASES["convolve_same"]().save(tmp_path, "c.tflite")
    checks = qemu_nn.check(tmp_path)
    assert [model.runs for model in checks.models] == [False, False, True]
    assert "is not a TensorFlow Lite model" in checks.models[0].reasons[0]


def test_a_folder_without_networks_is_an_error(tmp_path):
    with pytest.raises(Error, match=r"contains no networks: no \.tflite, .* quantized \.onnx"):
        qemu_nn.check(tmp_path)
    with pytest.raises(Error, match="there is nothing to check"):
        qemu_nn.check([])
    with pytest.raises(Error, match="a path of a file or folder"):
        qemu_nn.check(3)


def test_warnings_of_the_device_stand_beside_what_runs(tmp_path, monkeypatch):
    path = CASES["convolve_same"]().save(tmp_path)
    graph = qemu_nn.load(path).graph
    first = graph.nodes[0]
    changed = (type(first)(**{**vars(first), "effect": "nobody expects it"}), *graph.nodes[1:])
    odd = type(graph)(**{**vars(graph), "nodes": changed})
    found = examine(path)
    monkeypatch.setattr(
        "qemu_nn.importers.tflite.examine", lambda _: type(found)(**{**vars(found), "graph": odd})
    )
    (model,) = qemu_nn.check(path).models
    assert model.runs
    assert "nobody expects it" in model.warnings[0]
    assert "warning: " in qemu_nn.check(path).text()
    assert qemu_nn.check(path, target=qemu_nn.Target(kernels="reference")).models[0].warnings == ()


def test_a_device_that_cannot_run_a_network_says_why():
    checks = qemu_nn.check(DIGITS, target=qemu_nn.Target("cortex-m55", cmsis="5.9.0"))
    assert checks.run
    (model,) = qemu_nn.check(DIGITS, target=qemu_nn.Target(cmsis="7.0.0")).models
    assert not model.runs
    assert model.operators == len(qemu_nn.load(DIGITS).graph.nodes)
    assert np.all(list(model.reasons))
