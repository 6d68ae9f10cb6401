"""Scores of published float models after quantization by TFLite's scheme."""

import numpy as np

from qemu_nn.runtime.evaluate import iterate_tensors

#: Model (what its path starts with) -> the least signal to noise of its scores in dB, or why it
#: cannot run.
LEAST = {
    "caffe_blocks": 24,
    "caffe_cifar10_m4": 33,
    "tf_kws_dnn_s": 27,
    "tf_kws_cnn_s": 33,
    "keras_kws_cnn": 34,
    "keras_ds_cnn": 30,
    "keras_mlperf_resnet8": 30,
    "onnx_ds_cnn": 31,
    "onnx_lenet5_digits": 40,
    "onnx_old_opset": 33,
    "onnx_pad_pool": 30,
    "onnx_se_block": 35,
    "onnx_shuffle": 33,
}


def scores(quantized, x):
    """Device's and float network's scores, of images as the reference has them."""
    start, name = quantized.graph.input, quantized.graph.outputs[0]
    real = dict(iterate_tensors(quantized.reference, x.astype(np.float32)))
    integers = start.format.quantize(real[start.name]).reshape(-1, *start.shape)
    got = quantized.graph.node(name).output.format.dequantize(
        quantized.session().run(integers)[name]
    )
    return got, real[name].reshape(got.shape)
