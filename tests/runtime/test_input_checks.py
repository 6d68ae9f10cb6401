"""A line on inputs wherever they meet a network, and a warning where they were not scaled."""

import logging
import warnings

import numpy as np
import pytest
from networks import classifier

import qemu_nn
from qemu_nn import InputWarning
from qemu_nn.api.golden import Network
from qemu_nn.ir.tensors import Tensor
from qemu_nn.runtime.input_checks import Gauge, inspect, tell

RNG = np.random.default_rng(6)

#: An input of pixels.
PIXELS = Tensor("image", (8, 8), "int8", None, 1.0, -128)


def looked(real, tensor=PIXELS):
    real = np.asarray(real, float)
    return inspect(tensor, tensor.format.quantize(real), real)


def test_inputs_that_were_not_scaled_use_a_handful_of_codes():
    sanity = looked(RNG.random((10, 8, 8)))
    assert (sanity.codes_used, sanity.codes, sanity.saturated, sanity.odd) == (2, 256, 0, True)
    assert sanity.sentence.startswith("inputs lie in 0.00")
    assert sanity.sentence.endswith(
        "they use 2 of 256 codes, 0.00% saturate; were they scaled as in training?"
    )


def test_inputs_that_were_scaled_too_much_saturate():
    tensor = Tensor("x", (8, 8), "int8", 7)
    real = np.arange(640).reshape(10, 8, 8) % 256
    sanity = looked(real, tensor)
    assert sanity.odd
    assert sanity.saturated == np.mean(real * 128 > 127.5) > 0.9
    assert "(int8 holds -1..0.9922)" in sanity.sentence
    assert sanity.sentence.endswith("as in training, such as by Preprocessing(scale=1/255)?")
    edge = np.full((8, 8), 127.4 / 128)  # rounds to the last code, which loses nothing
    assert looked(edge, tensor).saturated == 0


@pytest.mark.parametrize(
    "real",
    [
        RNG.uniform(0, 255, (10, 8, 8)),
        RNG.integers(0, 2, (10, 8, 8)) * 255,  # black and white
        np.where(RNG.random((10, 8, 8)) < 0.8, 0, RNG.uniform(0, 255, (10, 8, 8))),  # background
        np.zeros((10, 8, 8)),  # nothing
        np.where(RNG.random((10, 8, 8)) < 0.05, 400, RNG.uniform(0, 255, (10, 8, 8))),  # outliers
        [1, 2, 3],  # too few to say anything
    ],
)
def test_inputs_that_are_in_order_are_not_odd(real):
    sanity = looked(real)
    assert not sanity.odd
    assert "?" not in sanity.sentence


def test_batches_are_looked_at_together():
    gauge, real = Gauge(PIXELS), RNG.uniform(-20, 300, (50, 8, 8))
    for part in real.reshape(10, 5, 8, 8):
        gauge.add(PIXELS.format.quantize(part), part)
    assert gauge.sanity() == looked(real)
    for part in (
        Gauge(PIXELS),
        Gauge(Tensor("x", (8,), "float32")),
        Gauge(Tensor("x", (), "bool")),
    ):
        part.add(np.zeros(0, np.int8))
        assert part.sanity() is None


def test_codes_alone_tell_how_many_are_used():
    assert inspect(PIXELS, RNG.integers(0, 2, 900, np.int8)).odd
    every = inspect(PIXELS, np.arange(-128, 128).astype(np.int8))
    assert (every.codes_used, every.saturated, every.odd) == (256, 0, False)
    wide = Tensor("x", (8,), "int16", 15)
    assert inspect(wide, np.arange(-300, 300).astype(np.int16)).codes == 65536


def test_the_line_is_logged_and_what_is_odd_is_warned_of(caplog):
    caplog.set_level(logging.INFO)
    for factor in (1, 255):
        gauge, real = Gauge(PIXELS), factor * RNG.random((10, 8, 8))
        gauge.add(PIXELS.format.quantize(real), real)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tell(gauge)
        lines = [f"'image': {gauge.sanity().sentence}"]
        assert [str(each.message) for each in caught] == (lines if factor == 1 else [])
        assert [record.getMessage() for record in caplog.records] == lines * (factor > 1)


def test_a_session_tells_once():
    session, real = Network(classifier()).session(), RNG.random((4, 8, 8, 2)) / 99
    with pytest.warns(InputWarning, match="they use 2 of 256 codes"):
        session.predict(real)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.predict(real)
        fresh = Network(classifier()).session()
        fresh.predict(RNG.normal(size=(4, 8, 8, 2)) / 3)
        fresh.predict(real)
    assert issubclass(qemu_nn.InputWarning, UserWarning)
