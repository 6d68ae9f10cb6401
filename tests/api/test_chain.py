"""Networks in a row: what a chain gives = what its networks give one by one, live and of files."""

import json
import random
import wave
from contextlib import suppress

import numpy as np
import pytest
from click.testing import CliRunner
from paths import SHARED
from recorded_frontend import RECORDED
from sound import sound

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.functions import FUNCTIONS
from qemu_nn.io.wav import read_wav
from qemu_nn.ir.graph import Graph, Node, Tensor

MODELS = SHARED / "models_tflite2"


def network(size, outputs=1, dtype="int16"):
    """Return a network without a state: features in 8 bits of `size` in 16."""
    names = [f"out{index}" for index in range(outputs)]
    declared = FUNCTIONS[
        "tflm_frontend_features_s8" if dtype == "int16" else "tflm_read_variable_s8"
    ]
    nodes = tuple(
        Node(declared, {"length": size}, ("in",), Tensor(name, (size,), "int8", scale=0.5))
        for name in names
    )
    return qemu_nn.Network(Graph("net", (Tensor("in", (size,), dtype),), nodes, tuple(names), {}))


def front():
    return qemu_nn.micro_frontend(quantized=False)


def windows(x, size, hop):
    count = max(0, (len(x) - size) // hop + 1)
    return np.array([x[at * hop : at * hop + size] for at in range(count)])


@pytest.mark.parametrize("hops", [(160, 1), (160, 3), (320, 2), (480, 5), (700, 4)])
def test_a_chain_gives_what_its_networks_give_one_by_one(hops):
    samples = sound(1)
    frames = windows(samples, 480, hops[0])
    features = front().session().run(frames[None])["features"][0]
    inputs = windows(features, 3, hops[1]).reshape(-1, 120)
    expected = network(120).session().run(inputs)["out0"]
    found = qemu_nn.chain(front(), network(120), hops=hops).run(samples, trace=True)
    assert list(found) == ["0.features", "out0"]
    assert np.array_equal(found["0.features"], features)
    assert np.array_equal(found["out0"], expected)


@pytest.mark.parametrize("hops", [(160, 1), (320, 2), (700, 4)])
def test_live_samples_give_what_the_whole_recording_gives(hops):
    samples, rng = sound(1), random.Random(3)
    chain = qemu_nn.chain(front(), network(120), hops=hops)
    live, parts, start = chain.stream(), [], 0
    while start < len(samples):
        size = rng.choice((0, 1, 100, 500, 3000))
        parts.append(live.push(samples[start : start + size])["out0"])
        start += size
    expected = chain.run(samples)["out0"]
    assert np.array_equal(np.concatenate(parts), expected)
    live.reset()
    assert np.array_equal(live.push(samples)["out0"], expected)


def test_a_score_is_ready_with_the_last_sample_that_it_needs():
    samples = sound(1)
    chain = qemu_nn.chain(front(), network(120), hops=(160, 2))
    seconds = chain.seconds(4)
    assert seconds.tolist() == [(480 + 160 * (2 * at + 2)) / 16000 for at in range(4)]
    for count, second in enumerate(seconds, 1):
        end = round(second * 16000)
        assert len(chain.run(samples[:end])["out0"]) == count
        assert len(chain.run(samples[: end - 1])["out0"]) == count - 1


def test_a_recording_that_is_too_short_gives_no_scores():
    chain = qemu_nn.chain(front(), network(120, outputs=2), hops=(160, 3))
    found = chain.run(np.zeros(799, np.int16), trace=True)
    assert {name: each.shape for name, each in found.items()} == {
        "0.features": (2, 40), "out0": (0, 120), "out1": (0, 120),
    }  # fmt: skip


def test_a_first_network_reads_rows_where_it_has_more_axes_than_one():
    net = network(120)
    graph = net.graph
    tensor = Tensor("in", (3, 40), "int16")
    rows = qemu_nn.Network(Graph("rows", (tensor,), graph.nodes, graph.outputs, {}))
    features = front().session().run(windows(sound(1), 480, 160)[None])["features"][0]
    found = qemu_nn.chain(rows, hops=[3]).run(features)["out0"]
    assert np.array_equal(
        found, net.session().run(windows(features, 3, 3).reshape(-1, 120))["out0"]
    )


REFUSED = {
    "none": ((), (), "a chain has 0 networks, but must have 1 to 64"),
    "no hops": ((front(),), None, "but must be a list of 1 integers"),
    "hops": ((front(), network(40)), (1,), "but must be a list of 2 integers"),
    "no hop": ((front(),), (0,), "the hop of 'micro_frontend' must be at least 1"),
    "half": ((front(), network(60)), (160, 1), r"reads int16 \[60\], but .* \[40\]"),
    "less": ((front(), network(20)), (160, 1), "and the size a multiple"),
    "type": (
        (network(40), network(40)),
        (1, 1),
        r"int8 \[40\]: the type must be the same",
    ),
    "two": ((network(40, 2), network(40)), (1, 1), "has 2 outputs; only the last network"),
    "object": ((3,), (1,), "the network is .*, but must be the result of load"),
    "no file": (("missing.json",), None, "there is no file missing.json"),
}


@pytest.mark.parametrize(("stages", "hops", "words"), REFUSED.values(), ids=REFUSED)
def test_networks_that_do_not_follow_each_other_are_refused(stages, hops, words):
    with pytest.raises(Error, match=words):
        qemu_nn.chain(*stages, hops=hops)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros(9), "the input must be int16, but is float64"),
        (np.zeros((9, 1), np.int16), r"has the shape \[9, 1\], but must have \[T\]"),
        (np.int16(3), r"has the shape \[\], but must have \[T\]"),
        ("sound", "must be int16"),
    ],
)
def test_other_inputs_than_samples_are_refused(x, words):
    with pytest.raises(Error, match=words):
        qemu_nn.chain(front(), hops=[160]).run(x)


