"""Every published float model by TFLite's scheme: close on the s8 functions, or refused by name."""

import numpy as np
import pytest
from test_float_models import FLOAT, MODELS, loaded

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.runtime.evaluate import each_tensor

#: Model (what its path starts with) -> the least signal to noise of its scores in dB, or why it
#: can not run.
PRELU = r"PRelu '[^']+': there is no function for it in CMSIS-NN's s8 API"
LEAST = {
    "caffe_blocks": PRELU,
    "caffe_cifar10_m4": 33,
    "tf_kws_dnn_s": 27,
    "tf_kws_cnn_s": 33,
    "keras_kws_cnn": 34,
    "keras_ds_cnn": 30,
    "keras_mlperf_resnet8": 30,
    "onnx_ds_cnn": 31,
    "onnx_lenet5_digits": 40,
    "onnx_old_opset": 33,
    "onnx_pad_pool": PRELU,
    "onnx_se_block": 35,
    "onnx_shuffle": 33,
}

needs = pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")


def scores(quantized, x):
    """Device's and float network's scores, of images as the reference has them."""
    start, name = quantized.graph.input, quantized.graph.outputs[0]
    real = dict(each_tensor(quantized.reference, x.astype(np.float32)))
    integers = start.format.quantize(real[start.name]).reshape(-1, *start.shape)
    got = quantized.graph.node(name).output.format.dequantize(
        quantized.session().run(integers)[name]
    )
    return got, real[name].reshape(got.shape)


@needs
@pytest.mark.parametrize("name", MODELS)
def test_a_published_model_runs_with_little_noise_or_is_refused_by_its_operator(name):
    network, x = loaded(name)
    expected = next(least for start, least in LEAST.items() if name.startswith(start))
    if isinstance(expected, str):
        with pytest.raises(ModelError, match=expected):
            qemu_nn.quantize(network, x, scheme="affine", softmax=False)
        return
    quantized = qemu_nn.quantize(network, x, scheme="affine", softmax=False)
    got, exact = scores(quantized, np.moveaxis(x, 1, -1) if network.graph.layout == "NCHW" else x)
    noise = np.sum((got - exact) ** 2)
    assert 10 * np.log10(np.sum(exact.astype(float) ** 2) / noise) > expected
    assert qemu_nn.analyze(quantized, x).samples == len(x)


@needs
@pytest.mark.parametrize("method", ["minmax", "mse", "kl", 99.9])
def test_lenet_recognizes_as_many_digits_as_its_float_network(method):
    network, _ = loaded("onnx_lenet5_digits/lenet5.onnx")
    stored = np.load(FLOAT / "onnx_lenet5_digits" / "data.npz")
    x = np.pad(np.kron(stored["images"], np.ones((1, 3, 3))), ((0, 0), (2, 2), (2, 2)))[:, None]
    x, y = (x / 16).astype(np.float32), stored["labels"]
    seen, held = stored["train_index"], stored["test_index"]
    quantized = qemu_nn.quantize(network, x[seen], scheme="affine", method=method)
    got, exact = scores(quantized, np.moveaxis(x[held], 1, -1))
    assert np.count_nonzero(exact.argmax(1) == y[held]) == 482
    assert abs(np.count_nonzero(got.argmax(1) == y[held]) - 482) <= 2
