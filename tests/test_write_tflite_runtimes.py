"""Written .tflite files on other runtimes: TensorFlow Lite Micro has our bytes, and LiteRT runs."""

from importlib.util import find_spec

import numpy as np
import pytest
from test_float_models import FLOAT, MODELS, loaded
from test_lower_s8 import CASES, quantized
from test_quantize_16x8 import classifier
from test_write_tflite import drawn, saved

import qemu_nn
from qemu_nn.errors import ModelError

pytest.importorskip("tflite", reason="writing .tflite files needs it")
if not any(map(find_spec, ("tflite_micro", "ai_edge_litert"))):
    pytest.skip("neither tflite-micro nor ai-edge-litert is installed", allow_module_level=True)

#: The build of the Python wheels: TensorFlow Lite Micro's own kernels.
WHEEL = {"kernels": "reference", "rounding": "double", "tflm": "2026-10"}

#: By how many steps LiteRT's kernels for PCs may differ, which round sums otherwise.
NEAR = 16

PUBLISHED = list(MODELS) if FLOAT.is_dir() else []


def operator(name, bits):
    return quantized(CASES[name][0], dtype=f"int{bits}")[0]


def every_kind(_, bits):
    data = np.random.default_rng(7).normal(size=(24, 8, 8, 4)).astype(np.float32)
    return qemu_nn.quantize(classifier(data), data, scheme="affine", bits=bits)


def published(name, bits):
    network, x = loaded(name)
    return qemu_nn.quantize(network, x, scheme="affine", bits=bits)


NETWORKS = [(every_kind, ""), *((operator, name) for name in CASES)]
NETWORKS += [(published, name) for name in PUBLISHED]


@pytest.fixture(params=[8, 16])
def bits(request):
    return request.param


@pytest.fixture(params=NETWORKS, ids=[f"{make.__name__}-{name}" for make, name in NETWORKS])
def written(request, bits, tmp_path):
    """A file, the network that it was made of, inputs, and the outputs of the wheel's build."""
    make, name = request.param
    try:
        network = make(name, bits)
        again = saved(network, tmp_path)
    except ModelError as error:
        pytest.skip(str(error))
    x = drawn(network)
    return tmp_path / "net.tflite", x, list(again.session(**WHEEL).run(x).values())


def test_tensorflow_lite_micro_has_the_bytes_of_its_profile(written):
    module = "tflite_micro.python.tflite_micro.runtime"
    runtime = pytest.importorskip(module, reason="it runs TensorFlow Lite Micro")
    path, x, expected = written
    interpreter = runtime.Interpreter.from_file(str(path), arena_size=4_000_000)
    for i, sample in enumerate(x):
        interpreter.set_input(sample[None], 0)
        interpreter.invoke()
        for at, values in enumerate(expected):
            got = interpreter.get_output(at).reshape(values[i].shape)
            np.testing.assert_array_equal(got, values[i])


def test_litert_runs_it_and_is_near(written):
    module = "ai_edge_litert.interpreter"
    litert = pytest.importorskip(module, reason="it runs LiteRT")
    path, x, expected = written
    interpreter = litert.Interpreter(str(path))
    interpreter.allocate_tensors()
    start, ends = interpreter.get_input_details()[0], interpreter.get_output_details()
    for i, sample in enumerate(x):
        interpreter.set_tensor(start["index"], sample[None])
        interpreter.invoke()
        for end, values in zip(ends, expected):
            got = interpreter.get_tensor(end["index"]).reshape(values[i].shape)
            assert np.abs(got.astype(int) - values[i]).max() <= NEAR
