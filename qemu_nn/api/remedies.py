"""Measures on a part of the data what the remedies of faults gain, and writes the advice."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Optional, Union

import numpy as np

from ..analysis.errors import Tally
from ..analysis.faults import GOOD, Fault, Remedy, spell_advice
from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..runtime.evaluate import iterate_tensors
from ..runtime.session import Session
from ..targets import Target
from .data import Dataset
from .network import FloatNetwork, Network
from .quantize import quantize

#: The least number of samples that measure remedies.
_FEW = 8

#: Minutes that the steps of a remedy may take.
_MINUTES = 1.0


@dataclass(frozen=True)
class RemedyTrial:
    """A quantized network and real inputs of its float network, which measure remedies.

    Even samples calibrate the networks that remedies make, odd ones judge. scheme: arguments of
    quantize() for such a network.
    """

    network: Network
    reference: FloatGraph
    target: Union[str, Target]
    scheme: Mapping[str, Any]
    x: np.ndarray

    def measure(self, network: Network, target: Any, x: np.ndarray) -> float:
        """Return the signal-to-noise ratio of the outputs in decibels."""
        graph = network.graph
        real = dict(iterate_tensors(network.reference or self.reference, x))
        codes = graph.input.format.quantize(real[graph.input.name])
        session = Session(graph, network.profile(target))
        got = session.run(codes.reshape(-1, *graph.input.shape))
        tally = Tally()
        for name in graph.outputs:
            tally.add(real[name], graph.tensors[name].format.dequantize(got[name]))
        return tally.errors().sqnr

    @cached_property
    def now(self) -> float:
        """The ratio of the network as it is."""
        return self.measure(self.network, self.target, self.x[1::2])

    def try_remedy(self, remedy: Remedy) -> Optional[float]:
        """Return the ratio with a remedy; None if it cannot be measured."""
        try:
            if remedy.fix is not None:
                return self.measure(self.network, self.target, remedy.fix(self.x[1::2]))
            if remedy.how is not None:
                return self._try_again(remedy.how)
        except Error:
            pass
        return None

    def _try_again(self, how: Mapping[str, Any]) -> float:
        """Return the ratio of a network that is quantized in another way."""
        target = None if "scheme" in how else self.target  # that may lack the functions
        if "steps" in how.get("effort", ()):
            how = {**how, "effort": {**how["effort"], "minutes": _MINUTES}}
        data = Dataset(self.x[::2], layout=self.reference.layout)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = quantize(
                FloatNetwork(self.reference), data, target=target, **{**self.scheme, **how}
            )
        return self.measure(
            made, self.network.profile(self.target) if target else "m4", self.x[1::2]
        )


def write_advice(faults: Iterable[Fault], trial: Optional[RemedyTrial]) -> tuple[str, ...]:
    """Return the sentences of faults, with what their remedies gain, as far as a trial measures
    it.
    """
    measures = trial is not None and len(trial.x) >= _FEW
    advice = []
    for fault in faults:
        measured, now = {}, 0.0
        if trial is not None and measures and fault.remedies:
            now = trial.now
            if now >= GOOD and not fault.certain:
                continue
            found = {each: trial.try_remedy(each) for each in fault.remedies}
            measured = {each: ratio for each, ratio in found.items() if ratio is not None}
        advice.append(spell_advice(fault, now, measured))
    return tuple(line for line in advice if line is not None)
