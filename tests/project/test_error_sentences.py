"""Sentences are short and plain, whatever the file holds that they quote."""

import json
import subprocess
import sys
from pathlib import Path

import keras_files as kf
import networks
import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.errors import DeviceWarning, Error, ModelError

#: Clears the terminal, and fills it.
HOSTILE = "\x1b[2J\x9b\r\n\u202e" + "a" * 200_000


def caffe(folder):
    import caffe_files

    quoted = HOSTILE.replace("\n", "")
    return caffe_files.load(folder, caffe_files.data(3) + caffe_files.layer(quoted, "Nonsense"))


def json_of_a_firmware(folder):
    layer = {"name": HOSTILE, "function": HOSTILE}
    description = {"input": {"name": "x", "shape": [4]}, "layers": [layer], "buffers": {}}
    (folder / "network.json").write_text(json.dumps(description))
    return qemu_nn.load(folder / "network.json")


def keras(folder):
    pytest.importorskip("h5py", reason="h5py is not installed")
    layer = kf.layer(HOSTILE, HOSTILE, batch_input_shape=[None, 3])
    return qemu_nn.load(kf.write_keras(folder / "net.keras", kf.sequential(layer)))


def onnx(folder):
    import onnx_models

    nodes = [onnx_models.node(HOSTILE.replace("\n", ""), "x", name=HOSTILE)]
    return onnx_models.loaded(folder, onnx_models.model(nodes, (3,)))


def tensorflow(folder):
    import tensorflow_files as tf

    return tf.load(folder, tf.placeholder(1, 3), tf.node(HOSTILE, HOSTILE, "x"))


def an_unquoted_name(folder):
    raise ModelError(f"{folder}: {HOSTILE} has no {HOSTILE!r}: name another")


FILES = [caffe, json_of_a_firmware, keras, onnx, tensorflow, an_unquoted_name]


@pytest.mark.usefixtures("hdf5_here")
@pytest.mark.parametrize("load", FILES, ids=lambda load: load.__name__)
def test_what_a_hostile_file_says_is_cut_and_made_harmless(tmp_path, load):
    with pytest.raises(Error) as caught:
        load(tmp_path)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) <= 8000
    assert "a" * 400 not in said


def test_both_ends_of_a_sentence_stay_and_all_of_a_usual_one():
    usual = "net.h5: layer 'conv\\1' is no \"Conv2D\"; have: " + "Conv1D, " * 800
    assert str(Error(usual)) == usual
    long = str(Error(f"net.h5: layer {HOSTILE!r} is unknown; rename it"))
    assert long.startswith(r"net.h5: layer '\x1b[2J\x9b\r\n")
    assert long.endswith("aaa' is unknown; rename it")
    assert str(Error(long)) == long
    assert str(DeviceWarning(f"layer {HOSTILE}"))[:24] == r"layer \x1b[2J\x9b\r\n\u2"


def printed(*words):
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.output.replace("\n", "").isprintable(), words
    return done.exit_code, done.output


def test_no_verb_for_float_networks_prints_a_name_that_commands_the_terminal(tmp_path):
    import onnx_models

    one, two = "\x1b[2Jone", "\x9btwo"
    nodes = [onnx_models.node("MatMul", "x w", one), onnx_models.node("Relu", one, two)]
    proto = onnx_models.model(nodes, (4,), {"w": np.eye(4, dtype=np.float32)}, outputs=two)
    path, data = onnx_models.write(tmp_path, proto), tmp_path / "x.npy"
    np.save(data, np.linspace(-1, 1, 40, dtype=np.float32).reshape(10, 4))
    for words in (
        ("info", path),
        ("import", path, "-o", tmp_path / "float.qnz"),
        ("quantize", path, "--data", data, "-o", tmp_path / "net.qnz"),
        ("analyze", tmp_path / "net.qnz", "--data", data),
        ("analyze", tmp_path / "net.qnz", "--data", data, "--csv"),
        ("info", tmp_path / "net.qnz"),
    ):
        code, output = printed(*words)
        assert code == 0, output
        assert "\\x9btwo" in output


def test_no_verb_prints_a_name_that_commands_the_terminal(tmp_path):
    names = [f"\x1b[2J{i}\x9b" for i in range(5)]
    network = pipeline.Network(networks.classifier(names))
    model, x = tmp_path / "net.qnz", tmp_path / "x.npy"
    network.save(model)
    np.save(x, networks.images(2))
    (tmp_path / "dumps").mkdir()
    for words in (
        f"info {model}",
        f"info {model} --csv",
        f"info {model} --json",
        f"run {model} -d {x} -o {tmp_path}/out.npz --trace",
        f"golden {model} -d {x} -o {tmp_path}/goldens",
        f"variants {model} --csv",
        f"export {model} -o {tmp_path}/firmware",
    ):
        code, output = printed(*words.split())
        assert code == 0, output
    strange = tmp_path / "dumps" / "\x1b[2J.bin"
    strange.write_bytes(b"")
    conv = network.session().run(networks.images(2), trace=True)[names[0]][0]
    (golden,) = (tmp_path / "goldens" / "x0").glob("*0_.bin")
    (tmp_path / "dumps" / f"x0_{golden.name}").write_bytes(conv.tobytes())
    code, output = printed("compare", tmp_path / "goldens", tmp_path / "dumps")
    assert (code, "\\x1b[2J.bin: no golden has this name" in output) == (0, True), output


@pytest.mark.parametrize("part", ["_native", "_runner"])
def test_sources_without_their_core_say_what_python_has_found(part):
    """Hide the C core, as in a checkout without a built extension."""
    code = f"import qemu_nn, sys; sys.modules['qemu_nn.{part}'] = None; qemu_nn.load('net.tflite')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = ran.stderr.splitlines()[-1]
    sentence = f"{Path(qemu_nn.__file__).parent} has no C core"
    assert last.startswith(f"ImportError: {sentence}"), last
    assert last.endswith("pip install -e .")
    code = (
        f"import sys; sys.modules['qemu_nn.{part}'] = None; import qemu_nn.__main__ as m; m.start()"
    )
    ran = subprocess.run([sys.executable, "-c", code, "demo"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"Error: {sentence}"), ran.stderr
    assert len(ran.stderr.splitlines()) == 1
