"""Published float models with the data of their recordings, if they are here."""

import numpy as np
from paths import SHARED

import qemu_nn

FLOAT = SHARED / "models_float"

#: Model -> the least signal to noise of its scores in dB with 8 and 16 bits, or why it cannot.
KWS = "even"  # 16-bit convolutions want squares, or even channels and output width
LEAKY, CONCAT, PRELU, GATE = "slope below zero", "Concat", "PRelu", "differ in shape"
PAD = "Pad"
MODELS = {
    "caffe_blocks/blocks.prototxt": (CONCAT, LEAKY),
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
    "onnx_pad_pool/pad_pool.onnx": (PAD, PRELU),
    "onnx_pad_pool/pad_pool_torchscript11.onnx": (PAD, PRELU),
    "onnx_se_block/se_block.onnx": (15, GATE),
    "onnx_se_block/se_block_torchscript17.onnx": (15, GATE),
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
