"""Runs on data of any size: the same integers as a session's, in memory and in files."""

import inspect
import json
import tracemalloc
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from feature_networks import chain, network, put
from large_files import large
from networks import classifier, recurrent
from sound import sound
from thread_client import Client

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.api import run as running
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.evaluation import block_reader
from qemu_nn.ir.preprocessing import Preprocessing

DIGITS, X, Y = pipeline.example()
REAL = (X / 128).astype(np.float32)
SCORES = DIGITS.session().run(X)["softmax"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "PIECE", 50)  # of 360 samples, the last piece is smaller
    DIGITS.save("net.qnz")
    np.save("x.npy", X)
    np.save("real.npy", REAL)
    np.save("y.npy", Y.astype(np.int64))
    return tmp_path


def call(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def sources():
    return {
        "integers": X,
        "real numbers": REAL,
        "channels first": np.moveaxis(REAL, -1, 1),
        "a file": "x.npy",
        "a path": Path("real.npy"),
        "a pair": (REAL, Y),
        "a generator": (REAL[i : i + 70] for i in range(0, 360, 70)),
        "pairs": ((X[i : i + 70], Y[i : i + 70]) for i in range(0, 360, 70)),
        "a dictionary": {"x": X},
    }


@pytest.mark.parametrize("kind", sources())
@pytest.mark.parametrize("output", [None, "out.npz", "out.npy", "out"])
def test_every_source_gives_the_integers_of_a_session(kind, output):
    found = qemu_nn.run("net.qnz", sources()[kind], output)
    assert list(found) == ["softmax"]
    np.testing.assert_array_equal(found["softmax"], SCORES)
    if output is None:
        return
    files = {"out.npz": "out.npz", "out.npy": "out.npy", "out": "out/softmax.npy"}
    written = np.load(files[output])
    written = written["softmax"] if output == "out.npz" else written
    assert written.dtype == SCORES.dtype
    np.testing.assert_array_equal(written, SCORES)
    left = {path.name for path in Path().iterdir()}
    assert left == {"net.qnz", "x.npy", "real.npy", "y.npy", output}


def test_every_layer_is_written_under_a_name_of_its_own():
    traced = DIGITS.session().run(X, trace=True)
    found = qemu_nn.run(DIGITS, X, "all", trace=True, threads=2)
    assert list(found) == list(traced)
    for name, values in traced.items():
        np.testing.assert_array_equal(found[name], values)
    assert len(list(Path("all").glob("*.npy"))) == len(traced)
    with pytest.raises(Error, match=r"out\.npy is one array, but there are several"):
        qemu_nn.run(DIGITS, X, "out.npy", trace=True)
    assert not Path("out.npy").exists()


def test_real_scores_are_those_of_predict():
    np.testing.assert_array_equal(
        qemu_nn.run(DIGITS, REAL, real=True)["softmax"], DIGITS.predict(REAL)
    )


def test_a_device_a_selection_and_a_preprocessing_are_taken():
    want = DIGITS.session(target=qemu_nn.Target("cortex-m3", rounding="truncate")).run(X[[7, 2, 3]])
    pixels = (X * 2).astype(np.uint8)
    found = qemu_nn.run(
        DIGITS,
        qemu_nn.Dataset(pixels, preprocessing=Preprocessing(scale=1 / 256), index="7,2:4"),
        target=qemu_nn.Target("cortex-m3", rounding="truncate"),
    )
    np.testing.assert_array_equal(found["softmax"], want["softmax"])


def test_states_go_with_their_samples():
    net = qemu_nn.Network(recurrent())
    rng = np.random.default_rng(0)
    x = rng.integers(-999, 999, (120, 3, 4)).astype(np.int16)
    (tensor,) = net.graph.states
    state = rng.integers(-999, 999, (120, *tensor.shape)).astype(tensor.dtype)
    want = net.session().run(x, state)
    for given in (state, {tensor.name: state}):
        found = qemu_nn.run(net, x, "out.npz", state=given)
        for name, values in want.items():
            np.testing.assert_array_equal(found[name], values)
    with pytest.raises(Error, match="one row for each of the 120 inputs"):
        qemu_nn.run(net, x, state=state[1:])


@pytest.mark.parametrize("client", [None, Client(3)])
def test_a_cluster_writes_the_same(client, monkeypatch):
    monkeypatch.setattr(block_reader, "_LEAST", 16)
    want = DIGITS.session().run(X, trace=True)
    for data in (X, "real.npy"):
        found = qemu_nn.run(DIGITS, data, "all", trace=True, client=client)
        for name, values in want.items():
            np.testing.assert_array_equal(found[name], values)
    net = qemu_nn.Network(recurrent())
    x = np.arange(120 * 3 * 4).reshape(120, 3, 4).astype(np.int16)
    state = x[:, 0] % 7
    want = net.session().run(x, state)
    for name, values in qemu_nn.run(net, x, state=state, client=client).items():
        np.testing.assert_array_equal(values, want[name])
    np.testing.assert_array_equal(
        qemu_nn.run(DIGITS, REAL, real=True, client=client)["softmax"], DIGITS.predict(REAL)
    )


def test_nothing_is_left_of_a_run_that_fails():
    broken = REAL.copy()
    broken[300] = np.nan
    for output in ("out.npz", "out.npy", "x.npy"):
        before = {path.name: path.read_bytes() for path in Path().iterdir()}
        with pytest.raises(Error, match="sample 300 of the data contains NaN"):
            qemu_nn.run(DIGITS, broken, output)
        assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    with pytest.raises(Error, match="sample 300"):
        qemu_nn.run(DIGITS, broken, "out")
    assert list(Path().glob("out/*")) == list(Path().glob("out/.*")) == []


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"output": "out.csv"}, "a folder, a .npy or a .npz file"),
        ({"output": "none/out.npz"}, "there is no folder none"),
        ({"trace": True, "real": True}, "trace=True and real=True are given"),
        ({"data": np.zeros((0, 8, 8, 1), np.int8)}, "have no samples"),
        ({"data": []}, "have no samples"),
        ({"data": X[0][:4]}, r"but the input has the shape \[4, 8, 1\]"),
        ({"data": 5}, "must be paths, arrays or a generator"),
    ],
)
def test_a_run_that_cannot_be_is_refused(how, reason):
    with pytest.raises(Error, match=reason):
        qemu_nn.run(**{"network": DIGITS, "data": X, **how})


