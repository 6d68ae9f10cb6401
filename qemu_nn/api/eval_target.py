"""The network of an evaluation: its scorers, its references, and its data."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional, Union

from ..errors import Error
from ..evaluation.batches import Stream
from ..evaluation.class_numbers import count_classes
from ..evaluation.scorers import ChipScorer, DeviceScorer, FloatScorer, Scorer
from ..io.arguments import as_path, format_value
from ..ir.float_graph import FloatGraph
from ..ir.formats import Format
from ..lowering.dequantize import dequantize_graph
from ..lowering.infer_formats import infer_formats
from ..optimize import optimize
from ..runtime.session import make_other_profiles
from ..runtime.unbounded_s8 import is_affine
from ..targets import KERNELS, Profile, Target
from ..wuqi.numpy_net import NumpyLayers
from .data import Batches, Dataset, batches, coded_batches, float_batches, real_batches
from .framework_objects import is_model
from .network import FloatNetwork, Network, load

Shape = tuple[int, ...]
#: Types that evaluate() accepts as a network.
Given = Union[Network, FloatNetwork, NumpyLayers, str, Path]


@dataclass(frozen=True)
class Subject:
    """A network that is evaluated.

    shape, layout: of one sample; own: the format of integers in the data; network: knows both
    better. classes: names, if the file has them. others: what scores samples in other profiles.
    """

    name: str
    scorer: Scorer
    shape: Shape
    layout: Optional[str]
    own: Optional[Format] = None
    classes: tuple[str, ...] = ()
    reference: Optional[Scorer] = None
    others: tuple[DeviceScorer, ...] = ()
    network: Optional[Network] = None

    @property
    def recurrent(self) -> bool:
        """True if a sample is a sequence."""
        return isinstance(self.scorer, DeviceScorer) and bool(self.scorer.host.graph.states)

    @property
    def sample_bytes(self) -> int:
        """Bytes of one sample as floats; of a sequence, of one time step."""
        if isinstance(self.scorer, DeviceScorer):
            return 4 * sum(math.prod(t.shape) for t in self.scorer.host.graph.inputs)
        if isinstance(self.scorer, FloatScorer):
            return 4 * sum(map(math.prod, self.scorer.graph.starts.values()))
        return 4 * math.prod(self.shape)

    def _count(self, kind: Optional[str], output: Optional[str]) -> Optional[int]:
        """Return how many classes an output scores; None where that is not known."""
        if kind not in (None, "classifier") or self.recurrent:
            return None
        if self.network is not None:
            graph = self.network.graph
            shapes = {name: graph.tensors[name].shape for name in graph.outputs}
        elif isinstance(self.scorer, FloatScorer):
            shapes = {name: self.scorer.graph.shapes[name] for name in self.scorer.outputs}
        else:
            return None
        if len(shapes) > 1:
            return count_classes(shapes[output]) if output in shapes else None
        return count_classes(next(iter(shapes.values())))

    def takes_codes(self, kind: Optional[str]) -> bool:
        """True if the scorers need samples as integers alone: there is no float reference, and no
        output can be the reconstruction of an input.
        """
        if self.network is None or self.reference is not None or self.recurrent:
            return False
        graph = self.network.graph
        most = math.prod(graph.input.shape)
        sizes = {math.prod(graph.tensors[name].shape) for name in graph.outputs}
        return kind != "autoencoder" and len(graph.inputs) == 1 and most not in sizes

    def batches(self, data: Dataset, kind: Optional[str], output: Optional[str]) -> Batches:
        """Return the samples of data, as the scorers take them; kind, output: what is scored."""
        count = self._count(kind, output)
        if self.network is not None and self.takes_codes(kind):
            return coded_batches(self.network.host, data, any_labels=True, count=count)
        if self.network is not None:
            found = real_batches(self.network, data, any_labels=True, count=count)
            if self.recurrent and not isinstance(found, Stream):
                self._check_sequences(found)
            return found
        if isinstance(self.scorer, FloatScorer) and self.own is None:
            return float_batches(self.scorer.graph, data, any_labels=True, count=count)
        return batches(
            data,
            self.shape,
            self.layout,
            own=self.own,
            any_labels=True,
            known=self.classes,
            count=count,
        )

    def _check_sequences(self, found: Batches) -> None:
        """Refuse what is one sequence, whose steps would be taken for samples."""
        for source in found.blocks(1).samples.sources.values():
            if len(source.whole) < 3:
                raise Error(
                    f"the network is recurrent and takes sequences [N, T, ...], of one sequence "
                    f"[1, T, ...], but the data have the shape {list(source.whole)}"
                )


def subject_of(
    network: Given,
    target: Union[str, Target],
    variant: Optional[str],
    reference: Any,
    profiles: Union[str, Sequence[Any]],
) -> Subject:
    """Return a network and what it is compared with.

    target: the device. reference: whether to compare with the float reference, or with which.
    profiles: names of targets, profiles, or "all".
    """
    if isinstance(network, (str, os.PathLike)) or is_model(network):
        network = load(network)
    if not isinstance(network, Network) and (profiles or variant):
        raise Error("profiles and variant need a network that runs on a Cortex-M: leave them out")
    if isinstance(network, Network):
        return _quantized(network, target, variant, reference, profiles)
    if isinstance(network, FloatNetwork):
        graph = network.graph
        other: Optional[Scorer] = _given(reference, graph.layout)
        return Subject(
            graph.name, FloatScorer(graph), graph.shape, graph.layout, None, graph.classes, other
        )
    if isinstance(network, NumpyLayers):
        chip = ChipScorer(network)
        other = (
            ChipScorer(reference)
            if isinstance(reference, NumpyLayers)
            else _given(reference, "NCHW")
        )
        if network.session is None:
            assert network.graph is not None  # layers have one of them
            return Subject("ndk", chip, network.graph.shape, "NCHW", reference=other)
        start = network.session.graph.input
        shape = (start.shape[-1], *start.shape[:-1])
        return Subject("ndk", chip, shape, "NCHW", start.format, reference=other)
    raise Error(
        f"the network is {format_value(network)}, but must be the result of load() or a path"
    )


def _quantized(
    network: Network,
    target: Union[str, Target],
    variant: Optional[str],
    reference: Any,
    profiles: Union[str, Sequence[Any]],
) -> Subject:
    if network.reference is None and is_affine(network.graph):
        with suppress(Error):  # where some format has to stay unknown
            network = replace(network, graph=infer_formats(network.graph))
    graph, host = network.graph, network.host
    wanted = network.profile(target)
    others = tuple(DeviceScorer(host, other) for other in _profiles(network, wanted, profiles))
    compared = _given(reference, "NHWC") or (reference is True and _own_reference(network)) or None
    return Subject(
        graph.name,
        DeviceScorer(host, wanted, variant),
        *host.start,
        classes=graph.classes,
        reference=compared,
        others=others,
        network=network,
    )


def _own_reference(network: Network) -> Optional[FloatScorer]:
    """Return the float network that a network came from, or that its integers stand for."""
    if network.reference is not None:
        return FloatScorer(network.reference)
    if network.after is not None:  # whose scores are not the integers' own
        return None
    try:
        return (
            FloatScorer(dequantize_graph(network.graph), True) if is_affine(network.graph) else None
        )
    except Error:  # a call without a float meaning
        return None


def _given(reference: Any, layout: Optional[str]) -> Optional[FloatScorer]:
    """Return a float network that a caller compares with, in the layout of the samples."""
    if isinstance(reference, bool):
        return None
    if isinstance(reference, (str, os.PathLike)):
        reference = load(as_path(reference, "reference"))
    if not isinstance(reference, FloatNetwork):
        raise Error(
            f"reference is {format_value(reference)}, but must be a float network or its file"
        )
    graph: FloatGraph = reference.graph
    if graph.layout == layout or graph.layout is None:
        return FloatScorer(graph)
    if layout != "NHWC":
        raise Error(
            f"the reference reads images as {graph.layout}, but the network as {layout}: both "
            "must be equal"
        )
    return FloatScorer(optimize(graph)[0])


def _profiles(network: Network, wanted: Profile, names: Union[str, Sequence[Any]]) -> list[Profile]:
    """Return the profiles that a caller names, without the wanted one and without repetitions."""
    if names == "all":
        return list(make_other_profiles(network.graph, wanted))
    listed = names.split(",") if isinstance(names, str) else names
    build = {"kernels": KERNELS[0] if wanted.esp_nn else wanted.kernels, "tflm": wanted.tflm}
    named = (Target(name, **build) if isinstance(name, str) else name for name in listed if name)
    found = [network.profile(name) for name in named]
    return [profile for profile in dict.fromkeys(found) if profile != wanted]
