"""The command line: every command and flag, and a sentence with exit code 2 for every fault."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from paths import SHARED

import qemu_nn
from qemu_nn.analysis.kernel_table import describe_profiles
from qemu_nn.api import golden as pipeline
from qemu_nn.api import run as running
from qemu_nn.cli.main import main
from qemu_nn.errors import DeviceWarning
from qemu_nn.kernels import table as kernels
from qemu_nn.kernels.table import bit_of
from qemu_nn.releases import WHOLE
from qemu_nn.targets import Target, profile

DEMO = Path(qemu_nn.__file__).parent / "demo"
MODEL, IMAGES = DEMO / "digits.qnz", DEMO / "digits.npz"
GRU = SHARED / "models_q7" / "gru"
VERBS = ["demo", "info", "run", "golden", "compare", "chips", "kernels", "bench", "variants"]
VERBS += [
    "check",
    "diff",
    "import",
    "quantize",
    "fine-tune",
    "analyze",
    "evaluate",
    "datasheet",
    "export",
    "validate",
    "conformance",
    "which-cmsis",
    "compare-runtime",
]
VERBS += ["page", "serve", "ndk", "sdk"]


def call(*arguments):
    """Return exit code and all output of a command; an uncaught exception fails the test."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def output_of(*arguments):
    code, output = call(*arguments)
    assert code == 0, output
    return output