def test_memory_grows_neither_with_the_data_nor_with_the_outputs(tmp_path, monkeypatch):
    monkeypatch.undo()
    net = qemu_nn.Network(classifier())
    path = large(tmp_path / "large.npy", 30_000, net.graph.input.shape, "|i1")
    tracemalloc.start()
    try:
        found = qemu_nn.run(net, path, tmp_path / "out", trace=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    written = sum(values.nbytes for values in found.values())
    assert peak < min(path.stat().st_size, written) / 4


# ---- the commands ----


def test_every_verb_and_function_on_data_has_the_same_words():
    python = {field.name for field in fields(qemu_nn.Dataset)} - {"source", "preprocessing"}
    parts = {"data", "size", "crop", "scale", "mean", "std"}
    verbs = ("run", "golden", "export", "quantize", "analyze", "evaluate", "variants", "datasheet")
    for verb in (*verbs, "validate", "fine-tune"):
        options = {parameter.name for parameter in main.get_command(None, verb).params}
        assert options >= python | parts, verb
    for name in ("run", "golden", "export", "quantize", "analyze", "evaluate", "fine_tune"):
        function = pipeline.golden if name == "golden" else getattr(qemu_nn, name)
        assert "data" in inspect.signature(function).parameters, name


def test_the_verb_takes_the_options_of_data():
    code, text = call(
        *("run", "net.qnz", "-d", "real.npy", "-o", "out", "--index", "300:,0", "--limit", "60"),
        *("--shuffle", "--seed", "4", "--labels", "y.npy", "--target", "cortex-m3"),
    )
    assert code == 0, text
    which = qemu_nn.io.selection.Selection(60, "300:,0", True, 4).of(360)
    scores = np.load("out/softmax.npy")
    expected = DIGITS.session("cortex-m3").run(X[which])["softmax"]
    np.testing.assert_array_equal(scores, expected)
    right = np.count_nonzero(expected.argmax(1) == Y[which])
    assert f"({right} of 60)" in text


def test_parts_of_a_preprocessing_complete_those_of_the_network():
    pixels = (X * 2).astype(np.uint8)
    np.save("pixels.npy", pixels)
    pipeline.Network(DIGITS.graph, preprocessing=Preprocessing(scale=0.5)).save("half.qnz")
    assert call("run", "half.qnz", "-d", "pixels.npy", "--std", "128", "-o", "out.npy")[0] == 0
    np.testing.assert_array_equal(np.load("out.npy"), SCORES)
    options = ("--scale", "1/256", "--mean", "0", "--limit", "3")
    assert call("golden", "net.qnz", "-d", "pixels.npy", "-o", "goldens", *options)[0] == 0
    assert call("export", "net.qnz", "-d", "pixels.npy", "-o", "firmware", *options)[0] == 0
    for folder in ("goldens", "firmware/goldens"):
        manifest = json.loads(Path(folder, "manifest.json").read_text())
        assert len({golden["input"] for golden in manifest["goldens"]}) == 3
    assert call("variants", "net.qnz", "-d", "pixels.npy", *options)[0] == 0


def test_a_folder_of_images_is_run(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for number in range(6):
        folder = tmp_path / "images" / str(Y[number])
        folder.mkdir(parents=True, exist_ok=True)
        pixels = np.kron((X[number, :, :, 0] * 2).astype(np.uint8), np.ones((2, 2), np.uint8))
        image.fromarray(pixels).save(folder / f"{number}.png")
    options = ("--scale", "1/256", "--size", "8", "--index", "0,2")
    code, text = call("run", "net.qnz", "-d", "images", "-o", "out.npy", *options)
    assert code == 0, text
    order = sorted(range(6), key=lambda number: (Y[number], number))
    expected = SCORES[[order[0], order[2]]]
    np.testing.assert_array_equal(np.load("out.npy"), expected)


def test_sound_goes_through_the_front_end_in_every_verb(tmp_path):
    put(tmp_path / "a.wav", sound(1))
    network().save("net.qnz")
    stage = {"micro_frontend": {}, "hop": 160}
    Path("front.json").write_text(json.dumps({"stages": [stage]}))
    x = chain().run(sound(1))["features"][:96].reshape(24, 4, 40)
    options = ("net.qnz", "-d", "a.wav", "--front-end", "front.json")
    assert call("run", *options, "-o", "out.npy")[0] == 0
    np.testing.assert_array_equal(np.load("out.npy"), x)
    assert call("golden", *options, "-o", "goldens", "--limit", "2")[0] == 0
    np.testing.assert_array_equal(np.load("goldens/x1/out.npy"), x[1])
    assert call("variants", *options, "--limit", "2")[0] == 0
    found = qemu_nn.run("net.qnz", qemu_nn.Dataset("a.wav", front_end="front.json", index=[-1]))
    np.testing.assert_array_equal(found["out"], x[-1:])
    assert "give --front-end" in call("run", *options[:3])[1]


def test_a_chain_takes_no_options_of_data():
    stages = [{"micro_frontend": {}, "hop": 160}]
    Path("chain.json").write_text(json.dumps({"stages": stages}))
    np.save("sound.npy", np.zeros(999, np.int16))
    assert call("run", "chain.json", "-d", "sound.npy", "-o", "out.npz")[0] == 0
    for option in (["--limit", "3"], ["--shuffle"], ["--labels", "y.npy"], ["--front-end", "x"]):
        code, text = call("run", "chain.json", "-d", "sound.npy", *option)
        assert code == 2
        assert f"takes no {option[0]}" in text


def test_quantize_and_analyze_take_the_same_options():
    net = str(Path(qemu_nn.__file__).parent / "demo" / "digits.onnx")
    rng = np.random.default_rng(0)
    graph = qemu_nn.load(net).graph
    x = rng.integers(0, 256, (40, *graph.shape)).astype(np.uint8)
    np.save("pixels.npy", x)
    np.save("right.npy", np.arange(40) % 10)
    options = ("--scale", "1/255", "--limit", "30", "--shuffle")
    code, text = call("quantize", net, "-d", "pixels.npy", "-o", "q.qnz", *options)
    assert code == 0, text
    quantized = qemu_nn.load("q.qnz")
    assert quantized.preprocessing == Preprocessing(scale=1 / 255)
    which = qemu_nn.io.selection.Selection(30, None, True).of(40)
    same = qemu_nn.quantize(net, x[which] / np.float32(255))
    assert quantized.graph.input == same.graph.input
    code, text = call(
        *(
            "analyze",
            "q.qnz",
            "-d",
            "pixels.npy",
            "--index",
            ":7",
            "--labels",
            "right.npy",
            "--json",
        )
    )
    assert code == 0, text
    assert json.loads(text[text.index("{") :])["samples"] == 7