# ---- what TensorFlow Lite Micro made of the same sound ----


def published(name):
    path = MODELS / name
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    try:
        return qemu_nn.load(path)
    except ModelError as error:
        pytest.skip(str(error))


def test_the_audio_preprocessor_gives_the_recorded_features():
    preprocessor = published("tflm_audio_preprocessor_int8.tflite")
    chain = qemu_nn.chain(preprocessor, hops=[320])
    (features,) = chain.run(sound()).values()
    assert np.array_equal(features, RECORDED["preprocessor"])


def test_micro_speech_gives_the_recorded_scores():
    speech = published("tflm_micro_speech_quantized.tflite")
    preprocessor = published("tflm_audio_preprocessor_int8.tflite")
    chain = qemu_nn.chain(preprocessor, speech, hops=(320, 1))
    (scores,) = chain.run(sound()).values()
    assert np.array_equal(scores, RECORDED["micro_speech"])


@pytest.mark.parametrize(("name", "hop"), [("esphome_alexa", 1), ("esphome_v2_alexa", 3)])
def test_a_wake_word_gives_the_recorded_scores(name, hop):
    word = published(f"{name}.tflite")
    chain = qemu_nn.chain(qemu_nn.micro_frontend(), word, hops=(160, hop))
    (scores,) = chain.run(sound()).values()
    assert np.array_equal(scores, RECORDED[name])


# ---- files ----


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """chain.json with its networks, and a recording."""
    monkeypatch.chdir(tmp_path)
    network(120).save("net.qnz")
    write_wav("speech.wav", sound(1))
    describe(stages=STAGES)
    return tmp_path


STAGES = [
    {"micro_frontend": {"quantized": False, "lowest_hz": 125}, "hop": 160},
    {"file": "net.qnz", "hop": 3},
]


def describe(**description):
    with open("chain.json", "w", encoding="utf-8") as file:
        json.dump(description, file)


def write_wav(path, samples, channels=1, rate=16000):
    with wave.open(path, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(samples.dtype.itemsize)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())


