"""PyTorch modules that ExecuTorch and vela compiled, operator by operator next to TOSA.

.ci/record-tosa wrote the archive: TOSA's reference model computed all its tensors.
"""

import csv
import shutil
import sys
import tarfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from paths import GOLDEN

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.executorch.lowering_ethosu import name_nodes
from qemu_nn.testing.ethosu import compare, main


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Return the folder of the recorded files."""
    folder = tmp_path_factory.mktemp("tosa")
    with tarfile.open(GOLDEN / "ethosu_tosa.tar.xz") as file:
        for member in file.getmembers():
            if member.isfile():
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.extractfile(member).read())
    return folder


def load(folder, name):
    config = folder / "u55-128"
    return qemu_nn.load(config / f"{name}_vela.npz", original=config / f"{name}.tosa")


def trace(network, seed=0):
    rng = np.random.default_rng(seed)
    x = [rng.integers(-128, 128, (2, *t.shape)).astype(t.dtype) for t in network.graph.inputs]
    return network.session("ethos-u55-128").run(x if len(x) > 1 else x[0], trace=True)


def test_tensors_of_operators_have_the_bytes_of_tosas_reference_model(archive):
    counts = compare(archive, None, None)
    assert [reason for count in counts.values() for reason in count.reasons] == []
    assert {name: (count.equal, count.differ) for name, count in counts.items()} == {
        "u55-128": (14, 0),
        "u85-256": (14, 0),
    }
    nodes = {name: (c.nodes["equal"], c.nodes["differ"]) for name, c in counts.items()}
    assert nodes == {"u55-128": (70, 0), "u85-256": (57, 0)}


def test_a_tensor_with_another_byte_is_told(archive, tmp_path, capsys):
    (row,) = [r for r in read_index(archive) if (r["name"], r["config"]) == ("linear", "u55-128")]
    for name in (row["file"], row["tosa"], row["file"].replace("_vela.npz", "_debug.xml")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(archive / name, tmp_path / name)
    arrays = dict(np.load(archive / row["io"]))
    arrays["node_tosa_rescale_default"].flat[7] ^= 1
    np.savez(tmp_path / row["io"], **arrays)
    with open(tmp_path / "index.tsv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*row], delimiter="\t")
        writer.writeheader()
        writer.writerow(row)
    assert main([str(tmp_path)]) == 1
    assert "u55-128 linear: 1 differ in tosa_rescale_default" in capsys.readouterr().out


def read_index(folder):
    with open(folder / "index.tsv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_tensors_have_the_names_of_the_programs_nodes(archive):
    found = trace(load(archive, "linear"))
    named = [name for name in found if not name.startswith(("npu_", "output_"))]
    assert named == ["linear", "aten_tanh_default", "linear_2"]
    np.testing.assert_array_equal(found["linear_2"].ravel(), found["output_0"].ravel())


def test_the_parts_of_a_concatenation_and_the_whole_have_names(archive):
    found = trace(load(archive, "concat"))
    np.testing.assert_array_equal(found["cat"][:, 3:6], found["relu"])
    np.testing.assert_array_equal(found["cat"][:, 6:], found["conv2d"])
    assert "conv2d/tosa_rescale_default" in found


def test_a_named_network_keeps_its_names_in_a_file(archive, tmp_path):
    network = load(archive, "softmax")
    network.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    want, got = trace(network), trace(again)
    assert "softmax/tosa_reduce_max_default" in want
    assert [*got] == [*want]
    for name, values in want.items():
        np.testing.assert_array_equal(got[name], values)


@pytest.fixture
def backend(archive, monkeypatch):
    """Replace ExecuTorch's Arm backend and vela, which finds the recorded outputs."""

    def compile_file(given):
        (folder,) = (Path(each.partition("=")[2]) for each in given if "--output-dir=" in each)
        folder.mkdir()
        stem = Path(given[-1]).stem
        for end in ("_vela.npz", "_debug.xml"):
            shutil.copy(
                archive / "u55-128" / f"{stem.rpartition('_')[2]}{end}", folder / f"{stem}{end}"
            )

    spec = SimpleNamespace(compiler_flags=[])
    fakes = {
        "ethosu.vela.vela": {"main": compile_file},
        "executorch.backends.arm.ethosu": {"EthosUCompileSpec": lambda target: spec},
    }
    for name, members in fakes.items():
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            module = ModuleType(".".join(parts[:end]))
            vars(module).update(members if end == len(parts) else {})
            monkeypatch.setitem(sys.modules, module.__name__, module)


def test_the_backends_files_name_the_streams_that_they_are_compiled_to(archive, backend, tmp_path):
    for name in ("softmax", "linear"):
        shutil.copy(archive / "u55-128" / f"{name}.tosa", tmp_path / f"output_{name}.tosa")
    graph = qemu_nn.load(archive / "u55-128" / "linear_vela.npz").graph
    named = name_nodes(graph, "ethos-u55-128", tmp_path)
    (node,) = (node for node in named.nodes if node.tensors)
    names = [each.tensor.name for each in node.tensors]
    assert names == ["linear", "aten_tanh_default", "linear_2"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "a TOSA file has b'TOSA' at byte 4"),
        (b"\x08\0\0\0TOSA", "it is damaged"),
        (b"\x40\0\0\0TOSA", "it is damaged"),
    ],
)
def test_a_damaged_tosa_file_is_refused(archive, tmp_path, data, reason):
    path = tmp_path / "net.tosa"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=f"net.tosa: .*{reason}"):
        qemu_nn.load(archive / "u55-128" / "linear_vela.npz", original=path)


def test_damaged_bytes_are_a_sentence_or_names(archive, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "net.tosa"
    whole = np.frombuffer((archive / "u55-128" / "transpose.tosa").read_bytes(), np.uint8)
    refused = 0
    for _ in range(60):
        data = whole.copy()
        data[rng.integers(0, 2000, 3)] = rng.integers(0, 256, 3)
        path.write_bytes(data[: rng.integers(1, data.size) if rng.random() < 0.3 else None])
        try:
            qemu_nn.load(archive / "u55-128" / "transpose_vela.npz", original=path)
        except ModelError:
            refused += 1
    assert 0 < refused < 60


def test_a_tosa_file_needs_the_record_of_its_stream(archive, tmp_path):
    compiled, tosa = tmp_path / "linear_vela.npz", archive / "u55-128" / "linear.tosa"
    shutil.copy(archive / "u55-128" / compiled.name, compiled)
    with pytest.raises(Error, match="needs vela's record next to the compiled file"):
        qemu_nn.load(compiled, original=tosa)
    shutil.copy(archive / "u55-128" / "softmax_debug.xml", tmp_path / "linear_debug.xml")
    with pytest.raises(ModelError, match="records the compilation of another network"):
        qemu_nn.load(compiled, original=tosa)
