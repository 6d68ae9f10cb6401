"""A page hears what `run` hears: the same inputs and scores of the same WAV file, byte for byte."""

import base64
import io
import json
import re
import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import ask
from click.testing import CliRunner
from paths import SHARED
from sound import sound

import qemu_nn
from qemu_nn import Dataset, EdgeImpulseMfcc, EdgeImpulseMfe
from qemu_nn.api.data import coded
from qemu_nn.api.network import FloatNetwork
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.exporters.page import document
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.preprocessing import Preprocessing
from qemu_nn.operators import Dense

WAKE = Path(qemu_nn.__file__).parent / "demo" / "wake_tone.tflite"

#: Gives a WAV file to the page, and returns the inputs and outputs of all steps.
HEAR = """
const bytes = Uint8Array.from(atob(@WAV@), c => c.charCodeAt(0));
const picker = document.querySelector(".sound input[type=file]"), files = new DataTransfer();
files.items.add(new File([bytes], "a.wav"));
picker.files = files.files;
picker.dispatchEvent(new Event("change"));
await until(() => $("heard").textContent);
$("heard").textContent = "";
picker.dispatchEvent(new Event("change")); /* again: states begin at reset */
await until(() => $("heard").textContent);
if (!heard) return $("heard").textContent;
const bytesOf = codes => new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength);
const text = codes => btoa(String.fromCharCode(...bytesOf(codes)));
return { inputs: heard.steps.map(text), said: $("heard").textContent, curve: $("curve").innerText,
  outputs: track(0).outputs.map(each => text(Object.values(each)[0])) };
"""


def pack_wav(samples, rate=16000, channels=1):
    file = io.BytesIO()
    with wave.open(file, "wb") as made:
        made.setparams((channels, 2, rate, 0, "NONE", ""))
        made.writeframes(samples.astype("<i2").tobytes())
    return file.getvalue()


def hear(page, wav):
    script = HEAR.replace("@WAV@", json.dumps(base64.b64encode(wav).decode()))
    return ask(page.read_text("utf-8"), script)


def network(count, seed=3):
    weights = np.random.default_rng(seed).normal(size=(2, count)) / 30
    nodes = (FloatNode("out", Dense(weights), ("x",)),)
    return FloatNetwork(FloatGraph("net", "x", (count,), None, nodes, ("out",)))


def rising_tone(rate=16000, seconds=0.75):
    t = np.arange(int(rate * seconds)) / rate
    tone = np.sin(2 * np.pi * np.cumsum(200 * 30 ** (t / seconds)) / rate)
    return np.round(np.pad(10000 * tone, rate)).astype(np.int16)


FRONT_ENDS = {
    "mfe": EdgeImpulseMfe(),
    "mfcc": EdgeImpulseMfcc(),
    "mfcc_other": EdgeImpulseMfcc(
        frame_length=0.032,
        frame_stride=0.024,
        filters=24,
        coefficients=10,
        fft_length=512,
        low_hz=80,
        high_hz=7000,
        normalization=51,
        pre_emphasis=0.9,
        pre_shift=2,
    ),
    "micro": "micro-frontend",
}


@pytest.mark.compiles
@pytest.mark.parametrize("name", FRONT_ENDS)
def test_features_of_a_file_are_those_of_run(name, built, tmp_path):
    front, seconds = FRONT_ENDS[name], 3
    width = front.width if name != "micro" else 40
    net = network(30 * width)
    (tmp_path / "wavs").mkdir()
    wav = pack_wav(sound(seconds, seed=8)[:-5000])
    (tmp_path / "wavs" / "a.wav").write_bytes(wav)
    data = Dataset(tmp_path / "wavs", front_end=front)
    x = np.random.default_rng(0).normal(0, 9 if name == "micro" else 1, (9, 30 * width))
    quantized = qemu_nn.quantize(net, x, scheme="affine")
    qemu_nn.page(quantized, tmp_path / "x.html", front_end=front)
    told = hear(tmp_path / "x.html", wav)
    codes = coded(quantized.host, data)
    assert len(codes) > 2
    assert told["inputs"] == [base64.b64encode(one.tobytes()).decode() for one in codes]
    scores = qemu_nn.run(quantized, data)["out"]
    assert told["outputs"] == [base64.b64encode(one.tobytes()).decode() for one in scores]


@pytest.mark.compiles
def test_a_streaming_network_has_its_scores_over_time(built, tmp_path):
    qemu_nn.load(WAKE).save(tmp_path / "wake.qnz")
    stages = [{"micro_frontend": {}, "hop": 160}, {"file": "wake.qnz", "hop": 3}]
    (tmp_path / "chain.json").write_text(json.dumps({"stages": stages}), "utf-8")
    qemu_nn.page(tmp_path / "chain.json", tmp_path / "x.html")
    samples = rising_tone()
    told = hear(tmp_path / "x.html", pack_wav(samples))
    short = hear(tmp_path / "x.html", pack_wav(samples[:100]))
    assert short == "100 samples; the first input needs 800"
    chain = qemu_nn.chain(tmp_path / "chain.json")
    scores = chain.run(samples)["score"]
    assert len(set(scores.ravel().tolist())) > 1
    assert told["outputs"] == [base64.b64encode(one.tobytes()).decode() for one in scores]
    peak = chain.seconds(len(scores))[scores.argmax()]
    assert f"at {peak:.2f} s" in told["curve"]


