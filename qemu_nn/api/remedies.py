"""Measures on a part of the data what the remedies of faults gain, and writes the advice."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Optional, Union

import numpy as np

from ..analysis.errors import Tally
from ..analysis.faults import GOOD, Fault, Gain, Remedy, spell_advice
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
    quantize() for such a network. labels: classes of the samples, if known.
    """

    network: Network
    reference: FloatGraph
    target: Union[str, Target]
    scheme: Mapping[str, Any]
    x: np.ndarray
    labels: Optional[np.ndarray] = None

    def measure(
        self, network: Network, target: Any, x: np.ndarray
    ) -> tuple[float, Optional[float]]:
        """Return the signal-to-noise ratio of the outputs in decibels, and the share of correct
        classes of the odd samples.
        """
        graph = network.graph
        real = dict(iterate_tensors(network.reference or self.reference, x))
        codes = graph.input.format.quantize(real[graph.input.name])
        session = Session(graph, network.profile(target))
        got = session.run(codes.reshape(-1, *graph.input.shape))
        tally = Tally()
        for name in graph.outputs:
            tally.add(real[name], graph.tensors[name].format.dequantize(got[name]))
        if self.labels is None:
            return tally.errors().sqnr, None
        scores = got[graph.outputs[-1]].reshape(len(x), -1)
        return tally.errors().sqnr, float(np.mean(scores.argmax(1) == self.labels[1::2]))

    @cached_property
    def now(self) -> tuple[float, Optional[float]]:
        """The figures of the network as it is."""
        return self.measure(self.network, self.target, self.x[1::2])

    def try_remedy(self, remedy: Remedy) -> Optional[Gain]:
        """Return the gain of a remedy; None if it cannot be measured."""
        try:
            if remedy.fix is not None:
                after, right = self.measure(self.network, self.target, remedy.fix(self.x[1::2]))
            elif remedy.how is not None:
                after, right = self._try_again(remedy.how)
            else:
                return None
            before, first = self.now
        except Error:
            return None
        return Gain(before, after, None if first is None or right is None else (first, right))

    def _try_again(self, how: Mapping[str, Any]) -> tuple[float, Optional[float]]:
        """Return the figures of a network that is quantized in another way."""
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
    advice = []
    for fault in faults:
        gains = {}
        if trial is not None and len(trial.x) >= _FEW and fault.remedies:
            if trial.now[0] >= GOOD and not fault.certain:
                continue
            found = {each: trial.try_remedy(each) for each in fault.remedies}
            gains = {each: gain for each, gain in found.items() if gain is not None}
        advice.append(spell_advice(fault, gains))
    return tuple(line for line in advice if line is not None)
