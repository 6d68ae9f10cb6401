"""Networks of TensorFlow Lite and what the device's build of TensorFlow Lite Micro made of them."""

import json
from pathlib import Path

import numpy as np

from qemu_nn.ir.formats import dequantize_affine

#: File that reads unwritten memory or stops the device -> words of the refusal.
UNDEFINED = {
    "fully_connected_16x8_bias32": "reads pairs of its elements",
    "maximum_broadcast_rows": "then unknown memory after it",
    "maximum_broadcast_rows_first": "then unknown memory after it",
    "minimum_broadcast_rows_first": "then unknown memory after it",
    "transpose_conv_same3_k5_int8_no_bias": "pad_h must be a multiple of stride_h",
    "transpose_rank5_int8": "leaves its output uninitialized",
}

#: File -> output, element, recorded value, the float32 nearest to the exact value. The recordings
#: were made on a PC, and logf of its C library returned the second nearest float32 there.
SECOND_NEAREST = {
    "tinyengine_ptq_mnist_lenet-300-100_nobias": (
        *("output_0", (5, 0, 0)),
        *(np.float32(-0.009510449), np.float32(-0.009510448)),
    ),
}


def read(path):
    """Return the recording of a .tflite file, corrected by SECOND_NEAREST: arrays, and `meta`."""
    path = Path(path)
    stored = [path.with_suffix(".npz"), path.with_name(f"{path.stem}_golden.npz")]
    with np.load(next(each for each in stored if each.is_file())) as arrays:
        found = dict(arrays)
    if path.stem in SECOND_NEAREST:
        key, element, recorded, nearest = SECOND_NEAREST[path.stem]
        assert found[key][element] == recorded
        found[key][element] = nearest
    return found, json.loads(str(found.pop("meta")))


def given(graph, arrays, prefix=""):
    """Recorded inputs as a run of the network takes them, [N, ...]; [T, ...] of a sequence."""
    x = {}
    for at, tensor in enumerate(graph.inputs):
        values = arrays[f"{prefix}input_{at}"]
        if values.dtype == np.float32 and tensor.dtype != "float32":
            values = tensor.format.quantize(values)
        x[tensor.name] = values.reshape(len(values), *tensor.shape)
    return x


def made(graph, results):
    """Return (tensor, values) of each output of the file."""
    return [(graph.tensors[name], results[name]) for name in graph.outputs]


def wrong(graph, results, arrays, prefix=""):
    """Output -> how many of its recorded elements differ, of those that differ."""
    found = {}
    keys = sorted(key for key in arrays if key.startswith(f"{prefix}output_") and key[-1].isdigit())
    outputs = made(graph, results)
    assert len(keys) == len(outputs), (keys, graph.outputs)
    for key, (tensor, values) in zip(keys, outputs):
        want = arrays[key]
        if want.dtype == np.float32 and tensor.dtype != "float32":
            values = dequantize_affine(values, tensor.scale, tensor.zero_point)
        found[key] = differing(values.reshape(want.shape), want)
    return {key: count for key, count in found.items() if count}


def differing(values, want):
    """Return the count of elements that differ in a bit; all NaNs are equal."""
    assert values.dtype == want.dtype, (values.dtype, want.dtype)
    if want.dtype == np.float32:
        both = np.isnan(values) & np.isnan(want)
        return int((~both & (values.view(np.uint32) != want.view(np.uint32))).sum())
    return int((values != want).sum())


def differences(network, arrays, **how):
    """Return output -> count of elements that differ, for samples from reset and for sequences."""
    graph, session = network.graph, network.session(**how)
    found = {}
    for prefix in ("", "seq_", "walk_"):
        if f"{prefix}input_0" not in arrays:
            continue
        x = given(graph, arrays, prefix)
        if graph.states:  # samples are one time step each, sequences one sample
            axis = 0 if prefix else 1
            x = {name: np.expand_dims(values, axis) for name, values in x.items()}
        found.update(wrong(graph, session.run(x), arrays, prefix))
    return found
