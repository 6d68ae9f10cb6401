"""Networks of one LSTM of the s8 API."""

import numpy as np

from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.graph import Graph, Node
from qemu_nn.ir.tensors import Tensor

LSTM = FUNCTIONS["arm_lstm_unidirectional_s8"]


def lstm_arrays(params):
    """Return random arrays of a call by C's names, without states."""
    made, rng = {}, np.random.default_rng(8)
    for array in LSTM.arrays:
        if not array.optional and array.name != "input":
            made[array.name] = rng.integers(-99, 99, array.shape(params)).astype(array.dtype)
    return made


def lstm_network(kept):
    """Return a network with a sequence in each sample; kept: its states persist between samples."""
    flags = dict.fromkeys(("has_cell_state", "has_hidden_state"), int(kept))
    params = {**LSTM.cases[0], "hidden_size": 6, "input_size": 5, **flags}
    arrays = lstm_arrays(params)
    states = (Tensor("cells", (6,), "int16"), Tensor("hidden", (6,), "int8")) if kept else ()
    graph = Graph(
        "lstm",
        (Tensor("x", (28, 5), "int8"),),
        (
            Node(
                LSTM,
                params,
                ("x", *(state.name for state in states)),
                Tensor("lstm", (28, 6), "int8"),
                "weights",
                "bias",
            ),
        ),
        ("lstm",),
        {"weights": LSTM.weights_of(arrays), "bias": LSTM.bias_of(arrays)},
        None,
        states,
    )
    return graph, {**params, **arrays}
