"""The build of TensorFlow Lite Micro as an option, and what differs between builds."""

import json

import numpy as np
import pytest
from choosing_networks import LENGTH, declared
from click.testing import CliRunner

import qemu_nn
from qemu_nn.analysis import variants
from qemu_nn.analysis.golden_set import load as load_goldens
from qemu_nn.api.golden import compare, golden
from qemu_nn.api.variants import compare_network_variants
from qemu_nn.cli.main import main
from qemu_nn.functions.tflm_builds import BuildDifference
from qemu_nn.importers import tflite
from qemu_nn.ir import builds, graph
from qemu_nn.ir.graph import Build, Graph, Node, Tensor
from qemu_nn.ir.model_file import ModelFile

KNOWN = {
    "shifted": BuildDifference("ABS", "it adds 5", "", kernels="reference", before="2026-06"),
    "missing": BuildDifference("CAST", "it is missing", "", before="2023-02"),
}
X = np.arange(2 * LENGTH, dtype=np.int8).reshape(2, LENGTH)
OLD = {"kernels": "reference", "tflm": "2026-04"}
OLD_TARGET = qemu_nn.Target(**OLD)


def copy(offset=0):
    ends = {"input_zero_point": 0, "output_zero_point": offset}
    return declared("tflm_requantize_s8_s8", length=LENGTH, multiplier=2**30, shift=1, **ends)


@pytest.fixture
def network(tmp_path, monkeypatch):
    """Write two copies, one of which other builds compute or refuse; net.tflite is the original."""
    for module in (variants, graph, builds):
        monkeypatch.setattr(module, "DIFFERENCES", KNOWN)
    x, first, last = (Tensor(name, (LENGTH,), "int8", scale=0.5) for name in ("x", "1st", "2nd"))
    other = Build("shifted", **copy(offset=5))
    gone = Build("missing", refused="nobody has it")
    nodes = (
        Node(inputs=("x",), output=first, builds=(other,), **copy()),
        Node(inputs=("1st",), output=last, builds=(gone,), **copy()),
    )
    built = Graph("net", (x,), nodes, ("2nd",), {})
    monkeypatch.setattr(tflite, "read", lambda path: ModelFile(built))
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    (tmp_path / "net.tflite").write_bytes(b"")
    return qemu_nn.Network(built)