def command(*arguments):
    result = CliRunner().invoke(main, ["run", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_a_described_chain_runs_from_a_recording_to_scores(folder):
    expected = qemu_nn.chain(front(), network(120), hops=(160, 3)).run(sound(1))["out0"]
    assert np.array_equal(qemu_nn.chain("chain.json").run(sound(1))["out0"], expected)
    code, said = command("chain.json", "--data", "speech.wav", "-o", "out.npz", "--trace")
    assert code == 0, said
    with np.load("out.npz") as written:
        assert sorted(written) == ["0.features", "out0"]
        assert np.array_equal(written["out0"], expected)
    np.save("x.npy", sound(1))
    code, said = command("chain.json", "--data", "x.npy")
    assert code == 0, said
    assert "out0   int8   32x120" in said
    assert "largest" not in said


def test_scores_are_listed_with_when_they_were_largest(folder):
    network(40).save("net.qnz")
    scores = qemu_nn.chain("chain.json").run(sound(1))["out0"]
    _, said = command("chain.json", "--data", "speech.wav")
    lines = [line.split() for line in said.splitlines() if line.startswith("out0 ")][1:]
    at = scores.argmax(0)
    assert [int(line[2]) for line in lines] == scores.max(0).tolist()
    assert [float(line[3]) for line in lines] == (scores.max(0) / 2).tolist()
    ready = [round((480 + 160 * 3 * int(step)) / 16000, 2) for step in at]
    assert [float(line[4]) for line in lines] == ready


@pytest.mark.parametrize("samples", [0, 5, 799])
def test_a_recording_that_is_too_short_for_one_output_is_a_sentence(folder, samples):
    write_wav("short.wav", sound(1)[:samples])
    code, said = command("chain.json", "--data", "short.wav", "-o", "out.npz")
    assert (code, "Traceback" in said) == (2, False)
    assert f"short.wav has {samples} samples, but the chain needs 800 for its first output" in said
    assert not (folder / "out.npz").exists()
    write_wav("enough.wav", sound(1)[:800])
    assert command("chain.json", "--data", "enough.wav")[0] == 0


HOSTILE = {
    "empty": ({"stages": []}, "a chain has 0 networks, but must have 1 to 64"),
    "many": ({"stages": STAGES[:1] * 65}, "a chain has 65 networks, but must have 1 to 64"),
    "text": ({"stages": "net.qnz"}, "'stages' must be a list"),
    "no hop": ({"stages": [{"file": "net.qnz"}]}, r"stages\[0\]: 'hop' is missing"),
    "hop": ({"stages": [{"file": "net.qnz", "hop": -1}]}, "the hop of 'net' must be at least 1"),
    "word": (
        {"stages": [{"file": "net.qnz", "hops": 1}]},
        "'hops' is unknown; have: file, micro",
    ),
    "top": ({"stages": [], "rates": 1}, "'rates' is unknown; have: rate, stages"),
    "both": ({"stages": [{"hop": 1}]}, "must have either 'file' or 'micro_frontend'"),
    "rate": ({"stages": STAGES, "rate": 0}, "rate must be at least 1"),
    "away": ({"stages": [{"file": "../net.qnz", "hop": 1}]}, "a path inside of the folder"),
    "root": ({"stages": [{"file": "/net.qnz", "hop": 1}]}, "a path inside of the folder"),
    "nul": ({"stages": [{"file": "a\0", "hop": 1}]}, "a path inside of the folder"),
    "missing": ({"stages": [{"file": "other.qnz", "hop": 1}]}, "there is no file .*other.qnz"),
    "itself": ({"stages": [{"file": "chain.json", "hop": 1}]}, "describes a chain of networks"),
    "option": (
        {"stages": [{"micro_frontend": {"pcan": 1}, "hop": 1}]},
        r"stages\[0\]: micro_frontend: 'pcan' must be an object, not 1",
    ),
    "flag": (
        {"stages": [{"micro_frontend": {"channels": True}, "hop": 1}]},
        "'channels' must be an integer, not true",
    ),
    "value": (
        {"stages": [{"micro_frontend": {"window_ms": 1}, "hop": 1}]},
        r"stages\[0\]: a window of",
    ),
    "large": (
        {"stages": [{"micro_frontend": {"window_ms": 2**40}, "hop": 1}]},
        r"stages\[0\]: window_ms must be at most 10000",
    ),
}


@pytest.mark.parametrize(("description", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_description_that_is_no_chain_is_refused_in_a_sentence(folder, description, words):
    describe(**description)
    with pytest.raises(Error, match=words):
        qemu_nn.chain("chain.json")


def test_damaged_descriptions_are_refused_or_are_chains(folder):
    text, rng = (folder / "chain.json").read_bytes(), random.Random(5)
    for _ in range(300):
        data = bytearray(text)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.choice(b'0129"{}[]:,x \0\xff-.e')
        (folder / "chain.json").write_bytes(data)
        with suppress(Error):
            qemu_nn.chain("chain.json")


def test_a_chain_takes_what_chains_take(folder):
    with pytest.raises(Error, match="describes its hops and its rate itself"):
        qemu_nn.chain("chain.json", hops=[1])
    with pytest.raises(Error, match=r"a chain of networks; run it with qemu_nn\.chain\("):
        qemu_nn.load("chain.json")
    code, said = command("chain.json", "--data", "speech.wav", "--labels", "y.npy")
    assert code == 2, said
    assert "takes no --labels" in said
    code, said = command("chain.json", "--data", "speech.wav", "--target", "cortex-x")
    assert code == 2, said
    assert "no core or chip 'cortex-x'" in said


def test_a_recording_is_read_as_it_is(folder):
    assert np.array_equal(read_wav("speech.wav", 16000), sound(1))


WAVS = {
    "stereo": (
        {"channels": 2},
        np.int16,
        "2 channels of 16 bits at 16000 Hz, but must have 1 channel of",
    ),
    "rate": ({"rate": 44100}, np.int16, "at 44100 Hz, .* at 16000 Hz; convert it: ffmpeg -i s.wav"),
    "bytes": ({}, np.uint8, "1 channels of 8 bits"),
}


@pytest.mark.parametrize(("how", "dtype", "words"), WAVS.values(), ids=WAVS)
def test_other_recordings_are_refused_with_the_way_out(folder, how, dtype, words):
    write_wav("s.wav", np.zeros(200, dtype), **how)
    with pytest.raises(Error, match=words):
        read_wav("s.wav", 16000)


def test_a_recording_that_is_cut_short_is_refused(folder):
    data = (folder / "speech.wav").read_bytes()
    (folder / "speech.wav").write_bytes(data[:-1001])
    with pytest.raises(Error, match="cut short: its header says 16000 samples, but it has 15499"):
        read_wav("speech.wav", 16000)


def test_damaged_recordings_are_refused_or_are_samples(folder):
    data, rng = (folder / "speech.wav").read_bytes()[:400], random.Random(6)
    for _ in range(400):
        damaged = bytearray(data[: rng.randint(0, 400)])
        for _ in range(rng.randint(0, 4)):
            if damaged:
                damaged[rng.randrange(min(len(damaged), 60))] = rng.choice([0, 1, 255, 128, 64])
        (folder / "speech.wav").write_bytes(damaged)
        with suppress(Error):
            assert read_wav("speech.wav", 16000).dtype == np.int16
