"""Exports for the Ethos-U, compiled on this PC with stand-ins for the framework and the driver."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from ethosu_programs import CONFIGURATIONS, Writer, container, every_kind, tflite
from tflm_stand_in import write_driver, write_framework

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.runtime.session import draw_inputs

HAS_TOOLS = shutil.which("g++") and shutil.which("make")


def compiles(test):
    """Mark a test that builds an export on this PC."""
    skip = pytest.mark.skipif(not HAS_TOOLS, reason="there is no C++ compiler, or no make")
    return pytest.mark.compiles(skip(test))


#: Operators of mixed_file(): name, and numbers of its outputs in the stand-in; their results.
OPERATORS = [("ethos-u", [5]), ("RELU", [7]), ("ethos-u", [6])]
RESULTS = ["end1", "relu;x", "last"]

SHAPE = (1, 2, 3, 4)


def copy_stream(source, target):
    writer = Writer().map("ifm", SHAPE[1:], source).map("ofm", SHAPE[1:], target, bits=0x100)
    return writer.kernel().clamp().set(ofm_scale=(1, 0)).run("pool", 0)


def mixed_file(**more):
    """Return a file that copies on the NPU, computes RELU on the core, and copies again."""
    ends = [(SHAPE, "INT8", 0.5, 1, at) for at in (0, 1024)]
    file = tflite(copy_stream(0, 1024), ends[:1], ends[1:], **more)
    npu = CONFIGURATIONS[more.get("target", "ethos-u55-128")]
    words = container(copy_stream(2048, 3072).stream, npu)
    relu, last = (file.tensor(SHAPE, "INT8", 0.5, 1, name=name) for name in ("relu;x", "last"))
    second = file.tensor([len(words)], "UINT8", data=np.frombuffer(words, np.uint8))
    file.operator("RELU", [4], [relu])
    own = file.operators[0][1][3]
    file.operator("CUSTOM:ethos-u", [second, 1, 2, own, relu], [last], custom=b"\1\4\1")
    offsets = [-1, -1, 0, 0, 1024, *([0] if "fast" in more else []), 2048, 3072, -1]
    file.buffers[file.metadata[0][1]] = np.array([0, 1, len(offsets), *offsets], "<i4").tobytes()
    file.outputs = [last]
    return file


def build(project, tree, target="all", flags="", **variables):
    """Build with make against the stand-ins in a folder."""
    driver = tree / "include" / "driver.c"
    given = {"TFLM": tree, "DOWNLOADS": tree, "DRIVER": tree, "BOARD": driver, **variables}
    given["CFLAGS"] = f"-DNETWORK_NPU_BASE=0x48102000 -Werror {flags}"
    given["PORT"] = f"link/pc.c {driver}"
    words = [f"{name}={value}" for name, value in given.items()]
    done = subprocess.run(
        ["make", "-s", "-C", project, target, *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "build" / {"all": "selftest.elf", "link": "link.elf"}[target]


def run_program(program, folder):
    done = subprocess.run([program], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout


def write_tree(project, tree, fast=0):
    """Write the stand-ins for a project of mixed_file()."""
    source, header = (project / "network.cc").read_text(), (project / "network.h").read_text()
    write_framework(tree, source, header, [24] * 9, [4], [6], OPERATORS)
    write_driver(tree / "include", fast)


def write_answers(network, x, folder, damage=None):
    """Write the results of all operators for each input; damage: the operator with a wrong byte."""
    traced = network.session("ethos-u55-128").run(x, trace=True)
    data = b""
    for sample, given in enumerate(x):
        data += bytes([255]) + given.tobytes()
        for at, name in enumerate(RESULTS):
            made = bytearray(np.ascontiguousarray(traced[name][sample]).tobytes())
            made[7] ^= at == damage
            data += bytes(made)
    (folder / "answers.bin").write_bytes(data)


@pytest.fixture
def project(tmp_path):
    """Return the network of mixed_file(), the inputs of its export, and the export."""
    path, folder = mixed_file().save(tmp_path), tmp_path / "project"
    network = qemu_nn.load(path)
    x = draw_inputs(network.graph, 2)
    qemu_nn.export(path, folder, target="ethos-u55-128", data=x)
    return network, x, folder


@compiles
def test_the_self_test_checks_the_result_of_each_operator(project, tmp_path):
    network, x, folder = project
    write_tree(folder, tmp_path / "tree")
    program = build(folder, tmp_path / "tree", CXXFLAGS="-DNPU")
    write_answers(network, x, tmp_path)
    code, said = run_program(program, tmp_path)
    passed = [line.split()[1] for line in said.splitlines() if line.startswith("PASS")]
    names = ("end1", "relu", "last")
    assert (code, passed) == (0, [f"x{i}/{name}" for i in range(2) for name in names])
    assert "0 of 6 results differ from the goldens of CMSIS 7.0.0, mve, double; arena 1234" in said
    for at, name in enumerate(names):
        write_answers(network, x, tmp_path, damage=at)
        code, said = run_program(program, tmp_path)
        assert (code, said.count(f"/{name} index=7 "), said.count("FAIL")) == (2, 2, 2), said


@compiles
def test_a_device_is_validated_between_its_operators(project, tmp_path, monkeypatch):
    network, x, folder = project
    write_tree(folder, tmp_path / "tree")
    on = f"command:{build(folder, tmp_path / 'tree', 'link', CXXFLAGS='-DNPU')}"
    monkeypatch.chdir(tmp_path)
    write_answers(network, x, tmp_path)
    found = qemu_nn.validate(network, x, on)
    assert (found.functions, found.same) == ("TensorFlow Lite Micro", True)
    assert [layer.layer for layer in found.layers] == RESULTS
    write_answers(network, x, tmp_path, damage=1)
    found = qemu_nn.validate(network, x, on)
    assert [layer.differing for layer in found.layers] == [0, 2, 0]
    found = qemu_nn.validate(network, x, on, layers=False)
    assert [(layer.layer, layer.differing) for layer in found.layers] == [("last", 0)]


@compiles
def test_fast_memory_and_sections_of_the_board_compile(tmp_path):
    path, folder = mixed_file(fast=64, target="ethos-u65-512").save(tmp_path), tmp_path / "project"
    qemu_nn.export(path, folder, target="ethos-u65-512")
    write_framework(
        tmp_path / "tree", *((folder / f"network.{end}").read_text() for end in ("cc", "h")),
        [24] * 9, [4], [6], OPERATORS,
    )  # fmt: skip
    write_driver(tmp_path / "tree/include", fast=64)
    names = ("ARENA", "MODEL", "FAST")
    places = " ".join(f"-DNETWORK_{n}_SECTION='\".of_{n.lower()}\"'" for n in names)
    build(folder, tmp_path / "tree", flags=places, CXXFLAGS="-DNPU")
    objects = (tmp_path / "project/build/selftest.elf").read_bytes()
    assert all(f".of_{name.lower()}".encode() in objects for name in names)
    assert "fast memory (64 bytes)" in (folder / "README.md").read_text()


@compiles
def test_a_program_runs_through_the_driver_alone(tmp_path, monkeypatch):
    path, folder = tmp_path / "net.vela_bin_stream", tmp_path / "project"
    path.write_bytes(every_kind())
    network = qemu_nn.load(path)
    x = draw_inputs(network.graph, 2)
    made = qemu_nn.export(path, folder, target="ethos-u55-128", data=x)
    assert made.ram == 4096
    write_driver(tmp_path / "include", 0, [(0, 100)], [(700, 12)])
    (out,) = network.session("ethos-u55-128").run(x).values()
    pairs = [bytes([0]) + a.tobytes() + b.tobytes() for a, b in zip(x, out)]
    (tmp_path / "answers.bin").write_bytes(b"".join(pairs))
    code, said = run_program(build(folder, tmp_path), tmp_path)
    assert (code, said.count("PASS")) == (0, 2), said
    on = f"command:{build(folder, tmp_path, 'link')}"
    monkeypatch.chdir(tmp_path)
    assert qemu_nn.validate(network, x, on).same
    pairs[1] = pairs[1][:-1] + bytes([pairs[1][-1] ^ 1])
    (tmp_path / "answers.bin").write_bytes(b"".join(pairs))
    assert run_program(folder / "build/selftest.elf", tmp_path)[0] == 1
    assert not qemu_nn.validate(network, x, on).same


def test_an_export_holds_the_file_and_names_its_targets(project, tmp_path):
    _, _, folder = project
    written = (folder / "network.tflite").read_bytes()
    numbers = (folder / "network_model.c").read_text().partition("{")[2].partition("}")[0]
    assert (
        bytes(int(word) for word in numbers.replace("\n", "").split(",") if word.strip()) == written
    )
    assert "project(network C CXX)" in (folder / "CMakeLists.txt").read_text()
    assert json.loads((folder / "manifest.json").read_text())["profile"]["core"] == "cortex-m55"
    assert "for another NPU than ethos-u55-128" in (folder / "README.md").read_text()
    source = (folder / "network.cc").read_text()
    assert "memory.AddEthosU()" in source
    assert "memory.AddRelu()" in source


def test_states_in_the_arena_start_at_their_zero_point(tmp_path):
    file = mixed_file()
    state = file.tensor((1, 2), "INT8", 0.5, -3, name="state")
    file.operators[2][1].append(state)
    offsets = np.frombuffer(file.buffers[file.metadata[0][1]], "<i4")[3:]
    offsets = [*offsets[:-1], -1, 2000][: state + 1]
    file.tensor([1], "RESOURCE", name="handle")
    offsets.append(-1)
    head = np.array([0, 1, len(offsets), *offsets], "<i4")
    file.buffers[file.metadata[0][1]] = head.tobytes()
    path = file.save(tmp_path)
    qemu_nn.export(path, tmp_path / "project", target="ethos-u55-128")
    source = (tmp_path / "project/network.cc").read_text()
    assert "memset(arena + 2000, 253, 2);" in source


def test_what_has_no_file_of_its_own_is_not_exported(tmp_path):
    path = mixed_file().save(tmp_path)
    network = qemu_nn.load(path)
    network.save(tmp_path / "net.qnz")
    for given, words in (
        (network, "give export\\(\\) the path of the file"),
        (tmp_path / "net.qnz", "has programs of an Ethos-U inside of another format"),
    ):
        with pytest.raises(Error, match=words):
            qemu_nn.export(given, tmp_path / "project")
    with pytest.raises(Error, match="an Ethos-U runs a file of another tool; leave them out"):
        qemu_nn.export(path, tmp_path / "project", weights="blob")
    assert not (tmp_path / "project").exists()


def test_float_ends_are_refused(tmp_path):
    file = mixed_file()
    wide = file.tensor(SHAPE, "FLOAT32", name="wide")
    file.operator("DEQUANTIZE", [file.outputs[0]], [wide])
    file.outputs = [wide]
    words = np.frombuffer(file.buffers[file.metadata[0][1]], "<i4")
    head = np.array([0, 1, words[2] + 1, *words[3:], -1], "<i4")
    file.buffers[file.metadata[0][1]] = head.tobytes()
    with pytest.raises(Error, match="'wide'\\) is float32, and the goldens have int8"):
        qemu_nn.export(file.save(tmp_path), tmp_path / "project")


def test_the_command_line_exports_the_file(tmp_path):
    path, folder = mixed_file().save(tmp_path), tmp_path / "project"
    done = CliRunner().invoke(main, ["export", str(path), "-o", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"{folder}/README.md tells how to build its self-test" in done.output
    assert (folder / "network.cc").exists()
