"""One reader for each format: chosen by suffix, else by signature; a file is parsed once."""

import numpy as np
import pytest
from onnx_models import model, node, write

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.importers import READERS, read_model
from qemu_nn.importers import onnx as onnx_reader


def float_network(folder):
    weights = np.arange(-6, 6, dtype=np.float32).reshape(3, 4) / 8
    proto = model([node("MatMul", "x w")], [3], {"w": weights})
    return qemu_nn.load(write(folder, proto))


def test_no_two_readers_take_one_suffix():
    suffixes = [suffix for reader in READERS for suffix in reader.suffixes]
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.parametrize("name", ["net.lite", "net.bin", "net"])
def test_a_signature_stands_in_for_the_suffix(name, tmp_path):
    network = qemu_nn.quantize(
        float_network(tmp_path), np.zeros((4, 3), np.float32), scheme="affine"
    )
    network.save(tmp_path / "net.tflite")
    (tmp_path / "net.tflite").rename(tmp_path / name)
    loaded = qemu_nn.load(tmp_path / name)
    x = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(loaded.predict(x), network.predict(x))


def test_a_float_onnx_file_is_parsed_once(tmp_path, monkeypatch):
    parsed = []
    real = onnx_reader.parse
    monkeypatch.setattr(onnx_reader, "parse", lambda path: parsed.append(path) or real(path))
    float_network(tmp_path)
    assert len(parsed) == 1


def test_a_file_without_format_is_refused_with_the_known_suffixes(tmp_path):
    (tmp_path / "net.bin").write_bytes(b"\0" * 100)
    with pytest.raises(ModelError, match=r"net\.bin has no known format; have: \.onnx"):
        read_model(tmp_path / "net.bin")


def test_an_option_of_another_format_is_refused(tmp_path):
    float_network(tmp_path)
    with pytest.raises(Error, match=r"reading \.onnx files takes input, output, not method="):
        qemu_nn.load(tmp_path / "net.onnx", method="forward")
