"""Networks of published geometry with random weights of our own."""

from __future__ import annotations

import numpy as np

from qemu_nn.graph import Graph, Node, Tensor
from qemu_nn.layers import FUNCTIONS


class _Builder:
    """Appends one call after the other, each reading what the last one made."""

    def __init__(self, name: str, shape: tuple[int, ...], seed: int = 1) -> None:
        self._rng = np.random.default_rng(seed)
        self._name = name
        self._input = Tensor("input", shape, "int8")
        self._nodes: list[Node] = []
        self._arrays: dict[str, np.ndarray] = {}

    def call(self, name: str, function: str, **params: int) -> None:
        declared = FUNCTIONS[function]
        last = self._nodes[-1].name if self._nodes else self._input.name
        own = {}
        for role, array in (("weights", declared.weights), ("bias", declared.bias)):
            if array is not None:
                own[role] = f"{name}_{role}"
                limits = np.iinfo(array.dtype)
                values = self._rng.integers(limits.min, limits.max, array.shape(params))
                self._arrays[own[role]] = values.astype(array.dtype)
        output = Tensor(name, declared.output.shape(params), declared.output.dtype)
        self._nodes.append(Node(declared, params, (last,), output, **own))

    def graph(self) -> Graph:
        nodes = tuple(self._nodes)
        return Graph(self._name, self._input, nodes, (nodes[-1].name,), self._arrays)


def cifar10() -> Graph:
    """The CIFAR-10 example of CMSIS-NN: three convolutions 5x5, 6.56 million MACs."""
    network = _Builder("cifar10", (32, 32, 3))
    channels, dim = 3, 32
    for index, (out, bias_shift, out_shift) in enumerate(((32, 6, 9), (16, 4, 9), (32, 1, 7)), 1):
        kind = "RGB" if channels == 3 else "fast"
        network.call(
            f"conv{index}",
            f"arm_convolve_HWC_q7_{kind}",
            dim_im_in=dim,
            ch_im_in=channels,
            ch_im_out=out,
            dim_kernel=5,
            padding=2,
            stride=1,
            bias_shift=bias_shift,
            out_shift=out_shift,
            dim_im_out=dim,
        )
        channels = out
        network.call(f"relu{index}", "arm_relu_q7", size=dim * dim * channels)
        network.call(
            f"pool{index}",
            "arm_maxpool_q7_HWC",
            dim_im_in=dim,
            ch_im_in=channels,
            dim_kernel=3,
            padding=0,
            stride=2,
            dim_im_out=dim // 2,
        )
        dim //= 2
    network.call(
        "ip1",
        "arm_fully_connected_q7_opt",
        dim_vec=dim * dim * channels,
        num_of_rows=10,
        bias_shift=1,
        out_shift=8,
    )
    network.call("softmax", "arm_softmax_q7", dim_vec=10)
    return network.graph()
