"""Published float networks through the whole chain of the NPU's kit, at 8 and 16 bits."""

import numpy as np
import pytest
from paths import SHARED

import qemu_nn.ndk as ndk
from qemu_nn.errors import ModelError
from qemu_nn.ndk.layers import get_network_output
from qemu_nn.wuqi.check import list_warnings
from qemu_nn.wuqi.loading import load

FLOAT = SHARED / "models_float"

GROUPS = "groups has {} outputs, must be 1 or 16, 32, ... (§6.7)"
SHUFFLE = "it may only follow an ungrouped Convolution or an InnerProduct (§6.17)"
TWICE = "only one such layer may read it (§6.1"
STRIDE = "its stride is 2 x 1, must be the same in both directions (§6.7)"

#: Model, and its weights -> the least quantization SNR of its outputs in dB at 8 bits and at 16
#: with true averages, and the hardware's limits that it breaks.
MODELS = {
    ("keras_ds_cnn/ds_cnn.h5", None): (24, 70, [GROUPS.format(2)]),
    ("keras_ds_cnn/ds_cnn_frozen.pb", None): (24, 70, [GROUPS.format(2)]),
    ("keras_kws_cnn/kws_cnn.h5", None): (29, 80, [STRIDE]),
    ("keras_kws_cnn_bn/kws_cnn_bn.keras", None): (30, 80, [STRIDE]),
    ("keras_mlperf_resnet8/pretrainedResnet_weights_only.h5", None): (22, 70, []),
    ("onnx_ds_cnn/ds_cnn.onnx", None): (27, 75, []),
    ("onnx_ds_cnn/ds_cnn_bn_torchscript11.onnx", None): (27, 75, []),
    ("onnx_lenet5_digits/lenet5.onnx", None): (33, 80, []),
    # sums share their inputs' fraction, and it is that of a ReLU6, or of a TanH: others saturate
    ("onnx_old_opset/old_opset8.onnx", None): (14, 14, [TWICE, TWICE]),
    ("onnx_se_block/se_block.onnx", None): (20, 20, []),
    ("onnx_shuffle/shuffle.onnx", None): (18, 65, [SHUFFLE, SHUFFLE, GROUPS.format(6)]),
    ("onnx_shuffle/shuffle_torchscript11.onnx", None): (
        *(18, 65),
        [SHUFFLE, SHUFFLE, GROUPS.format(6)],
    ),
    (
        "caffe_cifar10_m4/legacy_v1_deploy.prototxt",
        "caffe_cifar10_m4/legacy_v1_float.caffemodel",
    ): (20, 70, []),
}

pytestmark = [
    pytest.mark.caps,
    pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here"),
    pytest.mark.filterwarnings("ignore:.*becomes a LogSoftmax"),
]


def inputs(path, dim):
    """Return the recorded inputs of a model, [N, C, H, W]."""
    with np.load(path.parent / "golden.npz") as stored:
        arrays = [stored[name] for name in stored]
    x = next(a for a in arrays if a.ndim > 1 and a[0].size == np.prod(dim)).astype(float)
    if x.ndim == 4 and x.shape[1:] != dim[1:]:
        x = x.transpose(0, 3, 1, 2)
    return x.reshape(-1, *dim[1:])


@pytest.mark.parametrize(("model", "expected"), MODELS.items(), ids=lambda v: str(v[0]))
def test_a_network_is_loaded_merged_checked_quantized_and_run(model, expected, tmp_path):
    path, weights = FLOAT / model[0], model[1] and FLOAT / model[1]
    layers, params = ndk.optimize.merge_layers(*load(path, weights))
    found = list_warnings(layers)
    assert len(found) == len(expected[2])
    for text, limit in zip(found, expected[2]):
        assert limit in text
    x = inputs(path, layers[0].dim)
    for bits, least in zip((8, 16), expected):
        data = ({"input": x} for _ in range(2))
        text, arrays = tmp_path / "net.prototxt", tmp_path / "net.npz"
        fixed, numbers = ndk.quantize.quantize_model(layers, params, bits, data)
        ndk.modelpack.save_to_file(fixed, text, numbers, arrays)
        quantized = ndk.modelpack.load_from_file(text, arrays)
        outputs = get_network_output(quantized[0])
        ratios = ndk.quantize.compare_float_and_quant(
            *quantized, outputs, bits, data_generator=iter([{"input": x}]), hw_aligned=False
        )
        for name in outputs:
            assert ratios[f"{name}_qsnr"] > least, (bits, name)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("onnx_pad_pool/pad_pool.onnx", "it counts padding in averages"),
        ("caffe_blocks/blocks.prototxt", "PRelu 'b/prelu': the NPU has no layer for it"),
        ("tf_kws_cnn_s/CNN_S.pb", "DecodeWav"),
    ],
)
def test_what_the_npu_has_no_layer_for_is_refused(model, reason):
    path = FLOAT / model
    weights = path.with_suffix(".caffemodel") if path.suffix == ".prototxt" else None
    with pytest.raises(ModelError, match=reason):
        load(path, weights)