def call(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def options(**names):
    return [part for name, value in names.items() for part in (f"--{name}", value)]


def test_run_takes_the_build(network):
    for given, offset in (({}, 0), (OLD, 5), ({"kernels": "reference"}, 0)):
        code, text = call("run", "net.tflite", "-d", "x.npy", "-o", "out.npz", *options(**given))
        assert code == 0, text
        np.testing.assert_array_equal(np.load("out.npz")["2nd"], X + offset)


@pytest.mark.parametrize(
    "verb", ["info", "run", "golden", "export", "variants", "analyze", "bench"]
)
def test_every_verb_refuses_with_the_build_that_cannot_run_it(verb, network):
    more = {
        "run": ["-d", "x.npy", "-o", "out.npz"],
        "golden": ["-d", "x.npy", "-o", "golden"],
        "export": ["-o", "firmware"],
        "analyze": ["-d", "x.npy"],
        "bench": ["--turns", "1", "--batch", "1"],
    }
    code, text = call(verb, "net.tflite", *more.get(verb, []), "--tflm", "2022-12")
    assert code == 2
    assert "layer '2nd': nobody has it" in text
    code, text = call(verb, "net.tflite", *more.get(verb, []), "--kernels", "arm")
    assert code == 2
    assert "no kernels 'arm'; have: cmsis-nn, reference" in text
    code, text = call(verb, "net.tflite", *more.get(verb, []), "--tflm", "2024-01")
    assert code == 2
    assert "no month of TFLM '2024-01'; have: 2022-12" in text


def test_analysis_takes_the_build(network):
    real = (X * 0.5).astype(np.float32)
    exact, old = qemu_nn.analyze(network, real), qemu_nn.analyze(network, real, target=OLD_TARGET)
    assert exact.layers[-1].whole.largest == 0
    assert old.layers[-1].whole.largest == 2.5
    assert old.profile.endswith("reference kernels, TFLM 2026-04")


def test_a_call_of_two_inputs_is_analyzed_alone_as_its_build_makes_it(monkeypatch):
    """Check that a call run alone gives its output in the whole network."""
    for module in (variants, graph, builds):
        monkeypatch.setattr(module, "DIFFERENCES", KNOWN)
    a, b, out = (Tensor(name, (LENGTH,), "int8", scale=0.5) for name in ("a", "b", "out"))
    ends = {"input_1_offset": 0, "input_2_offset": 0, "act_min": -128, "act_max": 127}

    def product(offset):
        how = {"block_size": LENGTH, "out_offset": offset, "out_mult": 2**30, "out_shift": 0}
        return declared("arm_elementwise_mul_s8", **how, **ends)

    node = Node(
        inputs=("a", "b"), output=out, builds=(Build("shifted", **product(5)),), **product(0)
    )
    network = qemu_nn.Network(Graph("net", (a, b), (node,), ("out",), {}))
    x = {"a": X * 0.5, "b": (X % 3) * 0.5}
    for how in ({}, OLD):
        figures = qemu_nn.analyze(network, x, target=qemu_nn.Target(**how)).layers[-1]
        assert figures.whole == figures.single
    assert figures.whole.largest > 2


def test_goldens_and_exports_name_the_build(network, tmp_path):
    golden(network, X, tmp_path / "old", target=OLD_TARGET)
    golden(network, X, tmp_path / "new")
    for folder, build in (("old", OLD), ("new", {})):
        manifest = json.loads((tmp_path / folder / "manifest.json").read_text())["profile"]
        assert {name: manifest[name] for name in OLD if name in manifest} == build
        header = (tmp_path / folder / "x0" / "1st.h").read_text()
        assert ("kernels reference, tflm 2026-04" in header) == bool(build)
        profile = load_goldens(tmp_path / folder).profile
        assert profile == network.profile(qemu_nn.Target(**build))
    qemu_nn.export(network, tmp_path / "firmware", data=X, target=OLD_TARGET)
    assert "reference kernels, TFLM 2026-04" in (tmp_path / "firmware" / "network.h").read_text()
    manifest = json.loads((tmp_path / "firmware" / "manifest.json").read_text())
    assert manifest["profile"]["kernels"] == "reference"


def test_causes_are_found_among_the_profiles_of_the_same_build(network, tmp_path):
    golden(network, X, tmp_path / "old", target=OLD_TARGET)
    path = tmp_path / "old" / "manifest.json"
    manifest = json.loads(path.read_text())
    entry = manifest["goldens"][1]
    dump = np.arange(LENGTH, dtype=np.int8) + 9
    (tmp_path / "dumps" / "x0").mkdir(parents=True)
    np.save(tmp_path / "dumps" / "x0" / "1st.npy", dump)
    import zlib

    other = network.profile(qemu_nn.Target(rounding="single", **OLD))
    entry["others"] = {str(other): f"{zlib.crc32(dump.tobytes()):08x}"}
    path.write_text(json.dumps(manifest))
    said = str(compare(tmp_path / "old", tmp_path / "dumps"))
    assert "exactly the bits of rounding mode single instead of double" in said


def test_variants_says_which_calls_part_between_builds(network):
    table = compare_network_variants(network.graph, network.profile(), X)
    words = {row["layer"]: row["builds"] for row in table.records()}
    assert words == {
        "1st": "reference kernels before 2026-06: it adds 5 (tflm_requantize_s8_s8)",
        "2nd": "before 2023-02: it is missing (refused: nobody has it)",
    }
    code, text = call("variants", "net.tflite", "-d", "x.npy")
    assert code == 0
    assert "\n1st: reference kernels before 2026-06: it adds 5" in text
    assert "builds" not in text.splitlines()[0]
    rows = json.loads(call("variants", "net.tflite", "-d", "x.npy", "--json")[1])
    assert {row["builds"] for row in rows} == set(words.values())


def test_variants_of_a_network_that_no_build_changes_has_no_column_for_them():
    code, text = call("variants", "conv_relu", "--json")
    if code == 0:
        assert "builds" not in json.loads(text)[0]
    assert variants.format_builds(variants.Table(("layer",), (("a",),))) == "layer\n-----\na"
