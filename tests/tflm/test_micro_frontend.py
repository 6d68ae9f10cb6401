"""The micro frontend gives the features that the firmware's library computed."""

import json
import zlib

import numpy as np
import pytest
from recorded_frontend import RECORDED
from sound import sound

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.errors import Error
from qemu_nn.functions import micro_frontend_tables as tables

SETTINGS = sorted(key.split("/")[0] for key in RECORDED if key.endswith("/settings"))
CLICK = np.array([-32768, 3, -32768, 1], np.int16)


def grouped(pcan=True, **flat):
    """Return arguments of micro_frontend() for settings without their groups."""
    bits = {"even_smoothing": "even", "odd_smoothing": "odd", "smoothing_bits": "bits"}
    gain = {"pcan_strength": "strength", "pcan_offset": "offset", "gain_bits": "gain_bits"}
    smoothing = {bits[name]: flat.pop(name) for name in bits if name in flat}
    gains = {gain[name]: flat.pop(name) for name in gain if name in flat}
    control = qemu_nn.Pcan(**gains) if pcan else None
    return {"smoothing": qemu_nn.Smoothing(**smoothing), "pcan": control, **flat}


def features_of(samples, step, rate=16000, **settings):
    front = qemu_nn.micro_frontend(rate=rate, **grouped(**settings))
    hop = step * rate // 1000
    return qemu_nn.chain(front, hops=[hop], rate=rate).run(samples)["features"]


@pytest.mark.parametrize("name", SETTINGS)
def test_features_are_the_recorded_ones(name):
    settings = json.loads(str(RECORDED[f"{name}/settings"]))
    found = features_of(sound(), quantized=False, **settings)
    assert np.array_equal(found, RECORDED[f"{name}/features"])


def test_the_library_itself_computes_the_same():
    library = pytest.importorskip("pymicro_features").MicroFrontend()
    samples = sound(seconds=20, seed=8)
    rows = []
    for start in range(0, len(samples) - 159, 160):
        features = library.process_samples(samples[start : start + 160].tobytes()).features
        rows += [[round(25.6 * value) for value in features]] if features else []
    assert np.array_equal(features_of(samples, 10, quantized=False), rows)


def test_features_of_8_bits_are_made_as_the_examples_make_them():
    wide, narrow = (features_of(sound(), 10, quantized=quantized) for quantized in (False, True))
    expected = np.clip((wide.astype(int) * 256 + 333) // 666 - 128, -128, 127)
    assert narrow.dtype == np.int8
    assert np.array_equal(narrow, expected)


@pytest.mark.oracle("tflm_frontend_features_s8")
def test_every_feature_is_divided_toward_zero():
    every = np.arange(-32768, 32768)
    product = every * 256 + 333
    expected = np.clip(np.sign(product) * (np.abs(product) // 666) - 128, -128, 127)
    found = cmsis.tflm_frontend_features_s8(input=every.astype(np.int16), length=every.size)
    assert np.array_equal(found, expected)


@pytest.mark.oracle("tflm_frontend_scale_bits_s16", "tflm_frontend_auto_scale_s16")
@pytest.mark.parametrize(
    ("samples", "bits", "of_the_signal_library"),
    [(CLICK, 13, 14), (CLICK[:1], 15, 0), (0 * CLICK, 15, 0), (CLICK[::-1], 13, 0)],
)
def test_the_lowest_number_does_not_count(samples, bits, of_the_signal_library):
    how = {"input": np.ascontiguousarray(samples), "length": len(samples)}
    assert cmsis.tflm_frontend_scale_bits_s16(**how) == bits
    assert cmsis.tflm_signal_scale_bits_s16(**how) == of_the_signal_library
    scaled = (samples.astype(int) << bits).astype(np.int16)
    assert np.array_equal(cmsis.tflm_frontend_auto_scale_s16(**how), scaled)


def checksum(*arrays):
    return zlib.crc32(np.concatenate(arrays).astype("<i2").tobytes())


def test_filter_banks_are_those_of_the_library():
    for rate, fft_length, channels, low, high, first, end, expected in RECORDED[
        "tables/banks"
    ].tolist():
        arrays, *ends = tables.make_filter_bank(rate, fft_length, channels, low, high)
        assert (*ends, checksum(*arrays.values())) == (first, end, expected)


def test_gains_are_those_of_the_library():
    for strength, offset, gain_bits, noise_bits, expected in RECORDED["tables/gains"].tolist():
        assert (
            checksum(tables.make_gain_table(strength / 64, offset, gain_bits, noise_bits))
            == expected
        )


def test_logarithms_are_those_of_devices_and_not_the_nearest():
    x = (np.arange(0, 24000, 7) / np.float32(700)).astype(np.float32)
    found, nearest = tables._compute_log1p(x), np.log1p(x.astype(float)).astype(np.float32)
    assert found.dtype == np.float32
    steps = np.abs(found.view(np.int32).astype(int) - nearest.view(np.int32))
    assert steps.max() == 1
    assert 50 < (steps == 1).sum() < 300


def test_it_is_a_network_like_any_other(tmp_path):
    front = qemu_nn.micro_frontend()
    front.save(tmp_path / "front.qnz")
    frames = sound()[None, :4800].reshape(1, 10, 480)
    again = qemu_nn.load(tmp_path / "front.qnz")
    found, expected = (each.session().run(frames) for each in (again, front))
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert {tensor.name for tensor in front.graph.states} == {"signal_noise", "noise_noise"}


REFUSED = {
    "short": ({"window_ms": 2}, "2 ms at 16000 Hz has 32 samples, but must have 33"),
    "long": ({"window_ms": 2049}, "has 32784 samples"),
    "no rate": ({"rate": 0}, "rate must be at least 1"),
    "no channels": ({"channels": 0}, "channels must be at least 1"),
    "bands": ({"lowest_hz": 4000, "highest_hz": 300}, "is from 4000 to 300 Hz"),
    "rate": ({"rate": 8000}, "between 0 and 4000 Hz"),
    "near the end": ({"highest_hz": 7999.9999}, "too close to half of the rate, 8000 Hz"),
    "smoothing": ({"odd_smoothing": 1.5}, "smoothing.odd is 1.5, but must be in 0..1"),
    "nan": ({"even_smoothing": float("nan")}, "must be a finite number"),
    "bits": ({"smoothing_bits": 2}, "smoothing.bits must be at least 3"),
    "gain": ({"gain_bits": 14}, "pcan.gain_bits must be at least 15"),
    "scale": ({"scale_shift": 11}, "scale_shift must be at most 10"),
    "offset": ({"pcan_offset": 0.0}, r"and in 2\^-10"),
}


@pytest.mark.parametrize(("settings", "words"), REFUSED.values(), ids=REFUSED)
def test_what_no_library_computes_is_refused(settings, words):
    with pytest.raises(Error, match=words):
        qemu_nn.micro_frontend(**grouped(**settings))
    for wrong in ({"pcan": "no"}, {"smoothing": 0.1}):
        with pytest.raises(Error, match="must be a"):
            qemu_nn.micro_frontend(**wrong)
