"""Whatever a caller passes, public functions take it or refuse it in a sentence."""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from float_classifiers import float_network
from networks import classifier, recurrent

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.api import golden as pipeline
from qemu_nn.api.golden import FloatNetwork, Network
from qemu_nn.errors import DeviceWarning, Error
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels.devices import is_of_esp_dl

RAGGED = [[1, 2], [3]]
REAL = np.random.default_rng(0).normal(size=(4, 8, 8, 1))


class Odd:
    """A value that no argument accepts."""


WRONG = (
    *(None, -1, 2**70, 2.5, float("nan"), True, "", "2", "nothing", "x" * 5000, "a\0b", b"x"),
    *([], RAGGED, [None], ["a"], (), {}, {1: 2}, {"conv": 1}, {"conv": {"output": "x"}}, set()),
    *(Odd(), Odd, np.zeros(3), np.zeros(0), np.array("x"), np.array([None]), np.zeros(2, complex)),
    *(
        np.datetime64("2020-01-01"),
        range(3),
        Path("nothing"),
        float_network(),
        Network(recurrent()),
    ),
)


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Public functions and arguments with which they work, by name."""
    folder = tmp_path_factory.mktemp("calls")
    demo, x, _ = pipeline.example()
    quantized = qemu_nn.quantize(float_network(), REAL, scheme="power2")
    pipeline.golden(demo, x[:1], folder / "goldens")
    device = {"target": "cortex-m4"}
    steps = np.zeros((2, 3, 4), np.int16)
    window = {"dim_im_in": 2, "ch_im_in": 1, "dim_kernel": 2, "padding": 0, "stride": 2}
    formats = {"options": None, "budget": None, "effort": "fast", "method": "minmax"}
    quantize = {"network": float_network(), "data": REAL, **formats}
    return {
        "load": (
            qemu_nn.load,
            {"source": folder / "goldens", "input": None, "output": None, "weights": None},
        ),
        "session": (demo.session, {**device, "variant": None, "threads": 1}),
        "profile": (demo.profile, device),
        "Target": (
            qemu_nn.Target,
            {"device": "m4", "cmsis": None, "rounding": None, "kernels": "cmsis-nn"},
        ),
        "save": (demo.save, {"path": None}),
        "float save": (float_network().save, {"path": None}),
        "run": (demo.session().run, {"x": x[:2], "state": None, "trace": False}),
        "recurrent run": (
            Network(recurrent()).session().run,
            {"x": steps, "state": None, "trace": False},
        ),
        "evaluate": (float_network().evaluate, {"x": REAL, "trace": False}),
        "quantize": (
            qemu_nn.quantize,
            {**quantize, **device, "scheme": "power2", "bits": 8},
        ),
        "Effort": (
            qemu_nn.Effort,
            {"level": "fast", "steps": None, "minutes": 1, "resume": None, "search_range": 1},
        ),
        "Budget": (qemu_nn.Budget, {"flash": None, "ram": None, "cycles": None}),
        "QuantizeOptions": (
            lambda **how: qemu_nn.quantize(float_network(), REAL, options=how, scheme="power2"),
            {
                **{"weight_method": "minmax", "formats": None, "functions": None},
                **{"softmax": True, "fallback": None, "runtime": "tflm"},
            },
        ),
        "quantize affine": (partial(qemu_nn.quantize, scheme="affine"), quantize),
        "search": (
            partial(qemu_nn.quantize, method="search"),
            {
                **{"network": float_network(), "data": REAL[:1]},
                **{"effort": {"level": "fast", "search_range": 0}, "threads": 1},
            },
        ),
        "analyze": (
            qemu_nn.analyze,
            {**device, "network": quantized, "data": REAL, "threads": 1},
        ),
        "golden": (
            pipeline.golden,
            {"network": demo, "data": x[:1], "folder": folder / "g", "threads": 1, "state": None},
        ),
        "compare": (pipeline.compare, {"golden": folder / "goldens", "dump": folder / "goldens"}),
        "export": (
            qemu_nn.export,
            {
                **device,
                "network": quantized,
                "folder": folder / "e",
                "data": None,
                "one_header": True,
            },
        ),
        "find": (cmsis.find, {"name": "arm_relu_q7"}),
        "buffer_size": (
            cmsis.buffer_size,
            {"function": "arm_relu_q7", "params": {"size": 2}, "target": "cortex-m4"},
        ),
        "arm_avepool_q7_HWC": (
            cmsis.arm_avepool_q7_HWC,
            {
                **{"Im_in": np.zeros((2, 2, 1), np.int8), **window, "dim_im_out": 1},
                **{"target": "dsp", "cmsis": None, "rounding": None, "variant": None},
                "in_place": False,
            },
        ),
        "Network": (Network, {"graph": classifier()}),
        "FloatNetwork": (FloatNetwork, {"graph": float_network().graph}),
    }


NAMES = (
    *(
        "load",
        "Target",
        "session",
        "profile",
        "save",
        "float save",
        "run",
        "recurrent run",
        "evaluate",
    ),
    *("Effort", "Budget", "QuantizeOptions"),
    *("quantize", "quantize affine", "search", "analyze", "golden", "compare", "export", "find"),
    *("buffer_size", "arm_avepool_q7_HWC", "Network", "FloatNetwork"),
)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_of_any_type_are_taken_or_refused_in_a_sentence(
    calls, name, tmp_path, monkeypatch
):
    function, fitting = calls[name]
    monkeypatch.chdir(tmp_path)
    for argument in fitting:
        for value in WRONG:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeviceWarning)
                try:
                    function(**{**fitting, argument: value})
                except Error as error:
                    assert len(str(error).splitlines()) == 1, str(error)  # noqa: PT017
                except Exception as error:
                    raise AssertionError(f"{name}({argument}={value!r})") from error


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_refuses_arrays_that_are_none(name):
    function = FUNCTIONS[name]
    fitting = {**dict.fromkeys(function.params, 1)}
    fitting |= {array.name: np.zeros(4, array.dtype) for array in function.arrays}
    if is_of_esp_dl(function.op):
        fitting["target"] = "esp32s3"
    for array in function.arrays:
        with pytest.raises(Error, match=rf"{array.name} of {name} must be an array.*lengths"):
            getattr(cmsis, name)(**{**fitting, array.name: RAGGED})


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda net: qemu_nn.load(None), "a model must be a path, not None"),
        (lambda net: net.session(), "small is a float network; quantize it first"),
        (lambda net: net.session("cortex-m4", threads=2), "small is a float network"),
        (lambda net: qemu_nn.analyze(net, REAL), "small is a float network; quantize it first"),
        (lambda net: qemu_nn.export(net, "x"), "small is a float network; quantize it first"),
        (
            lambda net: qemu_nn.quantize(3, REAL, scheme="power2"),
            "the network is .*, but must be the result of load.. or a path",
        ),
        (
            lambda net: qemu_nn.quantize(
                qemu_nn.quantize(net, REAL, scheme="power2"), REAL, scheme="power2"
            ),
            "small is quantized already; give the float network instead",
        ),
        (
            lambda net: qemu_nn.quantize(net, REAL, scheme="power2").session(threads="2"),
            "threads must be an integer, not '2'",
        ),
        (
            lambda net: qemu_nn.quantize(net, REAL, scheme="power2").session(threads=10**6),
            "threads must be at most 1024, not 1000000",
        ),
        (
            lambda net: qemu_nn.quantize(net, REAL, method="entropy", scheme="power2"),
            "no method 'entropy'; have: extrapolate, minmax, mse, kl, or a percentile as a number, "
            "or search",
        ),
        (
            lambda net: qemu_nn.quantize(
                net, REAL, scheme="power2", options={"weight_method": "search"}
            ),
            "no method 'search'; have: extrapolate, minmax, mse, kl, or a percentile as a number$",
        ),
        (lambda net: Network("net.tflite"), r"Network.. takes a graph.*; load.. reads files"),
        (
            lambda net: qemu_nn.quantize(net, "none.npz", scheme="power2"),
            "cannot read none.npz: No such file",
        ),
    ],
)
def test_the_sentence_names_the_way_out(call, reason):
    with pytest.raises(Error, match=reason):
        call(float_network())


def test_a_network_may_be_given_as_its_file(tmp_path):
    float_network().save(tmp_path / "float.qnz")
    quantized = qemu_nn.quantize(tmp_path / "float.qnz", REAL, scheme="power2")
    quantized.save(tmp_path / "net.qnz")
    assert (
        qemu_nn.quantize(str(tmp_path / "float.qnz"), REAL, scheme="power2").notes
        == quantized.notes
    )
    report = qemu_nn.analyze(str(tmp_path / "net.qnz"), REAL)
    assert report.text() == qemu_nn.analyze(quantized, REAL).text()
    qemu_nn.export(tmp_path / "net.qnz", tmp_path / "firmware")
    assert (tmp_path / "firmware" / "Makefile").exists()
    with pytest.raises(Error, match=r"float\.qnz is a float network; quantize it first"):
        qemu_nn.analyze(tmp_path / "float.qnz", REAL)
    with pytest.raises(Error, match=r"net\.qnz is quantized already"):
        qemu_nn.quantize(tmp_path / "net.qnz", REAL, scheme="power2")


@pytest.mark.parametrize("network", [Network(classifier()), float_network()])
@pytest.mark.parametrize("name", ["x.onnx", "x.json", "x", "x.QNZ"])
def test_a_network_is_saved_under_no_other_suffix_than_its_own(network, name, tmp_path):
    with pytest.raises(Error, match=r"saved as a \.qnz .*file; name it x\.qnz"):
        network.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
