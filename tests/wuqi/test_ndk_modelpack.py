"""Packed networks: what is read back computes the same bits; everything else is refused."""

import struct
import zlib

import numpy as np
import packs
import pytest

from qemu_nn.errors import Error, ModelError
from qemu_nn.ndk.layers import Layer
from qemu_nn.ndk.modelpack import load_pack, modelpack, modelpack_from_file, save_to_file
from qemu_nn.wuqi.pack_format import encode
from qemu_nn.wuqi.unpack import decode

CASES = [(bits, name) for bits in (8, 16) for name in packs.networks(bits)]


def packed(bits=8, name="plain"):
    return encode(bits, *packs.networks(bits)[name])


def repaired(data):
    """Return bytes with the size and the checksum that belong to them."""
    data = bytearray(data)
    data[16:20] = struct.pack("<I", len(data))
    return bytes(data[:-4]) + struct.pack("<I", zlib.crc32(data[:-4]))


@pytest.mark.parametrize(("bits", "name"), CASES)
def test_what_is_read_back_is_what_was_packed(tmp_path, bits, name):
    layers, params = packs.networks(bits)[name]
    assert modelpack(bits, layers, params, tmp_path / "out", model_name="net") is None
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["net.bin"]
    read_bits, read_layers, read_params = load_pack(tmp_path / "out" / "net.bin")
    assert (read_bits, list(map(repr, read_layers))) == (bits, list(map(repr, layers)))
    for key, value in params.items():
        assert np.array_equal(read_params[key], value), key
    assert set(read_params) - set(params) <= {f"{top}_signed" for y in layers for top in y.tops}
    x = packs.random_input(bits, layers, params)
    first = packs.integers(bits, layers, params, x)
    again = packs.integers(bits, read_layers, read_params, x)
    assert {key: v.tolist() for key, v in first.items()} == {
        k: v.tolist() for k, v in again.items()
    }


def test_a_pack_of_saved_files_is_that_of_the_network(tmp_path):
    layers, params = packs.every_layer(), packs.every_parameter(8)
    save_to_file(layers, tmp_path / "n.prototxt", params, tmp_path / "n.npz")
    modelpack_from_file(8, tmp_path / "n.prototxt", tmp_path / "n.npz", tmp_path)
    assert (tmp_path / "model.bin").read_bytes() == encode(8, layers, params)


def changed(key, value):
    return lambda layers, params: params.update({key: value})


def without(key):
    return lambda layers, params: params.pop(key)


