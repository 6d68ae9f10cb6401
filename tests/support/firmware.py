"""Small firmwares written as network.json and weights.npz, for tests to load and to break."""

import json

import numpy as np


def at(symbol, offset=0):
    return {"symbol": symbol, "offset": offset}


def call(name, function, params, inputs, output, **more):
    return {
        "name": name,
        "function": function,
        "params": params,
        "inputs": [at(i) if isinstance(i, str) else i for i in inputs],
        "output": at(output) if isinstance(output, str) else output,
        **more,
    }


def relu(name, where, size):
    return call(name, "arm_relu_q7", {"size": size}, [where], where)


def dense(name, source, target, columns, rows, **more):
    params = {"dim_vec": columns, "num_of_rows": rows, "bias_shift": 0, "out_shift": 0}
    arrays = {"weights": f"{name}_wt", "bias": f"{name}_bias"}
    return call(name, "arm_fully_connected_q7", params, [source], target, **{**arrays, **more})


def pool(name, source, target, size=4, channels=2):
    params = {"dim_im_in": size, "ch_im_in": channels, "dim_kernel": 2, "padding": 0, "stride": 2}
    params["dim_im_out"] = size // 2
    return call(name, "arm_maxpool_q7_HWC", params, [source], target)


def add(name, left, right, target, size):
    return call(name, "arm_add_q7", {"blockSize": size}, [left, right], target)


def network(layers, buffers, shape, entry="in", dtype="int8", **more):
    entry = {"buffer": at(entry), "shape": list(shape), "dtype": dtype}
    return {"format": 1, "input": entry, "buffers": buffers, "layers": layers, **more}


def write(folder, description, **arrays):
    """Write the files to a folder and return the path of network.json."""
    path = folder / "network.json"
    path.write_text(json.dumps(description))
    if arrays:
        np.savez(folder / "weights.npz", **arrays)
    return path


def identity(name, size):
    """Weights and bias of a fully connected layer that copies its input."""
    return {f"{name}_wt": np.eye(size, dtype=np.int8), f"{name}_bias": np.zeros(size, np.int8)}


def small():
    """Return the description and the arrays of a network that uses most of the format."""
    layers = [
        dense("fc", "in", "out", 4, 3, scratch=at("vec"), output_shape=[3], macs=12),
        relu("relu", "out", 3),
    ]
    buffers = {
        "pad": {"bytes": 16, "parts": {"out": [0, 8], "vec": [8, 8]}},
        "in": {"bytes": 4},
    }
    description = network(layers, buffers, [4], name="small", classes=["a", "b", "c"])
    weights = np.arange(12, dtype=np.int8).reshape(3, 4) - 6
    return description, {"fc_wt": weights, "fc_bias": np.array([1, -2, 3], np.int8)}
