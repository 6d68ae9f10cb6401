"""Files with LSTMs whose states live on in TensorFlow Lite Micro's own kernels, and with SVDF whose
state has a zero point there."""

from functools import partial

import numpy as np
from tflite_cases import CASES, Net

#: Scales and zero points of what an LSTM makes.
_FORMS = {"INT8": [(2.0**-7, 4), (0.007, -4)], "INT16": [(2.0**-15, 0)] * 2}


def lstms(count=1, columns=6, units=5, steps=1, type="INT8", weights=0.03, **options):
    """Return LSTMs in a row; large weights saturate terms of their sums."""
    net = Net(type)
    source = net.input((1, steps, columns), *((0.02, 3) if type == "INT8" else (3e-4, 0)), type)
    for form in _FORMS[type][:count]:
        last = form is _FORMS[type][count - 1]
        made = (net.output((1, steps, units), *form, type) if last
                else net.tensor((1, steps, units), type, *form))  # fmt: skip
        inputs = [source, *[-1] * 23]
        for gate in range(4):
            inputs[1 + gate] = net.weights((units, columns), 0, False, scale=weights)
            inputs[5 + gate] = net.weights((units, units), 0, False, scale=weights)
            inputs[12 + gate] = net.bias(units, source, inputs[1 + gate])
        inputs[18] = net.tensor((1, units), type, *form, variable=True)
        inputs[19] = net.tensor((1, units), "INT16", 2.0**-12, 0, variable=True)
        options = {"FusedActivationFunction": "TANH", **options}
        kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
        net.operator(kind, inputs, [made], "UnidirectionalSequenceLSTMOptions", **options)
        source, columns = made, units
    return net


LSTMS = {
    "lstm_one": lstms,
    "lstm_steps": partial(lstms, steps=3, CellClip=1.0),
    "lstm_two": partial(lstms, 2),
    "lstm_wide": partial(lstms, columns=16, units=40),
    "lstm_wide_s16": partial(lstms, columns=16, units=40, type="INT16"),
    "lstm_s16": partial(lstms, steps=2, type="INT16", CellClip=10.0),
}


def svdf(zero):
    """SVDF, the zero point of its state."""
    net = CASES["svdf_s8"]()
    state = next(tensor for tensor in net.tensors if tensor.get("variable"))
    state["zeros"] = np.int64([zero])
    return net


KEPT = {**LSTMS, "svdf_zero_7": partial(svdf, 7), "svdf_zero_100": partial(svdf, 100)}


def sequence(name, steps=12):
    """Inputs [T, *shape] of a file."""
    net = KEPT[name]()
    tensor = net.tensors[net.inputs[0]]
    dtype = np.dtype(tensor["type"].lower())
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    return rng.integers(ends.min, ends.max, (steps, *tensor["shape"]), dtype, endpoint=True)
