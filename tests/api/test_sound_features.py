"""Front ends of Edge Impulse against numbers of its published code, and folders of WAV files."""

import wave

import numpy as np
import pytest
from click.testing import CliRunner
from paths import GOLDEN
from sound import sound

import qemu_nn
from qemu_nn import Dataset, EdgeImpulseMfcc, EdgeImpulseMfe, Error
from qemu_nn.api.network import FloatNetwork
from qemu_nn.api.sound_features import front_end_of
from qemu_nn.cli.main import main
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Dense

#: Case -> samples and front end. The numbers are of edgeimpulse/processing-blocks, commit 9b0ceb2,
#: implementation version 4, on sound(1).
CASES = {
    "mfe_default": (16000, EdgeImpulseMfe()),
    "mfe_other": (
        9600,
        EdgeImpulseMfe(
            frame_length=0.032,
            frame_stride=0.016,
            filters=24,
            fft_length=512,
            low_hz=80,
            high_hz=7000,
            noise_floor_db=-72,
        ),
    ),
    "mfe_slow": (8000, EdgeImpulseMfe(8000, 0.025, 0.02, 20, noise_floor_db=-40)),
    "mfcc_default": (16000, EdgeImpulseMfcc()),
    "mfcc_other": (
        9600,
        EdgeImpulseMfcc(
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
    ),
    "mfcc_plain": (8000, EdgeImpulseMfcc(normalization=0)),
}


@pytest.mark.parametrize("case", CASES)
def test_features_are_those_of_the_published_code(case):
    count, front = CASES[case]
    with np.load(GOLDEN / "edge_impulse.npz") as recorded:
        right = recorded[case].reshape(-1, front.width)
    found = front.features(sound(1)[:count])
    assert (found.shape, found.dtype) == (right.shape, np.float32)
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)  # another FFT rounds otherwise


def test_silence_has_features():
    assert (EdgeImpulseMfe().features(np.zeros(16000, np.int16)) == 0).all()
    assert np.isfinite(EdgeImpulseMfcc().features(np.zeros(16000, np.int16))).all()


BAD = [
    (EdgeImpulseMfe, {"fft_length": 300}, "power of two"),
    (EdgeImpulseMfe, {"fft_length": 64, "filters": 60}, "has no point of a transform of 64"),
    (EdgeImpulseMfe, {"noise_floor_db": 3}, "must be below 0"),
    (EdgeImpulseMfe, {"frame_length": 0}, "frame_length is 0, but must be seconds above 0"),
    (EdgeImpulseMfe, {"high_hz": 9000}, "must be 0 to 8000 Hz"),
    (EdgeImpulseMfcc, {"normalization": 100}, "odd number of frames"),
    (EdgeImpulseMfcc, {"coefficients": 33}, "coefficients must be at most 32"),
]


@pytest.mark.parametrize(("kind", "parameters", "told"), BAD)
def test_parameters_that_cannot_be_are_refused(kind, parameters, told):
    with pytest.raises(Error, match=told):
        kind(**parameters)


def test_front_ends_have_names_with_parameters():
    assert front_end_of("edge-impulse-mfe") == EdgeImpulseMfe()
    named = front_end_of("edge-impulse-mfcc:coefficients=10,frame_stride=0.01")
    assert named == EdgeImpulseMfcc(coefficients=10, frame_stride=0.01)
    assert front_end_of("chain.json") is None
    with pytest.raises(Error, match="has no 'filter'; have: rate, frame_length"):
        front_end_of("edge-impulse-mfe:filter=3")
    with pytest.raises(Error, match="filters of edge-impulse-mfe is 'many', but must be a number"):
        front_end_of("edge-impulse-mfe:filters=many")


# ---- folders of WAV files ----


def save_wav(path, samples, rate=16000):
    path.parent.mkdir(exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())


