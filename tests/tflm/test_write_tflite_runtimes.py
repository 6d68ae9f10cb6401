"""Written .tflite files on other runtimes: TensorFlow Lite Micro has our bytes, and LiteRT runs."""

from importlib.util import find_spec

import numpy as np
import pytest
from affine_operators import CASES, quantized
from affine_quantizing import classifier
from published_float_models import FLOAT, MODELS, loaded
from written_tflite import drawn, saved

import qemu_nn
from qemu_nn.errors import ModelError

if not any(map(find_spec, ("tflite_micro", "ai_edge_litert"))):
    pytest.skip("neither tflite-micro nor ai-edge-litert is installed", allow_module_level=True)

#: The build of the Python wheels: TensorFlow Lite Micro's own kernels.
WHEEL = qemu_nn.Target(rounding="double", kernels="reference", tflm="2026-10")

#: Limits of LiteRT's reference kernels of 16 bits, in steps and in parts of the value: they
#: round sums otherwise, and a step before a softmax is a percent after it.
NEAR = {"atol": 2, "rtol": 0.02}

PUBLISHED = list(MODELS) if FLOAT.is_dir() else []


def operator(name, bits):
    return quantized(CASES[name][0], dtype=f"int{bits}")[0]


def every_kind(_, bits):
    data = np.random.default_rng(7).normal(size=(24, 8, 8, 4)).astype(np.float32)
    return qemu_nn.quantize(classifier(data), data, scheme="affine", bits=bits)


def published(name, bits):
    network, x = loaded(name)
    return qemu_nn.quantize(network, x, scheme="affine", bits=bits)


FILES = sorted(FLOAT.parent.glob("models_tflite*/*.tflite"))

NETWORKS = [(every_kind, ""), *((operator, name) for name in CASES)]
NETWORKS += [(published, name) for name in PUBLISHED]


@pytest.fixture(params=[8, 16])
def bits(request):
    return request.param


@pytest.fixture(params=NETWORKS, ids=[f"{make.__name__}-{name}" for make, name in NETWORKS])
def written(request, bits, tmp_path):
    """Yield a file, the network it was made of, inputs, and the outputs of the wheel's build."""
    make, name = request.param
    try:
        network = make(name, bits)
        again = saved(network, tmp_path)
    except ModelError as error:
        pytest.skip(str(error))
    x = drawn(network)
    return tmp_path / "net.tflite", x, list(again.session(WHEEL).run(x).values())


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


def test_litert_s_reference_kernels_have_the_same_bytes_or_are_near(written, bits):
    module = "ai_edge_litert.interpreter"
    litert = pytest.importorskip(module, reason="it runs LiteRT")
    path, x, expected = written
    reference = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=reference)
    interpreter.allocate_tensors()
    start, ends = interpreter.get_input_details()[0], interpreter.get_output_details()
    for i, sample in enumerate(x):
        interpreter.set_tensor(start["index"], sample[None])
        interpreter.invoke()
        for end, values in zip(ends, expected):
            got = interpreter.get_tensor(end["index"]).reshape(values[i].shape)
            limits = NEAR if bits == 16 else {"atol": 0, "rtol": 0}
            np.testing.assert_allclose(got.astype(int), values[i], **limits)


def _interpreters(path):
    """Return the installed runtimes, each as a function from inputs to outputs of a new run."""
    if find_spec("tflite_micro"):
        from tflite_micro.python.tflite_micro import runtime

        micro = runtime.Interpreter.from_file(str(path), arena_size=8_000_000)

        def of_micro(inputs, outputs):
            for at, values in enumerate(inputs):
                micro.set_input(values, at)
            micro.invoke()
            return [micro.get_output(at).copy() for at in range(outputs)]

        yield of_micro
    if find_spec("ai_edge_litert"):
        from ai_edge_litert.interpreter import Interpreter

        try:
            whole = Interpreter(str(path))
        except ValueError as error:
            if path not in FILES:  # it is our own
                raise
            pytest.skip(f"LiteRT refuses it: {error}")
        whole.allocate_tensors()

        def of_litert(inputs, _):
            for detail, values in zip(whole.get_input_details(), inputs):
                whole.set_tensor(detail["index"], values)
            whole.invoke()
            return [whole.get_tensor(detail["index"]) for detail in whole.get_output_details()]

        yield of_litert


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_file_written_again_runs_as_before(path, tmp_path):
    """Compare over several runs, because states persist; ends that were floats are left out."""
    network = qemu_nn.load(path)
    try:
        network.save(tmp_path / "net.tflite")
    except ModelError as error:
        pytest.skip(str(error))
    if find_spec("ai_edge_litert") and any(
        node.function.name == "arm_svdf_s8" for node in network.graph.nodes
    ):
        pytest.skip("LiteRT 2.3.0 writes outside of its memory with the 8-bit state of an SVDF")
    starts = network.graph.inputs
    rng = np.random.default_rng(3)
    for first, again in zip(_interpreters(path), _interpreters(tmp_path / "net.tflite")):
        for _ in range(4):
            x = []
            for start in starts:
                limits, shape = np.iinfo(start.dtype), (1, *start.shape)
                x.append(rng.integers(limits.min, limits.max, shape, start.dtype, endpoint=True))
            got = again(x, len(network.graph.outputs))
            try:
                want = first(x, len(network.graph.outputs))
            except (ValueError, RuntimeError):
                pytest.skip("its file begins with real numbers")
            for one, other in zip(want, got):
                if one.dtype == other.dtype:
                    np.testing.assert_array_equal(one.reshape(-1), other.reshape(-1))