def renamed(index, name):
    return lambda layers, params: setattr(layers[index], "name", name)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (without("fc_quant_weight"), "lacks the parameter 'fc_quant_weight'"),
        (without("r_frac"), "lacks the parameter 'r_frac'"),
        (changed("fc_quant_bias", np.full(7, 128)), "not 8-bit integers"),
        (changed("fc_frac_weight", 40), "but must shift by 0..15"),
        (changed("fc_frac_bias", -9), "but must shift by 0..15"),
        (changed("f_signed", False), "unsigned"),
        (changed("fc_quant_weight", np.ones((7, 3), np.int8)), "quant_weight .* must be"),
        (renamed(1, "relu"), "2 layers are called 'relu'"),
        (renamed(1, ""), "lacks the parameter '_quant_weight'"),
        (lambda layers, params: layers.pop(0), "first layer must be an Input"),
        (lambda layers, params: layers.clear(), "first layer must be an Input"),
        (
            lambda layers, params: layers.append(Layer("Softmax", name="s", bottom="r", top="s")),
            "'s' .LogSoftmax.: it may only follow an ungrouped Convolution",
        ),
        (
            lambda layers, params: setattr(layers[0], "dim", (1, 1, 5, 17)),
            "at most 16 x 16",
        ),
    ],
    ids=range(13),
)
def test_what_the_npu_does_not_run_is_refused_before_anything_is_written(tmp_path, change, text):
    layers, params = packs.plain(8)
    change(layers, params)
    with pytest.raises(ModelError, match=text):
        modelpack(8, layers, params, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_limits_of_the_hardware_are_refused(tmp_path):
    layers, params = packs.windows(8)
    layers[0].dim = (1, 2, 64, 64)
    layers[1].kernel_size = (17, 1)
    with pytest.raises(ModelError, match="17 x 1"):
        modelpack(8, layers, params, tmp_path)
    with pytest.raises(Error, match="bitwidth is 9, but must be the integer 8 or 16"):
        modelpack(9, *packs.plain(8), tmp_path)
    with pytest.raises(ModelError, match="has no layers"):
        modelpack(8, [packs.start(1, 2, 2)], {"x_frac": 0}, tmp_path)
    for name in ("", "a/b", "a\0b", None):
        with pytest.raises(Error, match="model_name"):
            modelpack(8, *packs.plain(8), tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_packs_are_refused(tmp_path):
    data = packed()
    (tmp_path / "text").write_bytes(b"layer {}")
    with pytest.raises(ModelError, match="text is not a packed network"):
        load_pack(tmp_path / "text")
    with pytest.raises(ModelError, match="cannot read"):
        load_pack(tmp_path / "none")
    with pytest.raises(ModelError, match="version 7 of the format; this package reads 1"):
        decode(data[:8] + b"\7" + data[9:], "p")
    with pytest.raises(ModelError, match="truncated or altered"):
        decode(data + b"\0", "p")
    with pytest.raises(ModelError, match="damaged"):
        decode(data[:60] + bytes([data[60] ^ 1]) + data[61:], "p")


@pytest.mark.parametrize("bits", [8, 16])
def test_every_changed_byte_and_every_truncation_is_refused(bits):
    data = packed(bits)
    for at in range(len(data)):
        with pytest.raises(ModelError):
            decode(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :], "p")
        with pytest.raises(ModelError):
            decode(data[:at], "p")


@pytest.mark.parametrize(("bits", "name"), [case for case in CASES if case != (16, "every")])
def test_hostile_packs_with_the_right_checksum_are_refused_or_are_what_they_say(bits, name):
    rng, data, taken = np.random.default_rng(4), packed(bits, name), 0
    for _ in range(100):
        hostile = bytearray(data)
        for at in rng.integers(20, min(len(data) - 4, 500), rng.integers(1, 4)):
            hostile[at] = rng.choice([0, 1, 255, 127, 128, hostile[at] ^ 1, rng.integers(256)])
        hostile = repaired(
            hostile[: rng.integers(40, len(data))] if rng.random() < 0.1 else hostile
        )
        try:
            assert encode(*decode(hostile, "p")) == hostile
            taken += 1
        except ModelError:
            pass
    assert taken < 100


def test_a_pack_of_8_bits_has_the_limits_of_8_bits(tmp_path):
    conv = {"num_output": 16, "kernel_size": 3}
    layers = [packs.start(512, 3, 3), Layer("Convolution", "c", "x", "y", **conv)]
    params = {"x_frac": 0, "y_frac": -9, "c_frac_weight": 0, "c_frac_bias": 0}
    params |= {"c_quant_weight": np.ones((16, 512, 3, 3), np.int8)}
    params |= {"c_quant_bias": np.zeros(16, np.int8)}
    modelpack(8, layers, params, tmp_path)
    assert load_pack(tmp_path / "model.bin")[0] == 8
    with pytest.raises(ModelError, match="sums of 4608, must have at most 4096 with 16 bits"):
        modelpack(16, layers, params, tmp_path / "out")


def test_a_softmax_at_the_end_is_packed_as_its_logarithm(tmp_path, capsys):
    def with_end(kind):
        dense = Layer("InnerProduct", "fc", "x", "f", num_output=7)
        return [packs.start(1, 5, 4), dense, Layer(kind, "end", "f", "y")]

    params = {**packs.plain(8)[1], "f_frac": 4, "y_frac": 4}
    layers = with_end("Softmax")
    modelpack(8, layers, params, tmp_path)
    assert "warning: the Softmax 'end' becomes a LogSoftmax" in capsys.readouterr().out
    assert layers[-1].type == "Softmax"
    assert (tmp_path / "model.bin").read_bytes() == encode(8, with_end("LogSoftmax"), params)
    layers.append(Layer("ReLU", "relu", "y", "z"))
    with pytest.raises(ModelError, match="no Softmax in fixed point, except at the end"):
        modelpack(8, layers, {**params, "z_frac": 4}, tmp_path)