@pytest.fixture
def folder(tmp_path):
    """Write two classes; files of one window, of two and a rest, and of less than one."""
    (tmp_path / "wavs").mkdir()
    save_wav(tmp_path / "wavs" / "no" / "a.wav", sound(1))
    save_wav(tmp_path / "wavs" / "yes" / "b.wav", sound(3, seed=8)[: 16000 * 2 + 5000])
    save_wav(tmp_path / "wavs" / "yes" / "c.wav", sound(1, seed=9)[:9000])
    return tmp_path / "wavs"


def windows():
    long = sound(3, seed=8)
    short = np.pad(sound(1, seed=9)[:9000], (0, 7000))
    return [sound(1), long[:16000], long[16000:32000], short]


def network(count):
    weights = np.random.default_rng(3).normal(size=(2, count)) / 30
    nodes = (FloatNode("out", Dense(weights), ("x",)),)
    return FloatNetwork(FloatGraph("net", "x", (count,), None, nodes, ("out",)))


@pytest.mark.parametrize("front", [EdgeImpulseMfe(), EdgeImpulseMfcc()], ids=["mfe", "mfcc"])
def test_each_window_of_a_file_is_a_sample(front, folder):
    x = np.stack([front.features(window).ravel() for window in windows()])
    net = network(x.shape[1])
    quantized = qemu_nn.quantize(net, x, scheme="affine")
    found = qemu_nn.run(quantized, Dataset(folder, front_end=front))
    assert found["out"].tolist() == qemu_nn.run(quantized, x)["out"].tolist()
    accuracy = np.mean(net.predict(x).argmax(-1) == np.array([0, 1, 1, 1]))
    assert qemu_nn.evaluate(net, Dataset(folder, front_end=front)).accuracy == accuracy


def test_a_name_is_a_front_end_on_the_command_line(folder, tmp_path):
    front = EdgeImpulseMfcc(coefficients=10)
    x = np.stack([front.features(window).ravel() for window in windows()])
    network(500).save(tmp_path / "net.qnz")
    name = "edge-impulse-mfcc:coefficients=10"
    command = ["evaluate", str(tmp_path / "net.qnz"), "-d", str(folder), "--json"]
    result = CliRunner().invoke(main, [*command, "--front-end", name])
    assert result.exit_code == 0, result.output
    right = np.mean(network(500).predict(x).argmax(-1) == np.array([0, 1, 1, 1]))
    assert f'"accuracy": {right}' in result.output


def test_seconds_are_the_length_of_a_window(folder):
    front = EdgeImpulseMfe(seconds=0.505)  # of which 5 ms fill no frame
    x = front.features(sound(1)[:8080]).reshape(1, -1)
    quantized = qemu_nn.quantize(network(40 * 49), x, scheme="affine")
    found = qemu_nn.run(quantized, Dataset(folder / "no", front_end=front, limit=1))
    assert found["out"].tolist() == qemu_nn.run(quantized, x)["out"].tolist()
    with pytest.raises(
        Error, match=r"takes \[1960\], but EdgeImpulseMfe makes 40 .* give \[99, 40\]"
    ):
        qemu_nn.run(quantized, Dataset(folder, front_end=EdgeImpulseMfe(seconds=1)))


def test_the_micro_frontend_has_a_name(folder):
    front = qemu_nn.chain(qemu_nn.micro_frontend(), hops=(320,))
    x = np.random.default_rng(0).normal(size=(9, 1960))
    net = qemu_nn.quantize(network(1960), x, scheme="affine")
    named = qemu_nn.run(net, Dataset(folder, front_end="micro-frontend"))["out"]
    assert named.tolist() == qemu_nn.run(net, Dataset(folder, front_end=front))["out"].tolist()


def test_what_is_no_front_end_is_refused(folder):
    with pytest.raises(Error, match="micro-frontend, edge-impulse-mfe, edge-impulse-mfcc"):
        qemu_nn.evaluate(network(1960), Dataset(folder, front_end="mfcc"))
