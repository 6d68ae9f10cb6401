"""Every published float model: quantized where the device has its operators, refused where not."""

import numpy as np
import pytest
from paths import SHARED

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.ir.formats import quantize
from qemu_nn.runtime.evaluate import each_tensor

FLOAT = SHARED / "models_float"

#: Model -> the least signal to noise of its scores in dB with 8 and 16 bits, or why it cannot.
KWS = "even"  # 16-bit convolutions want squares, or even channels and output width
LEAKY, CONCAT, PRELU, GATE = "slope below zero", "Concat", "PRelu", "differ in shape"
MODELS = {
    "caffe_blocks/blocks.prototxt": (LEAKY, LEAKY),
    "caffe_cifar10_m4/legacy_v1_deploy.prototxt": (20, 60),
    "caffe_cifar10_m4/cifar10_m4_train_test.prototxt": (20, 60),
    "tf_kws_dnn_s/DNN_S.pb": (12, 60),
    "tf_kws_cnn_s/CNN_S.pb": (12, KWS),
    "keras_kws_cnn/kws_cnn.h5": (30, KWS),
    "keras_kws_cnn_bn/kws_cnn_bn.keras": (30, KWS),
    "keras_ds_cnn/ds_cnn.h5": (24, KWS),
    "keras_ds_cnn/ds_cnn.keras": (24, KWS),
    "keras_ds_cnn/ds_cnn_keras3.h5": (24, KWS),
    "keras_ds_cnn/ds_cnn_tfkeras.keras": (24, KWS),
    "keras_ds_cnn/ds_cnn_frozen.pb": (24, KWS),
    "keras_mlperf_resnet8/pretrainedResnet_weights_only.h5": (14, 60),
    "onnx_ds_cnn/ds_cnn.onnx": (24, KWS),
    "onnx_ds_cnn/ds_cnn_bn_torchscript11.onnx": (24, KWS),
    "onnx_ds_cnn/ds_cnn_torchscript13.onnx": (24, KWS),
    "onnx_lenet5_digits/lenet5.onnx": (30, 70),
    "onnx_old_opset/old_opset8.onnx": (CONCAT, CONCAT),
    "onnx_pad_pool/pad_pool.onnx": (PRELU, PRELU),
    "onnx_pad_pool/pad_pool_torchscript11.onnx": (PRELU, PRELU),
    "onnx_se_block/se_block.onnx": (GATE, GATE),
    "onnx_se_block/se_block_torchscript17.onnx": (GATE, GATE),
    "onnx_shuffle/shuffle.onnx": (CONCAT, CONCAT),
    "onnx_shuffle/shuffle_bn_torchscript13.onnx": (CONCAT, CONCAT),
    "onnx_shuffle/shuffle_torchscript11.onnx": (CONCAT, CONCAT),
}
WEIGHTS = {
    "blocks.prototxt": "blocks.caffemodel",
    "legacy_v1_deploy.prototxt": "legacy_v1_float.caffemodel",
    "cifar10_m4_train_test.prototxt": "cifar10_m4_iter_70000.caffemodel.h5",
}


def loaded(name):
    path = FLOAT / name
    how = {}
    if path.name in WEIGHTS:
        how["weights"] = path.with_name(WEIGHTS[path.name])
    if name.startswith("tf_"):
        how["input"] = "Reshape:0"
    return qemu_nn.load(path, **how), np.load(path.with_name("golden.npz"))["x"]


def noise(network, quantized, x):
    """Signal to noise of the device's scores in dB."""
    reference, start = quantized.reference, quantized.graph.input
    last = np.moveaxis(x, 1, -1) if network.graph.layout == "NCHW" else x
    real = dict(each_tensor(reference, last.astype(np.float32)))
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
            qemu_nn.quantize(network, x, bits=bits, softmax=False)
    else:
        quantized = qemu_nn.quantize(network, x, bits=bits, softmax=False)
        assert noise(network, quantized, x) > expected
