"""Every published float model: quantized where the device has its operators, refused where not."""

import numpy as np
import pytest
from published_float_models import FLOAT, MODELS, loaded

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.ir.formats import quantize
from qemu_nn.runtime.evaluate import iterate_tensors


def noise(network, quantized, x):
    """Signal to noise of the device's scores in dB."""
    reference, start = quantized.reference, quantized.graph.input
    last = np.moveaxis(x, 1, -1) if network.graph.layout == "NCHW" else x
    real = dict(iterate_tensors(reference, last.astype(np.float32)))
    integers = quantize(real[start.name], start.frac, start.dtype).reshape(-1, *start.shape)
    name = quantized.graph.outputs[0]
    scores = quantized.session().run(integers)[name]
    got = np.ldexp(scores.astype(float), -quantized.graph.node(name).output.frac)
    exact = real[name].reshape(got.shape)
    return 10 * np.log10(np.sum(exact.astype(float) ** 2) / np.sum((got - exact) ** 2))


@pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", MODELS)
def test_a_published_model_runs_with_little_noise_or_is_refused_by_its_operator(name, bits):
    network, x = loaded(name)
    expected = MODELS[name][bits == 16]
    if isinstance(expected, str):
        with pytest.raises(ModelError, match=expected):
            qemu_nn.quantize(
                network, x, bits=bits, method="minmax", scheme="power2", options={"softmax": False}
            )
    else:
        quantized = qemu_nn.quantize(
            network, x, bits=bits, method="minmax", scheme="power2", options={"softmax": False}
        )
        assert noise(network, quantized, x) > expected
