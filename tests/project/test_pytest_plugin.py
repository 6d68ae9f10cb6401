"""The plugin of pytest and the action of GitHub, in a repository laid out as docs/ci.md says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import firmware
import networks
import numpy as np
import pytest
from click.testing import CliRunner
from paths import ROOT

import qemu_nn
from qemu_nn import Error
from qemu_nn.api import golden as pipeline
from qemu_nn.api.recompute import golden_sets, recompute
from qemu_nn.cli.main import main

pytest_plugins = ("pytester",)

PACKAGE = Path(qemu_nn.__file__).parents[1]  # a checkout, or where the package is installed
PLUGIN = ("-p", "no:qemu_nn", "-p", "qemu_nn.pytest_plugin", "-p", "no:cacheprovider")
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.S)


def call(*arguments):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return done.exit_code, done.output


def changed(network):
    """Write the same network with other weights in its last layer."""
    graph = network.graph
    weights = graph.nodes[-2].weights
    arrays = {**graph.arrays, weights: ~graph.arrays[weights]}
    return pipeline.Network(type(graph)(**{**vars(graph), "arrays": arrays}))


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Make the layout of docs/ci.md, with the output of its first command, and dumps as from a
    board.
    """
    monkeypatch.chdir(tmp_path)
    files = dict(FILE.findall((ROOT / "docs" / "ci.md").read_text(encoding="utf-8")))
    (tmp_path / "model").mkdir()
    pipeline.Network(networks.classifier()).save("model/net.qnz")
    np.save("model/inputs.npy", networks.images(2))
    verb, *options = files.pop("write.sh").split()[1:]
    assert call(verb, *options)[0] == 0
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    for path in Path("goldens/m4").rglob("*.bin"):
        dump = Path("dumps") / path.relative_to("goldens/m4")
        dump.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, dump)
    return tmp_path


def test_the_tests_of_the_page_pass_and_fail_with_the_diagnosis(repository, pytester):
    os.chdir(repository)
    pytester.runpytest_inprocess(*PLUGIN, "tests").assert_outcomes(passed=2)
    dump = Path("dumps/x1/ip1.bin")
    content = bytearray(dump.read_bytes())
    content[3] ^= 1
    dump.write_bytes(content)
    result = pytester.runpytest_inprocess(*PLUGIN, "tests")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*DIFFERS  x1/ip1: index=3*", "*1 of 12 dumps differ*"])
    changed(pipeline.load_quantized(Path("model/net.qnz"))).save("model/net.qnz")
    pytester.runpytest_inprocess(*PLUGIN, "tests").assert_outcomes(failed=2)


def test_a_dump_may_be_arrays_by_name(repository, pytester):
    os.chdir(repository)
    Path("tests/test_bits.py").write_text(
        "import numpy as np\n"
        "def test_same(assert_same):\n"
        "    dump = {'x0/ip1': np.load('goldens/m4/x0/ip1.npy')}\n"
        "    assert_same(dump, 'goldens/m4')\n"
        "def test_type(assert_same):\n"
        "    assert_same({'x0/ip1': np.load('goldens/m4/x0/ip1.npy').astype(int)}, 'goldens/m4')\n"
        "def test_name(assert_same):\n"
        "    assert_same({'x0/ip7': np.zeros(3)}, 'goldens/m4')\n"
    )
    result = pytester.runpytest_inprocess(*PLUGIN, "tests")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["*elements of int64, but the golden has*int8*", "*'x0/ip7': * has no golden of this name*"]
    )


def test_a_session_that_does_not_use_the_plugin_imports_nothing(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    assert 'qemu_nn.pytest_plugin' in sys.modules\n"
        "    assert not {'qemu_nn.api', 'qemu_nn._native', 'numpy'} & {*sys.modules}\n"
    )
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "qemu_nn.pytest_plugin", "-p"]
    environment["PYTHONPATH"] = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, "no:cacheprovider"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_the_package_registers_the_plugin():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\nqemu_nn = "qemu_nn.pytest_plugin"\n' in text


