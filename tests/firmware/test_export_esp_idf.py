"""The ESP-IDF project of a network, compiled on this PC with stand-ins for the framework."""

import json
import re
import shutil
import subprocess

import pytest
from esp32_files import convolution
from esp_idf_projects import compile_project
from tflite_states import STATES
from tflm_stand_in import write_framework

import qemu_nn
from qemu_nn.errors import Error, Refused
from qemu_nn.firmware.tflm import find_method
from qemu_nn.runtime.session import draw_inputs


def write_stand_ins(project, folder, network):
    """Write headers in place of the framework's: one operator computes all outputs."""
    source = (project / "components/network/network.cc").read_text()
    header = (project / "components/network/include/network.h").read_text()
    ends = [*network.graph.inputs, *(network.graph.tensors[name] for name in network.graph.outputs)]
    inputs = range(len(network.graph.inputs))
    outputs = range(len(inputs), len(ends))
    sizes = [tensor.nbytes for tensor in ends]
    write_framework(folder, source, header, sizes, inputs, outputs, [("all", list(outputs))])


def write_answers(network, x, target, folder, damage=False):
    """Write what the framework computes for each run; damage: one wrong byte."""
    session = network.session(target)
    recurrent = bool(network.graph.states)
    results = session.run(x)
    (name,) = network.graph.outputs
    data = bytearray()
    for one, out in zip(x, results[name]):
        steps = zip(one, out) if recurrent else [(one, out)]
        for step, (given, made) in enumerate(steps):
            data += bytes([step if recurrent else 255]) + given.tobytes() + made.tobytes()
    if damage:
        data[-1] ^= 1
    (folder / "answers.bin").write_bytes(data)


#: The newest release that differs from generic C where padding is not symmetric.
S3 = qemu_nn.Target("esp32s3", esp_nn="1.2.3")
NETWORKS = {"convolution": lambda: convolution(size=(7, 8)), "streaming": STATES["window"]}


@pytest.mark.compiles
@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("name", NETWORKS)
def test_the_self_test_passes_with_the_bits_of_the_chip_alone(name, tmp_path):
    network = qemu_nn.load(NETWORKS[name]().save(tmp_path))
    x = draw_inputs(network.graph, 2, steps=3)
    project = tmp_path / "project"
    qemu_nn.export(network, project, target=S3, data=x)
    write_stand_ins(project, tmp_path, network)
    program = compile_project(project, tmp_path)
    checks = 2 if name == "convolution" else 6
    write_answers(network, x, S3, tmp_path)
    done = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.count("PASS x") == checks, done.stdout
    assert f"0 of {checks} outputs differ from the goldens of ESP-NN 1.2.3, esp32s3" in done.stdout
    assert done.returncode == 0
    write_answers(network, x, S3, tmp_path, damage=True)
    done = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("FAIL layer=x1/")) == (1, 1)
    if name == "convolution":
        write_answers(network, x, "esp32c3", tmp_path)
        assert subprocess.run([program], cwd=tmp_path, capture_output=True).returncode == 2


@pytest.mark.compiles
@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("name", NETWORKS)
def test_the_link_validates_the_results_of_operators(name, tmp_path, monkeypatch):
    network = qemu_nn.load(NETWORKS[name]().save(tmp_path))
    x = draw_inputs(network.graph, 2, steps=3)
    project = tmp_path / "project"
    qemu_nn.export(network, project, target=S3, data=x)
    write_stand_ins(project, tmp_path, network)
    on = f"command:{compile_project(project, tmp_path, link=True)}"
    monkeypatch.chdir(tmp_path)
    write_answers(network, x, S3, tmp_path)
    found = qemu_nn.validate(network, x, on, layers=name == "convolution")
    assert (found.functions, found.same) == ("esp-tflite-micro", True)
    assert found.profile == "ESP-NN 1.2.3, esp32s3"
    write_answers(network, x, S3, tmp_path, damage=True)
    found = qemu_nn.validate(network, x, on, layers=name == "convolution")
    assert [layer.differing for layer in found.layers] == [1]


@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
def test_a_project_pins_its_chip_and_release(tmp_path):
    path = convolution().save(tmp_path)
    target = qemu_nn.Target("esp32s3", esp_nn="1.1.2")
    written = qemu_nn.export(path, tmp_path / "project", target=target)
    component = tmp_path / "project/components/network"
    text = (component / "idf_component.yml").read_text()
    assert 'espressif/esp-nn: "==1.1.2"' in text
    assert "- esp32s3" in text
    assert 'CONFIG_IDF_TARGET="esp32s3"' in (tmp_path / "project/sdkconfig.defaults").read_text()
    file = (tmp_path / "project/network.tflite").read_bytes()
    numbers = re.findall(r"\b\d+\b", (component / "network_model.c").read_text().partition("{")[2])
    assert bytes(map(int, numbers)) == file
    assert written.flash == len(file)
    manifest = json.loads((tmp_path / "project/manifest.json").read_text())
    assert manifest["profile"]["esp_nn"] == "1.1.2"
    assert "Mind: " in (tmp_path / "project/README.md").read_text()
    qemu_nn.export(path, tmp_path / "project", target="esp32c3")  # in place of the earlier one
    assert "- esp32c3" in (component / "idf_component.yml").read_text()


def test_what_esp_tflite_micro_does_not_run_is_not_exported(tmp_path):
    path = convolution(bias=False).save(tmp_path)
    with pytest.raises(Refused, match="it has no bias"):
        qemu_nn.export(path, tmp_path / "project", target="esp32")
    demo = qemu_nn.__path__[0] + "/demo/digits.qnz"
    with pytest.raises(Error, match="quantize it with scheme='affine'"):
        qemu_nn.export(demo, tmp_path / "project", target="esp32")
    path = convolution().save(tmp_path)
    with pytest.raises(Error, match="leave them out"):
        qemu_nn.export(path, tmp_path / "project", target="esp32", one_header=True)
    assert not (tmp_path / "project").exists()


METHODS = {
    "AVERAGE_POOL_2D": "AddAveragePool2D",
    "BATCH_MATMUL": "AddBatchMatMul",
    "L2_POOL_2D": "AddL2Pool2D",
    "RELU6": "AddRelu6",
    "SPACE_TO_BATCH_ND": "AddSpaceToBatchNd",
    "SPLIT_V": "AddSplitV",
    "SignalPCAN": "AddPCAN",
    "SignalRfft": "AddRfft",
    "SVDF": "AddSvdf",
    "TFLite_Detection_PostProcess": "AddDetectionPostprocess",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
    "VAR_HANDLE": "AddVarHandle",
    "ethos-u": "AddEthosU",
}


@pytest.mark.parametrize("operator", METHODS)
def test_methods_of_the_resolver_have_the_frameworks_names(operator):
    assert find_method(operator) == METHODS[operator]
