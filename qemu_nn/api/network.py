"""Networks that run, float and quantized: from files, to files, and what they are at a glance."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Optional, Union

import numpy as np

from ..errors import Error, ModelError
from ..importers import FLOAT_FORMATS, QUANTIZED_FORMATS, load_float, load_integers
from ..io.arguments import as_path, as_text, shown
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..kernels.devices import profile_for
from ..runtime.evaluate import evaluate
from ..runtime.session import Session
from ..targets import DEFAULT_CORE, Profile
from .qnz import load_package, save_package

if TYPE_CHECKING:
    from ..analysis.glance import Glance


@dataclass(frozen=True)
class Network:
    """A quantized network, ready to be planned for a device.

    reference: the float network it was quantized from, channels last, whose tensors have the names
    of the layers that compute them; None if it did not come from one. notes: what had to give
    way when it was quantized.
    """

    graph: Graph
    reference: Optional[FloatGraph] = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise Error(_no_graph("Network", self.graph))

    def __repr__(self) -> str:
        return glance(self).text()

    def _repr_html_(self) -> str:
        return glance(self).html()

    def session(
        self,
        target: str = DEFAULT_CORE,
        cmsis: Optional[str] = None,
        rounding: Optional[str] = None,
        variant: Optional[str] = None,
        threads: int = 1,
    ) -> Session:
        """Plan the network for a core ("cortex-m4"), a CMSIS release and a rounding; see profile().

        variant: the row of the kernel table to run wherever a layer has one of that name;
        threads: samples computed at a time. Raises Error with the choices for unknown names, and
        the layer's constraint where the device could not run it.
        """
        return Session(self.graph, self.profile(target, cmsis, rounding), variant, threads)

    def profile(
        self,
        target: str = DEFAULT_CORE,
        cmsis: Optional[str] = None,
        rounding: Optional[str] = None,
    ) -> Profile:
        """A device's profile; cmsis: by default the newest release with the network's functions,
        rounding: by default as Arm ships that one ("nearest", "double").
        """
        return profile_for(self.graph.ops, target, cmsis, rounding)

    def save(self, path: Union[str, Path]) -> None:
        """Write the network, with its reference, as the project's own single file (.qnz)."""
        save_package(self.graph, path, self.reference)


@dataclass(frozen=True)
class FloatNetwork:
    """A float network, as a file of its framework holds it."""

    graph: FloatGraph

    def __post_init__(self) -> None:
        if not isinstance(self.graph, FloatGraph):
            raise Error(_no_graph("FloatNetwork", self.graph))

    def __repr__(self) -> str:
        return glance(self).text()

    def _repr_html_(self) -> str:
        return glance(self).html()

    def evaluate(self, x: np.ndarray, trace: bool = False) -> dict[str, np.ndarray]:
        """Float arrays by the source file's own tensor names: the outputs, or all if traced.

        x: [N, *shape], in the file's own layout. Raises Error for another shape and for NaN.
        """
        return evaluate(self.graph, x, trace)

    def session(self, *_: object, **__: object) -> NoReturn:
        """Raises Error: only a quantized network runs on a device."""
        raise Error(f"{self.graph.name} is a float network; quantize it first to run it")

    def save(self, path: Union[str, Path]) -> None:
        """Write the network as the project's own single file (.qnz)."""
        save_package(None, path, self.graph)


def glance(network: Union[Network, FloatNetwork]) -> Glance:
    """What a network is, in a few lines and as a table."""
    from ..analysis.glance import of_calls, of_operators

    if isinstance(network, FloatNetwork):
        return of_operators(network.graph)
    return of_calls(network.graph, network.reference is not None, len(network.notes))


def load(
    path: Union[str, Path],
    *,
    input: Optional[str] = None,
    output: Optional[str] = None,
    weights: Union[str, Path, None] = None,
) -> Union[Network, FloatNetwork]:
    """A network from a file.

    Quantized: .qnz, .tflite, or network.json (or its folder) as firmware is described. Float:
    .onnx, .h5, .hdf5, .keras, .pb, and .prototxt with `weights` beside it; input, output: tensors
    of the file between which the network is cut out. Raises ModelError with a sentence for
    anything else.
    """
    path = as_path(path, "a model")
    as_text(input, "input")
    as_text(output, "output")
    beside = None if weights is None else as_path(weights, "weights")
    if path.is_dir():
        path = path / "network.json"
    if not path.exists():
        raise ModelError(f"there is no file {path}")
    if path.suffix.lower() in FLOAT_FORMATS:
        return FloatNetwork(load_float(path, input, output, beside))
    if input or output or beside:
        raise Error(f"{path} is a whole network: input, output and weights are for float models")
    if path.suffix.lower() in QUANTIZED_FORMATS:
        return Network(load_integers(path))
    if path.suffix == ".qnz":
        found = load_package(path)
        if found.graph is None:
            assert found.reference is not None  # a file holds one of them
            return FloatNetwork(found.reference)
        return Network(found.graph, found.reference)
    if path.suffix == ".json":
        from ..importers import device

        return Network(device.load(path))
    have = ", ".join([".qnz", "network.json", *QUANTIZED_FORMATS, *FLOAT_FORMATS])
    raise ModelError(f"{path} is not a model this version reads; have: {have}")


def load_quantized(path: Union[str, Path]) -> Network:
    """A quantized network from a file, as load() reads it; Error for a float one."""
    return quantized(as_path(path, "a model"))


def quantized(network: Union[Network, str, Path]) -> Network:
    """A quantized network that a caller gives, as such or as a file; Error for anything else."""
    known = _known(network)
    if not isinstance(known, Network):
        raise Error(f"{_name(network)} is a float network; quantize it first")
    return known


def unquantized(network: Union[FloatNetwork, str, Path]) -> FloatNetwork:
    """The same for a float network."""
    known = _known(network)
    if not isinstance(known, FloatNetwork):
        raise Error(f"{_name(network)} is quantized already; give the float network it came from")
    return known


def _known(network: object) -> Union[Network, FloatNetwork]:
    if isinstance(network, (Network, FloatNetwork)):
        return network
    if isinstance(network, (str, os.PathLike)):
        return load(as_path(network, "a model"))
    raise Error(f"a network is what load() returns or the path of a file, not {shown(network)}")


def _name(network: object) -> str:
    return network.graph.name if isinstance(network, (Network, FloatNetwork)) else str(network)


def _no_graph(noun: str, given: object) -> str:
    return f"{noun}() holds a graph, not what is {shown(given)}; load() reads files"