PUBLISHED = {
    "okay_nabu": [
        {"micro_frontend": {"window_ms": 30, "channels": 40}, "hop": 160},
        {"file": "models_tflite2/esphome_v2_okay_nabu.tflite", "hop": 3},
    ],
    "micro_speech": [
        {"file": "models_tflite2/tflm_audio_preprocessor_int8.tflite", "hop": 320},
        {"file": "models_tflite/micro_speech_quantized.tflite", "hop": 1},
    ],
}


@pytest.mark.compiles
@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded networks are not here")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_chains_have_the_scores_of_run(name, built, tmp_path):
    for stage in PUBLISHED[name]:
        if "file" in stage:
            (tmp_path / Path(stage["file"]).name).symlink_to(SHARED / stage["file"])
    stages = [
        {**stage, "file": Path(stage["file"]).name} if "file" in stage else stage
        for stage in PUBLISHED[name]
    ]
    (tmp_path / "chain.json").write_text(json.dumps({"stages": stages}), "utf-8")
    qemu_nn.page(tmp_path / "chain.json", tmp_path / "x.html")
    samples = sound(3)
    told = hear(tmp_path / "x.html", pack_wav(samples))
    (scores,) = qemu_nn.chain(tmp_path / "chain.json").run(samples).values()
    assert len(scores) > 30
    assert told["outputs"] == [base64.b64encode(one.tobytes()).decode() for one in scores]


@pytest.mark.compiles
def test_the_page_records_and_converts(built, tmp_path):
    qemu_nn.page(WAKE, tmp_path / "x.html", front_end="micro-frontend")
    page = tmp_path / "x.html"
    stereo = np.repeat(sound(1)[:8000], 2)
    assert "converted it to 16000 Hz, mono" in hear(page, pack_wav(stereo, 8000, 2))["said"]
    record = """
      const buttons = [...document.querySelectorAll("button")];
      const button = buttons.find(each => each.textContent === "Record");
      button.click();
      await until(() => button.textContent === "Stop");
      await new Promise(done => setTimeout(done, 700));
      button.click();
      await until(() => heard);
      return { seconds: heard.samples.length / 16000, said: $("heard").textContent };
    """
    devices = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
    told = ask(page.read_text("utf-8"), record, *devices)
    assert 0.3 < told["seconds"] < 5
    assert "recorded" in told["said"]


def test_the_command_takes_front_ends_and_chains(monkeypatch, tmp_path):
    monkeypatch.setattr(document, "read_core", lambda: b"\0asm")
    stages = [{"micro_frontend": {}, "hop": 160}, {"file": "wake.tflite", "hop": 3}]
    (tmp_path / "wake.tflite").write_bytes(WAKE.read_bytes())
    (tmp_path / "chain.json").write_text(json.dumps({"stages": stages}), "utf-8")
    chain, page = str(tmp_path / "chain.json"), tmp_path / "x.html"

    def invoke(model, *options):
        return CliRunner().invoke(main, ["page", model, "-o", str(page), *options])

    def read_sound():
        text = re.search(r'id="document">(.*?)</script>', page.read_text("utf-8"), re.S)[1]
        return json.loads(text)["sound"]

    assert invoke(chain).exit_code == 0
    found = read_sound()
    assert (found["window"], found["hop"], found["first"], found["every"]) == (3, 3, 800, 480)
    assert found["padded"] == 0
    assert invoke(str(WAKE), "--front-end", "micro-frontend").exit_code == 0
    found = read_sound()
    assert (found["first"], found["every"], found["padded"]) == (1120, 960, 1120)
    assert invoke(str(WAKE)).exit_code == 0
    assert read_sound() is None
    result = invoke(chain, "-d", "x.npz")
    assert result.exit_code == 2
    assert "its page takes no --data; leave it out" in result.output


def test_front_ends_that_do_not_fit_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(document, "read_core", lambda: b"\0asm")
    quantized = qemu_nn.quantize(network(40), np.eye(40), scheme="affine")
    page = tmp_path / "x.html"
    with pytest.raises(Error, match=r"takes \[40\], but EdgeImpulseMfcc makes 13 features"):
        qemu_nn.page(quantized, page, front_end=EdgeImpulseMfcc())
    scaled = replace(quantized, preprocessing=Preprocessing(scale=2))
    with pytest.raises(Error, match="has a preprocessing or moves axes before its input"):
        qemu_nn.page(scaled, page, front_end="micro-frontend")
    (tmp_path / "chain.json").write_text(
        '{"stages": [{"micro_frontend": {}, "hop": 160}]}', "utf-8"
    )
    with pytest.raises(Error, match="has a front end of its own; leave front_end= out"):
        qemu_nn.page(tmp_path / "chain.json", page, front_end="micro-frontend")