@pytest.mark.parametrize("graph", [networks.classifier(memory=True), networks.recurrent()])
def test_goldens_are_computed_again(graph, tmp_path):
    network = pipeline.Network(graph)
    shape = (2, 3, *graph.input.shape) if graph.states else (2, *graph.input.shape)
    x = np.random.default_rng(1).integers(-99, 99, shape).astype(graph.input.dtype)
    pipeline.golden(network, x, tmp_path / "a" / "set", target="cortex-m55")
    (found,) = golden_sets(tmp_path)
    comparison = recompute(network, found)
    assert comparison.same
    assert not comparison.missing
    assert len(comparison.findings) == len(list(tmp_path.rglob("*.npy")))


def test_check_says_which_golden_is_another_today(repository):
    code, said = call("check", "model/net.qnz", "--golden", "goldens")
    assert (code, said.splitlines()[-1]) == (
        0,
        f"{Path('goldens/m4')}: all 12 dumps are equal to their goldens",
    )
    network = pipeline.load_quantized(Path("model/net.qnz"))
    changed(network).save("model/net.qnz")
    code, said = call("check", "model/net.qnz", "--golden", "goldens")
    assert code == 1
    assert "DIFFERS  x0/ip1: index=" in said
    assert "same     " not in said
    shorter = networks.classifier(names=("conv1", "relu1", "pool1", "ip1", "probabilities"))
    pipeline.Network(shorter).save("model/net.qnz")
    code, said = call("check", "model/net.qnz", "--golden", "goldens")
    assert code == 1
    assert "GONE     x1/softmax: the network has no such layer" in said


def test_check_takes_the_folder_of_a_firmware(tmp_path):
    (tmp_path / "model").mkdir()
    description, arrays = firmware.small()
    firmware.write(tmp_path / "model", description, **arrays)
    x = np.ones((1, 4), np.int8)
    pipeline.golden(pipeline.load_quantized(tmp_path / "model"), x, tmp_path / "set")
    code, said = call("check", str(tmp_path / "model"), "--golden", str(tmp_path / "set"))
    assert (code, "are equal to their goldens" in said) == (0, True)


def test_what_check_cannot_compute_again_is_a_sentence(repository):
    code, said = call("check", "model/net.qnz", "--golden", "model")
    assert (code, "is no golden set" in said) == (2, True)
    code, said = call("check", "model/net.qnz", "model/net.qnz", "--golden", "goldens")
    assert (code, "--golden needs one MODEL" in said) == (2, True)
    with pytest.raises(Error, match="give the network of the goldens"):
        recompute(pipeline.Network(networks.recurrent()), Path("goldens/m4"))


@pytest.mark.skipif(not shutil.which("bash"), reason="the action's step is of bash")
@pytest.mark.skipif(os.name == "nt", reason="the stand-in for qemu-nn is a script of sh")
def test_the_step_of_the_action_runs_in_that_repository(repository):
    action = (ROOT / ".github/actions/check/action.yml").read_text(encoding="utf-8")
    step = action.partition("- name: Check\n")[2].partition("run: |\n")[2]
    assert {"MODEL", "GOLDEN", "TARGET"} == set(re.findall(r"\$([A-Z]+)", step))
    (repository / "bin").mkdir()
    program = repository / "bin" / "qemu-nn"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{PACKAGE}" exec "{sys.executable}" -m qemu_nn "$@"\n'
    )
    program.chmod(0o755)

    def run(golden):
        names = {"MODEL": "model/net.qnz", "GOLDEN": golden, "TARGET": "cortex-m4"}
        path = f"{repository / 'bin'}{os.pathsep}{os.environ['PATH']}"
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step]
        return subprocess.run(
            command, cwd=repository, env={**os.environ, **names, "PATH": path}
        ).returncode

    assert run("") == 0
    assert run("goldens") == 0
    changed(pipeline.load_quantized(repository / "model" / "net.qnz")).save(
        repository / "model" / "net.qnz"
    )
    assert run("") == 0
    assert run("goldens") == 1
