"""Published float networks: quantized as published, and as accurate as the acceptance asks."""

import json

import numpy as np
import pytest
from paths import SHARED

import qemu_nn
from qemu_nn.functions import layouts

FLOAT = SHARED / "models_float"
CIFAR10 = FLOAT / "caffe_cifar10_m4"

needs = pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")


@needs
@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("legacy_v1_deploy.prototxt", "legacy_v1_float.caffemodel"),
        ("cifar10_m4_train_test.prototxt", "cifar10_m4_iter_70000.caffemodel.h5"),
    ],
)
def test_with_the_published_ranges_every_shift_weight_and_bias_is_the_published_one(text, weights):
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    pytest.importorskip("h5py", reason="h5py is not installed")
    result = json.loads((CIFAR10 / "result.json").read_text())
    arrays = np.load(CIFAR10 / "result.npz")
    given = {
        name: {"output": frac}
        for name, (_, frac) in result["activation_q"].items()
        if name.startswith(("data", "conv", "ip"))
    }
    given["conv2"]["weights"] = 9  # found by a search over accuracy, one bit below its range
    network = qemu_nn.load(CIFAR10 / text, weights=CIFAR10 / weights)
    x = np.load(CIFAR10 / "golden.npz")["x"]
    quantized = qemu_nn.quantize(network, x, scheme="power2", options={"formats": given})
    for layer in result["layers"]:
        node = quantized.graph.node(layer["name"])
        shifts = (node.params["bias_shift"], node.params["out_shift"])
        assert shifts == (layer["bias_lshift"], layer["out_rshift"]), layer["name"]
        for role in ("weight", "bias"):
            got = quantized.graph.arrays[node.weights if role == "weight" else node.bias]
            expected = arrays[f"{layer['name']}.{role}_device"]
            np.testing.assert_array_equal(got.ravel(), expected, f"{layer['name']} {role}")
    dense = quantized.graph.node("ip1")
    assert dense.function.name == "arm_fully_connected_q7_opt"
    rows = layouts.unpack(quantized.graph.arrays[dense.weights], 10, 512, "q7")
    np.testing.assert_array_equal(rows, arrays["ip1.weight_rows_hwc"])
