"""Small Caffe networks, written as Caffe writes them."""

import io

import numpy as np
import pytest

import qemu_nn

pytest.importorskip("google.protobuf")
h5py = pytest.importorskip("h5py")

from qemu_nn.importers.caffe.schema import new  # noqa: E402

DATA = 'layer { name: "data" type: "Input" top: "data" input_param { shape { %s } } }'


def data(*shape):
    return DATA % " ".join(f"dim: {size}" for size in (1, *shape))


def layer(name, kind, parameters="", bottom="data", top=None):
    bottoms = " ".join(f'bottom: "{each}"' for each in bottom.split())
    tops = " ".join(f'top: "{each}"' for each in (top or name).split())
    return f'layer {{ name: "{name}" type: "{kind}" {bottoms} {tops} {parameters} }}'


def saved(arrays, old=False):
    """Serialize {layer: arrays} as a .caffemodel; old: as V1, with four sizes for each blob."""
    net = new("SavedNet")
    for name, blobs in {"data": [], **arrays}.items():
        each = new("SavedV1Layer" if old else "SavedLayer")
        each.name = name
        for array in blobs:
            blob = new("BlobProto")
            blob.data.extend(np.ravel(array).tolist())
            if old:
                sizes = (1,) * (4 - np.ndim(array)) + np.shape(array)
                blob.num, blob.channels, blob.height, blob.width = sizes
            else:
                blob.shape.dim.extend(np.shape(array))
            each.blobs.append(blob.SerializeToString())
        (net.layers if old else net.layer).append(each.SerializeToString())
    return net.SerializeToString()


def saved_h5(arrays):
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        for name, blobs in arrays.items():
            group = file.create_group(f"data/{name}")
            for i, array in enumerate(blobs):
                group[str(i)] = np.asarray(array, np.float32)
    return stream.getvalue()


def load(folder, text, arrays=None, **choice):
    """Write a network and its weights ({layer: arrays}, or a file's bytes), and load them."""
    model, weights = folder / "net.prototxt", folder / "net.caffemodel"
    model.write_text(text)
    if not isinstance(arrays, bytes):
        arrays = saved({"unused": [[1.0]], **(arrays or {})})
    weights.write_bytes(arrays)
    return qemu_nn.load(model, weights=weights, **choice)


TRAINED = {"conv": [np.ones((2, 3, 3, 3)), [1, 2]], "ip": [np.ones((4, 2 * 4 * 4)), np.zeros(4)]}
CONV = "convolution_param { num_output: 2 kernel_size: 3 pad: 1 }"
BODY = (
    layer("conv", "Convolution", CONV)
    + layer("relu", "ReLU", "", "conv", "conv")
    + layer("pool", "Pooling", "pooling_param { kernel_size: 2 stride: 2 }", "conv")
    + layer("drop", "Dropout", "", "pool", "pool")
    + layer("ip", "InnerProduct", "inner_product_param { num_output: 4 }", "pool")
)
