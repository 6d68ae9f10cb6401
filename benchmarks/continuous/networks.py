"""Times of networks at two commits on one machine, by asv: .github/workflows/speed.yml."""

from __future__ import annotations

from qemu_nn.bench.networks import NETWORKS
from qemu_nn.bench.s8_networks import S8_NETWORKS
from qemu_nn.kernels.devices import profile_for
from qemu_nn.runtime.session import Session, draw_inputs

_BUILDERS = {**NETWORKS, **S8_NETWORKS}


class Networks:
    """One inference from Python, on one thread."""

    param_names = ("network",)
    params = (
        *("cifar10", "cifar10_q15", "lenet5", "kws_dscnn", "empty"),
        *("resnet8_s8", "kws_dscnn_s8", "vww_s8", "ad_s8"),
    )

    def setup(self, network: str) -> None:
        """Plan it."""
        graph = _BUILDERS[network]()
        self._session = Session(graph, profile_for(graph.ops))
        self._x = draw_inputs(graph, 1)

    def time_one_sample(self, network: str) -> None:
        """Run it."""
        self._session.run(self._x)


class Loading:
    """The work before the first inference."""

    def setup(self) -> None:
        """Build the network."""
        self._graph = _BUILDERS["kws_dscnn_s8"]()

    def time_plan(self) -> None:
        """Choose rows, and pack weights."""
        Session(self._graph, profile_for(self._graph.ops))