def start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE):
    """Another Python that finds the same package, whether it is installed or not."""
    paths = [str(DEMO.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=stdout,
        stderr=stderr,
        text=True,
    )


def shell(*arguments):
    """Return exit code, stdout and stderr of a command in a process of its own."""
    with start("-m", "qemu_nn", *arguments) as running:
        out, err = running.communicate()
    return running.returncode, out, err


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run every test in a folder of its own, with a few inputs in it."""
    monkeypatch.chdir(tmp_path)
    with np.load(IMAGES) as arrays:
        np.save("x.npy", arrays["x"][:5])
        np.save("y.npy", arrays["y"][:5].astype(np.int64))
    return tmp_path


@pytest.fixture
def digits():
    return pipeline.load(MODEL)


# ---- what there is ----


def test_the_version_is_the_packages():
    assert output_of("--version") == f"qemu-nn, version {qemu_nn.__version__}\n"


def test_help_names_every_verb():
    assert all(f"  {verb} " in output_of("--help") for verb in VERBS)
    assert main.list_commands(None) == sorted(VERBS)
    assert "..." not in output_of("--help").split("Networks:")[1]


def test_kernels_lists_every_row_once(digits):
    listed = json.loads(output_of("kernels", "--json"))
    names = [f"{row['op']}_{row['type']}.{row['variant']}" for row in listed]
    assert names == [str(row) for row in kernels.ROWS]
    assert {row["runs_here"] for row in listed} <= {True, False}
    assert len(output_of("kernels", "--csv").splitlines()) == len(listed) + 1
    assert len(output_of("kernels").splitlines()) == len(listed) + 2


def test_kernels_says_profiles_in_words():
    relu = [r for r in json.loads(output_of("kernels", "--json")) if r["op"] == "relu"]
    assert {r["profiles"] for r in relu} == {"all", "; ".join(f"{r}: dsp" for r in WHOLE)}


def test_a_row_that_claims_one_rounding_says_so():
    chosen = profile("cortex-m4", "5.9.0"), profile("cortex-m55", "5.9.0", "truncate")
    op = kernels.ROWS[0].op
    row = dataclasses.replace(kernels.ROWS[0], profiles=sum(1 << bit_of(op, p) for p in chosen))
    assert describe_profiles(row) == "5.9.0: mve (truncate), dsp"


# ---- info ----


def test_info_says_what_a_network_costs():
    told = json.loads(output_of("info", MODEL, "--json"))
    assert told["network"] == "digits"
    assert told["macs"] == 8 * 8 * 8 * 9 + 4 * 4 * 16 * 9 * 8 + 10 * 64
    assert told["weight_bytes"] == 8 * 9 + 8 + 16 * 9 * 8 + 16 + 10 * 64 + 10
    assert told["weight_bytes"] == sum(layer["weight_bytes"] for layer in told["layers"])
    assert told["scratch_bytes"] == 2 * 2 * 8 * 9
    assert [layer["macs"] for layer in told["layers"] if layer["macs"]] == [4608, 18432, 640]
    first = told["layers"][0]
    assert first["function"] == "arm_convolve_HWC_q7_basic"
    assert first["output"] == {"dtype": "int8", "shape": [8, 8, 8]}
    assert first["format"] == {"frac": 5}
    assert (first["bias_shift"], first["out_shift"]) == (5, 8)


def test_info_takes_the_device():
    told = json.loads(output_of("info", MODEL, "--json", "--target", "cortex-m3"))
    assert told["scratch_bytes"] == 0
    assert told["profile"] == "CMSIS 5.9.0, scalar, nearest"
    options = ["--cmsis", "5.6.0", "--rounding", "truncate"]
    told = json.loads(output_of("info", MODEL, "--json", *options))
    assert told["profile"] == "CMSIS 5.6.0, dsp, truncate"


def test_info_names_the_kernels_that_run(digits):
    told = json.loads(output_of("info", MODEL, "--json", "--variant", "dsp"))
    steps = digits.session(variant="dsp").plan.steps
    assert [layer["kernel"] for layer in told["layers"]] == [str(step.row) for step in steps]


def test_info_in_text_and_csv_has_a_line_for_each_layer(digits):
    layers = [node.name for node in digits.graph.nodes]
    text, csv = output_of("info", MODEL), output_of("info", MODEL, "--csv")
    assert [line.split(",")[0].strip('"') for line in csv.splitlines()] == ["layer", *layers]
    assert [line.split()[1] for line in text.splitlines()[2 : 2 + len(layers)]] == layers
    assert "weight bytes" in output_of("info", MODEL, "--full")


# ---- run ----


def test_run_writes_what_a_session_computes(digits):
    assert "softmax" in output_of("run", MODEL, "--data", "x.npy", "--output", "out.npz")
    with np.load("out.npz") as got:
        assert list(got) == ["softmax"]
        np.testing.assert_array_equal(
            got["softmax"], digits.session().run(np.load("x.npy"))["softmax"]
        )


def test_run_with_trace_writes_every_layer(digits):
    output_of("run", MODEL, "--data", "x.npy", "--output", "out.npz", "--trace")
    expected = digits.session().run(np.load("x.npy"), trace=True)
    with np.load("out.npz") as got:
        assert list(got) == list(expected)
        for name, values in expected.items():
            np.testing.assert_array_equal(got[name], values, name)


@pytest.mark.parametrize(
    ("options", "session"),
    [
        (["--target", "cortex-m3"], {"target": "cortex-m3"}),
        (["--cmsis", "5.6.0"], {"target": Target(cmsis="5.6.0")}),
        (["--rounding", "truncate"], {"target": Target(rounding="truncate")}),
        (["--variant", "dsp"], {"variant": "dsp"}),
        (["--threads", "3"], {"threads": 3}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_run_hands_its_options_to_the_session(digits, options, session):
    output_of("run", MODEL, "--data", IMAGES, "--output", "out.npz", "--trace", *options)
    with np.load(IMAGES) as arrays, np.load("out.npz") as got:
        expected = digits.session(**session).run(arrays["x"], trace=True)
        for name, values in expected.items():
            np.testing.assert_array_equal(got[name], values, name)


@pytest.mark.parametrize("form", ["as it is", "channels first", "a batch of 1 each"])
def test_real_inputs_are_quantized_in_any_layout(digits, form):
    x = np.load("x.npy")
    real = (x / 128).astype(np.float32)
    turned = {"channels first": np.moveaxis(real, -1, 1), "a batch of 1 each": real[:, None]}
    np.save("real.npy", turned.get(form, real))
    for options in (["run", MODEL, "-o", "out.npz"], ["golden", MODEL, "-o", "goldens"]):
        told = output_of(*options, "-d", "real.npy", "-v")
        assert "'image': inputs lie in 0..0.9922 (int8 holds -1..0.9922)" in told
    scores = digits.session().run(x)["softmax"]
    with np.load("out.npz") as arrays:
        assert np.array_equal(arrays["softmax"], scores)
    assert np.array_equal(np.load("goldens/x3/softmax.npy").ravel(), scores[3])
    code, out, err = shell("variants", MODEL, "-d", "real.npy", "--json", "-v")
    assert code == 0
    assert err.startswith("'image': inputs lie in 0..0.9922 (int8 holds -1..0.9922): they use ")
    assert json.loads(out)


def test_integers_with_a_batch_of_1_each_are_taken(digits):
    x = np.load("x.npy")
    np.save("stacked.npy", x[:, None])
    output_of("run", MODEL, "-d", "stacked.npy", "-o", "out.npz")
    with np.load("out.npz") as arrays:
        assert np.array_equal(arrays["softmax"], digits.session().run(x)["softmax"])


def test_variants_takes_every_network_of_the_package():
    assert "single" in output_of("variants", "ad_s8")


def test_run_with_labels_says_the_accuracy():
    output = output_of("run", MODEL, "-d", IMAGES, "-o", "out.npz", "--labels", IMAGES)
    assert "accuracy: 96.94 % (349 of 360)" in output
    np.save("y.npy", np.load("y.npy")[::-1])
    code, output = call("run", MODEL, "-d", "x.npy", "-o", "out.npz", "--labels", "y.npy")
    assert code == 0
    assert "of 5)" in output


def test_run_leaves_no_half_written_file():
    Path("out.npz").write_text("earlier")
    np.save("x.npy", np.where(np.arange(5).reshape(5, 1, 1, 1) < 4, np.load("x.npy") / 128, np.nan))
    assert call("run", MODEL, "-d", "x.npy", "-o", "out.npz")[0] == 2
    assert Path("out.npz").read_text() == "earlier"
    assert sorted(path.name for path in Path().iterdir()) == ["out.npz", "x.npy", "y.npy"]


@pytest.mark.skipif(not GRU.exists(), reason="the published networks are not beside this checkout")
@pytest.mark.parametrize("form", ["npy", "npz"])
def test_run_starts_a_recurrent_network_from_a_state(form, monkeypatch):
    monkeypatch.setattr(running, "PIECE", 7)
    with np.load(GRU / "golden.npz") as golden:
        x, h0, h = golden["x"], golden["h0"], golden["final.h@m4_c590"]
    np.save("x.npy", x)
    (state,) = pipeline.load(GRU).graph.states
    if form == "npy":
        np.save("h0.npy", h0)
    else:
        np.savez("h0.npz", **{state.name: h0})
    output_of("run", GRU, "-d", "x.npy", "-o", "out.npz", "--state", f"h0.{form}")
    with np.load("out.npz") as got:
        np.testing.assert_array_equal(got[state.name].reshape(h.shape), h)


# ---- goldens ----


@pytest.mark.skipif(not GRU.exists(), reason="the published networks are not beside this checkout")
def test_golden_starts_a_recurrent_network_from_a_state():
    with np.load(GRU / "golden.npz") as golden:
        x, h0, h = golden["x"][:2], golden["h0"][:2], golden["final.h@m4_c590"][:2]
    np.save("x.npy", x)
    np.save("h0.npy", h0)
    output_of("golden", GRU, "-d", "x.npy", "-o", "goldens", "--state", "h0.npy")
    (state,) = pipeline.load(GRU).graph.states
    got = np.load(f"goldens/x1/t1/{state.name}.npy")
    np.testing.assert_array_equal(got.ravel(), h[1, 1])


def test_a_dump_equal_to_its_goldens_is_the_same():
    assert " of 5 inputs in " in output_of("golden", MODEL, "-d", "x.npy", "-o", "goldens")
    shutil.copytree("goldens", "dump")
    output_of("compare", "goldens", "dump")


def test_one_flipped_bit_is_a_difference():
    output_of("golden", MODEL, "-d", "x.npy", "-o", "goldens")
    Path("dump/x0").mkdir(parents=True)
    values = bytearray(Path("goldens/x0/conv2.bin").read_bytes())
    values[100] ^= 1
    Path("dump/x0/conv2.bin").write_bytes(values)
    code, output = call("compare", "goldens", "dump")
    assert code == 1
    assert "conv2" in output
    assert "100" in output


def test_golden_takes_the_device():
    options = ["--target", "cortex-m3", "--cmsis", "5.6.0", "--rounding", "truncate"]
    output_of("golden", MODEL, "-d", "x.npy", "-o", "goldens", "--threads", 2, *options)
    expected = pipeline.load(MODEL).session(Target("cortex-m3", "5.6.0", "truncate"))
    traced = expected.run(np.load("x.npy"), trace=True)
    np.testing.assert_array_equal(np.load("goldens/x4/fc.npy"), traced["fc"][4])


def test_the_demo_tells_its_accuracy_and_writes_goldens(digits):
    for _ in range(2):  # the second replaces the goldens of the first
        output = output_of("demo")
        assert "96.94 % (349 of 360)" in output
        assert "inferences per second" in output
        assert all(node.name in output for node in digits.graph.nodes)
        assert Path("qemu_nn_demo_goldens/manifest.json").exists()


def test_the_demo_copies_files_that_the_other_commands_read():
    output_of("demo", "--files", "example")
    for name in ("digits.onnx", "digits.tflite", "digits.qnz"):
        assert Path("example", name).read_bytes() == (DEMO / name).read_bytes()
    options = ("--labels", "example/test.npz", "--output", "out.npz")
    output = output_of("run", "example/digits.qnz", "--data", "example/test.npz", *options)
    assert "accuracy: 97.50 % (234 of 240)" in output


def test_the_demo_never_replaces_what_is_not_a_golden_set():
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    code, output = call("demo", "--output", "mine")
    assert code == 2
    assert "thesis.txt" in output
    assert Path("mine/thesis.txt").read_text() == "years of work"


# ---- faults ----


def write_inputs():
    """Write files with one fault each."""
    x = np.load("x.npy")
    np.save("float.npy", np.where(x == x.max(), np.nan, x / 128))
    np.save("flat.npy", x.reshape(5, -1))
    np.save("part.npy", x[0][:4])
    np.save("scalar.npy", np.int8(3))
    np.save("objects.npy", np.array([{}], object), allow_pickle=True)
    np.savez("unnamed.npz", x)
    np.savez("two.npz", a=x, b=x)
    Path("broken.npy").write_bytes(Path("x.npy").read_bytes()[:100])
    Path("broken.npz").write_bytes(IMAGES.read_bytes()[:5000])
    Path("empty.npy").write_bytes(b"")
    header = b"{'descr': '|i1', 'fortran_order': False, 'shape': (2000000000000, 8, 8, 1)}\n"
    Path("huge.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with zipfile.ZipFile("text.npz", "w") as archive:
        archive.writestr("x", "not an array")
    Path("broken.qnz").write_bytes(MODEL.read_bytes()[:1000])
    Path("text.qnz").write_text("not a model")
    Path("model.tfl").write_text("another model")
    Path("net.prototxt").write_text("")
    np.save("y4.npy", np.zeros(4, np.int8))
    np.save("y_float.npy", np.full(5, 0.5))
    np.save("y_high.npy", np.array([0, 1, 2, 3, 10]))


RUN = ["run", MODEL, "-d", "x.npy", "-o", "out.npz"]

FAULTS = [
    (["info", "nowhere.qnz"], "nowhere.qnz"),
    (["info", "broken.qnz"], "broken.qnz"),
    (["info", "text.qnz"], "text.qnz"),
    (["info", "model.tfl"], "model.tfl has no known format; have: .qnz"),
    (["info", MODEL, "--target", "cortex-a72"], "'cortex-a72' is no target: it runs LiteRT"),
    (["info", MODEL, "--target", "cortex-z9"], "no core or chip 'cortex-z9'; have: cortex-m0"),
    (["info", MODEL, "--cmsis", "6.1.0"], "no CMSIS release '6.1.0'; have: 5.3.0, 5.4.0"),
    (["info", MODEL, "--rounding", "up"], "no rounding 'up'; have: nearest, truncate"),
    (["info", MODEL, "--variant", "avx9"], "has a variant 'avx9'; have:"),
    (["info"], "Missing argument"),
    (["play"], "No such command"),
    (["kernels", "--xml"], "No such option"),
    (["run", MODEL, "-d", "nowhere.npy", "-o", "out.npz"], "nowhere.npy: No such file"),
    (["run", MODEL, "-d", ".", "-o", "out.npz"], "is not a .npy or .npz"),
    (["run", MODEL, "-d", "float.npy", "-o", "out.npz"], "sample 0 of float.npy contains NaN"),
    (["run", MODEL, "-d", "flat.npy", "-o", "out.npz"], "has the shape [5, 64]"),
    (["run", MODEL, "-d", "part.npy", "-o", "out.npz"], "has the shape [4, 8, 1]"),
    (["run", MODEL, "-d", "scalar.npy", "-o", "out.npz"], "a single number"),
    (["run", MODEL, "-d", "objects.npy", "-o", "out.npz"], "it holds Python objects"),
    (["run", MODEL, "-d", "two.npz", "-o", "out.npz"], "has a, b; name the inputs 'x'"),
    (["run", MODEL, "-d", "broken.npy", "-o", "out.npz"], "broken.npy is not a .npy or .npz"),
    (["run", MODEL, "-d", "broken.npz", "-o", "out.npz"], "broken.npz is not a .npy or .npz"),
    (["run", MODEL, "-d", "empty.npy", "-o", "out.npz"], "empty.npy is not a .npy or .npz"),
    (["run", MODEL, "-d", "huge.npy", "-o", "out.npz"], "huge.npy is not a .npy or .npz"),
    (["run", MODEL, "-d", "text.npz", "-o", "out.npz"], "'x' in text.npz is not an array"),
    (["run", MODEL, "-d", "text.qnz", "-o", "out.npz"], "text.qnz is not a .npy or .npz"),
    (["run", MODEL, "-d", "x.npy", "-o", "out.csv"], "a .npy or a .npz file, such as out.npz"),
    (["run", MODEL, "-d", "x.npy", "-o", "out.npy", "--trace"], "name it out.npz"),
    (["run", MODEL, "-d", "x.npy", "--trace", "--real"], "--trace"),
    ([*RUN, "--index", "5"], "no sample 5: the data have 5, from 0 to 4"),
    ([*RUN, "--size", "9x"], "is not a size in pixels"),
    ([*RUN, "--mean", "1/0"], "is not a number"),
    ([*RUN, "--front-end", "x.npy"], "it is a chain, a chain.json"),
    (["run", MODEL, "-d", "x.npy", "-o", "nowhere/out.npz"], "there is no folder nowhere"),
    (["run", MODEL, "-o", "out.npz"], "Missing option"),
    ([*RUN, "--labels", "y4.npy"], "int8 [4], but must be one integer for each of the 5 samples"),
    (
        [*RUN, "--labels", "y_float.npy"],
        "float64 [5], but must be one integer for each",
    ),
    ([*RUN, "--labels", "y_high.npy"], "one label is 10, but labels must be classes 0..9"),
    ([*RUN, "--state", "x.npy"], "is not recurrent and has no state"),
    ([*RUN, "--state", "y4.npy"], "one row for each of the 5 inputs"),
    ([*RUN, "--labels", "two.npz"], "has a, b; name the labels 'y'"),
    ([*RUN, "--state", "unnamed.npz"], "is not recurrent and has no state"),
    ([*RUN, "--threads", "0"], "0 is not in the range"),
    ([*RUN, "--variant", "avx9"], "has a variant 'avx9'"),
    (["golden", MODEL, "-d", "float.npy", "-o", "goldens"], "contains NaN"),
    (["export", MODEL, "-d", "float.npy", "-o", "goldens"], "contains NaN"),
    (["variants", MODEL, "-d", "float.npy"], "contains NaN"),
    (["variants", "lenet5_npu"], "is a network of the NPU, which has no cores"),
    (["quantize", "x", "-d", "x", "-o", "x.qnz", "--tolerance", "-1"], "-1.0 is not in the range"),
    (["quantize", "x", "-d", "x", "-o", "x.qnz", "--search-range", "-1"], "-1 is not in the range"),
    (["info", "net.prototxt"], "describes a network without its weights"),
    (["analyze", MODEL, "-d", "objects.npy"], "no float reference"),
    (["golden", MODEL, "-d", "x.npy", "-o", "x.npy"], "x.npy"),
    *((["golden", MODEL, "-d", IMAGES, "-o", name], "needs a name") for name in (".", "..", "/")),
    (["golden", MODEL, "-d", "x.npy", "-o", ""], "'' is not a path"),
    (["check", ""], "'' is not a path"),
    (["run", MODEL, "-d", ""], "--data must be a path, not ''"),
    (["compare", "nowhere", "."], "nowhere"),
    (["compare", ".", "nowhere"], "."),
]


@pytest.mark.parametrize(("arguments", "words"), FAULTS, ids=lambda value: str(value)[-40:])
def test_a_fault_is_one_sentence_and_exit_code_2(arguments, words):
    write_inputs()
    code, output = call(*arguments)
    assert code == 2, output
    assert words in output
    assert "Traceback" not in output
    assert not Path("goldens").exists()


def test_exit_codes_reach_the_shell():
    code, _, err = shell("info", MODEL)
    assert (code, err) == (0, "")
    code, out, err = shell("info", "nowhere.qnz")
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert len(err.splitlines()) == 1
    code, out, _ = shell("run", MODEL)
    assert (code, out) == (2, "")
    assert shell("golden", MODEL, "-d", "x.npy", "-o", "goldens")[0] == 0
    Path("dump/x1").mkdir(parents=True)
    shutil.copy("goldens/x2/fc.bin", "dump/x1/fc.bin")
    assert shell("compare", "goldens", "dump")[0] == 1


def test_progress_is_silent_where_nobody_watches():
    code, _, err = shell("run", MODEL, "-d", IMAGES, "-o", "out.npz")
    assert code == 0
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("kernels",), 0),
        (("info", MODEL), 0),
        (("info", "--help"), 0),
        (("--help",), 0),
        (("--version",), 0),
        (("diff", MODEL, "other.qnz"), 1),
        (("info", "nowhere.qnz"), 2),
    ],
)
def test_a_reader_that_is_gone_does_not_change_the_exit_code(arguments, code, digits):
    graph = dataclasses.replace(digits.graph, classes=())
    node = dataclasses.replace(graph.nodes[0], params={**graph.nodes[0].params, "out_shift": 1})
    graph = dataclasses.replace(graph, nodes=(node, *graph.nodes[1:]))
    qemu_nn.Network(graph).save("other.qnz")
    reader, writer = os.pipe()
    os.close(reader)
    with start("-m", "qemu_nn", *arguments, stdout=writer) as running:
        os.close(writer)
        err = running.stderr.read()
    assert running.returncode == code
    assert err.startswith("Error: ") if code == 2 else err == ""


def test_an_error_that_nobody_reads_is_exit_code_2():
    reader, writer = os.pipe()
    os.close(reader)
    with start("-m", "qemu_nn", "info", "nowhere.qnz", stderr=writer) as running:
        os.close(writer)
    assert running.returncode == 2


def test_an_interrupt_is_no_traceback(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_batches", interrupted)
    assert call(*RUN) == (130, "interrupted\n")


def test_an_interrupt_while_loading_is_no_traceback():
    program = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'qemu_nn.api.golden': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from qemu_nn.__main__ import start\n"
        "start()"
    )
    with start("-c", program, "golden") as running:
        _, err = running.communicate()
    assert (running.returncode, err) == (130, "interrupted\n")


def test_a_warning_of_the_device_is_one_line(monkeypatch):
    def load(path, **_):
        for _ in range(2):
            warnings.warn("layer 'b' reads what 'a' has destroyed", DeviceWarning, stacklevel=1)
        return network

    network = pipeline.load(MODEL)
    monkeypatch.setattr(pipeline, "load", load)
    output = output_of("info", MODEL)
    assert output.count("warning: layer 'b' reads what 'a' has destroyed\n") == 1


# ---- importing ----


def test_importing_the_package_does_not_load_numpy():
    probe = "import sys, qemu_nn; print('numpy' in sys.modules, callable(qemu_nn.load))"
    with start("-c", probe) as running:
        assert running.communicate() == ("False True\n", "")


def test_loading_brings_nothing_along_that_only_goldens_and_reports_need():
    others = "qemu_nn.analysis qemu_nn.firmware qemu_nn.cmsis concurrent.futures secrets"
    probe = f"import sys, qemu_nn; qemu_nn.load; print(*set('{others}'.split()) & set(sys.modules))"
    with start("-c", probe) as running:
        assert running.communicate() == ("\n", "")


def test_the_package_has_no_other_names():
    assert all(hasattr(qemu_nn, name) for name in qemu_nn.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = qemu_nn.lode
