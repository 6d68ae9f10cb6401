"""Scorers of samples with one interface: a network on a device, a float network, the NPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Optional, Union

import numpy as np

from ..ir.float_graph import FloatGraph
from ..runtime.evaluate import evaluate, fix_sum_order, iterate_tensors
from ..runtime.host import Host
from ..runtime.input_checks import take_few, tell
from ..runtime.session import Session
from ..targets import Profile
from ..wuqi.numpy_net import NumpyLayers

#: Real samples [n, ...], of several inputs by name.
Samples = Union[np.ndarray, Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class DeviceScorer:
    """A quantized network, exactly as a device computes it; pickled without its plan."""

    host: Host
    profile: Profile
    variant: Optional[str] = None

    def __str__(self) -> str:
        return str(self.profile)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("host", "profile", "variant")}

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.host.outputs

    @cached_property
    def session(self) -> Session:
        """Session of the network, planned at first use, on the worker that runs it."""
        return Session(self.host.graph, self.profile, self.variant)

    @cached_property
    def _host(self) -> Host:
        return replace(self.host, preprocessing=None, before=None)  # samples come prepared

    def scores(self, x: Samples) -> dict[str, np.ndarray]:
        """Return the scores of samples by output, channels last, in memory order."""
        found = self._host.scores(self.session.run(self._host.codes(*self._arrange_samples(x))))
        if self.host.reference is not None or self.host.after is not None:
            return found
        tensors = self.host.graph.tensors
        return {name: tensors[name].to_memory(values) for name, values in found.items()}

    def look(self, x: Samples) -> None:
        """Log the use of the input formats by samples, or warn if it is unusual."""
        for gauge in self._host.gauges(*self._arrange_samples(take_few(x))):
            tell(gauge)

    def _arrange_samples(self, x: Samples) -> tuple[Samples, Optional[str]]:
        """Return samples in the user's form, and their layout; they arrive in memory order."""
        tensors = {tensor.name: tensor for tensor in self.host.graph.inputs}
        if isinstance(x, Mapping):
            return {name: tensors[name].from_memory(part) for name, part in x.items()}, None
        start = self.host.graph.input
        if self.host.reference is None and start.order:
            return start.from_memory(x), None
        return x, "NHWC" if x.ndim == 4 else None


@dataclass(frozen=True)
class FloatScorer:
    """A float network in numpy; derived: made from the integers of the network it is
    compared with.
    """

    graph: FloatGraph
    derived: bool = False

    def __str__(self) -> str:
        return "float"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self.graph.outputs

    def scores(self, x: Samples) -> dict[str, np.ndarray]:
        """Return the scores of samples by output, in the layout of the graph."""
        if not isinstance(x, Mapping):
            return evaluate(self._ordered, x)
        wanted = set(self.graph.outputs)
        return {name: value for name, value in iterate_tensors(self._ordered, x) if name in wanted}

    def __getstate__(self) -> dict[str, Any]:
        return {"graph": self.graph, "derived": self.derived}

    @cached_property
    def _ordered(self) -> FloatGraph:
        """The network with sums that do not depend on threads of BLAS."""
        return fix_sum_order(self.graph)


@dataclass(frozen=True)
class ChipScorer:
    """Layers of the NPU's kit, fixed or float."""

    net: NumpyLayers

    def __str__(self) -> str:
        return "float" if self.net.session is None else "NPU"

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        graph = self.net.graph if self.net.session is None else self.net.session.graph
        assert graph is not None  # layers have one of them
        return graph.outputs

    def scores(self, x: Samples) -> dict[str, np.ndarray]:
        """Return the scores of samples by output, channels first."""
        found = self.net.predict(x, "NCHW")
        return found if isinstance(found, dict) else {self.outputs[0]: found}


Scorer = Union[DeviceScorer, FloatScorer, ChipScorer]
