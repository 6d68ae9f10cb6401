""".pt2 files of torch.export: what is handed to PyTorch, and what PyTorch makes of it."""

import json
import sys
import zipfile

import numpy as np
import pytest

import qemu_nn
from qemu_nn.errors import Error, ModelError

NODE = {"target": "torch.ops.aten.relu.default", "inputs": [], "name": "relu"}


def archive(path, model=None, **records):
    """Write a .pt2 archive of a model and records, by name."""
    model = {"graph_module": {"graph": {"nodes": [NODE]}}} if model is None else model
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{path.stem}/models/model.json", json.dumps(model))
        for name, content in records.items():
            file.writestr(f"{path.stem}/{name}", content)
    return path


@pytest.mark.parametrize(
    ("model", "records", "said"),
    [
        ({"nodes": [{"target": "os.system"}]}, {}, "the target 'os.system'"),
        ({"nodes": [{"target": "torch.ops.aten.a.b.c"}]}, {}, "the target"),
        ({"guards_code": ["print()"]}, {}, "guards_code"),
        ({"values": {"as_expr": {"expr_str": "f(1)"}}}, {}, r"the expr_str 'f\(1\)'"),
        ({"values": {"expr_str": 3}}, {}, "the expr_str '3'"),
        (
            None,
            {"data/weights/model_weights_config.json": '{"a": {"use_pickle": true}}'},
            "use_pickle",
        ),
        (
            None,
            {"data/constants/model_constants_config.json": '{"path_name": "custom_obj_0"}'},
            "the path_name",
        ),
        (None, {"data/aotinductor/model/x.so": b"\x7fELF"}, "the record 'data/aotinductor"),
        (None, {"data/constants/opaque_obj_0": b""}, "the record 'data/constants/opaque_obj_0"),
    ],
)
def test_a_file_that_may_hold_code_is_not_handed_to_pytorch(model, records, said, tmp_path):
    path = archive(tmp_path / "net.pt2", model, **records)
    with pytest.raises(ModelError, match=rf"net\.pt2: it contains {said}.*torch\.onnx\.export"):
        qemu_nn.load(path)


def test_a_divisor_that_onnx_has_no_place_for_is_refused(tmp_path):
    divisor = {"name": "divisor_override", "arg": {"as_int": 2}, "kind": 1}
    node = {"target": "torch.ops.aten.avg_pool2d.default", "inputs": [divisor], "name": "pool"}
    path = archive(tmp_path / "net.pt2", {"nodes": [node]})
    with pytest.raises(ModelError, match=r"net\.pt2: an average has a divisor of its own"):
        qemu_nn.load(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x02}q\x00."])
def test_files_of_another_kind_are_named(content, tmp_path):
    (tmp_path / "net.pt2").write_bytes(content)
    with pytest.raises(ModelError, match=r"net\.pt2: it is no file of torch\.export"):
        qemu_nn.load(tmp_path / "net.pt2")
    (tmp_path / "net.pt").write_bytes(content)
    with pytest.raises(ModelError, match=r"torch\.onnx\.export\(\) or torch\.export\.save\(\)"):
        qemu_nn.load(tmp_path / "net.pt")


def test_damaged_files_end_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    whole = bytearray(archive(tmp_path / "net.pt2", **{"byteorder": "little"}).read_bytes())
    rng = np.random.default_rng(2)
    for _ in range(200):
        content = whole.copy()
        for place in rng.integers(len(whole), size=3):
            content[place] = rng.integers(256)
        (tmp_path / "net.pt2").write_bytes(content[: rng.integers(len(whole) // 2, len(whole) * 2)])
        with pytest.raises(Error):
            qemu_nn.load(tmp_path / "net.pt2")


def test_two_records_of_one_name_are_refused(tmp_path):
    path = archive(tmp_path / "net.pt2")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("other/models/model.json", "{}")
    with pytest.raises(ModelError, match="two records of one name"):
        qemu_nn.load(path)


def test_without_pytorch_the_sentence_has_the_pip_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Error, match=r"needs torch, .*: pip install '\.\[pt2\]'"):
        qemu_nn.load(archive(tmp_path / "net.pt2"))


def modules(torch):
    """Name -> module and the shape of its input."""
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(3, 8, 3, padding=1)
            self.deep = nn.Conv2d(8, 8, 3, padding=1, groups=8)
            self.classes = nn.Linear(8, 4)

        def forward(self, x):
            x = torch.relu(self.first(x))
            x = torch.relu(x + self.deep(x))
            return self.classes(torch.cat([x[:, :4], x[:, 4:]], 1).mean((2, 3)))

    images = (
        *(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 12, 1), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.Linear(12, 4),
    )
    sound = (nn.Conv1d(4, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 3))
    rows = (nn.Linear(16, 32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 5), nn.Softmax(-1))
    return {
        "mlp": (nn.Sequential(*rows), (16,)),
        "images": (nn.Sequential(*images), (3, 32, 32)),
        "residual": (Residual(), (3, 8, 8)),
        "sound": (nn.Sequential(*sound), (4, 16)),
    }


@pytest.mark.parametrize("name", ["mlp", "images", "residual", "sound"])
def test_a_module_loads_and_quantizes_as_pytorch_computes_it(name, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    torch.manual_seed(17)
    module, shape = modules(torch)[name]
    module.eval()
    x = torch.randn(32, *shape)
    torch.export.save(torch.export.export(module, (x[:1],)), tmp_path / "net.pt2")
    network = qemu_nn.load(tmp_path / "net.pt2")
    with torch.no_grad():
        wanted = module(x).numpy()
    np.testing.assert_allclose(network.predict(x), wanted, atol=1e-5)
    quantized = qemu_nn.quantize(network, x.numpy(), target="m4", scheme="affine")
    assert np.abs(quantized.predict(x.numpy(), target="m4") - wanted).max() < 0.2 * wanted.std()


def test_what_onnx_has_no_calls_for_is_named_after_the_file(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")

    class Cell(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.LSTM(4, 6, batch_first=True)

        def forward(self, x):
            return self.cell(x)[0][:, -1]

    torch.export.save(torch.export.export(Cell(), (torch.zeros(1, 5, 4),)), tmp_path / "net.pt2")
    with pytest.raises(ModelError, match=r"^net\.pt2: "):
        qemu_nn.load(tmp_path / "net.pt2")
