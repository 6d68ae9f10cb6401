"""Execution of networks, in floats or as the NPU does, and reading of weights as floats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..runtime.evaluate import iterate_tensors
from ..runtime.host import name_results
from ..runtime.samples import convert_to_numbers, expect_finite, shape_samples
from ..runtime.session import Session
from ..targets import NPU
from .as_fixed import make_fixed_graph
from .as_float import float_graph
from .integers import check_width
from .kit_arguments import check_arguments
from .layers import Layer, get_tensor_name_list
from .lowering import get_fraction
from .quant_layers import QuantLayer, quant_layer

Params = Mapping[str, Any]
Named = tuple[str, np.ndarray]

#: Elements, of all tensors together, that are computed at a time.
_BLOCK = 2**18


@dataclass(frozen=True)
class Built:
    """The arguments that a network was built with, and networks of other options.

    Attributes
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to object
        Its parameters.
    options : tuple of bool and int
        quant, bitwidth, hw_aligned, quant_weight_only and quant_feature_only.
    networks : dict of tuple to NumpyLayers
        Networks by their options, each built once.
    """

    layer_list: Sequence[Layer]
    param_dict: Params
    options: tuple[Any, ...]
    networks: dict[tuple[Any, ...], NumpyLayers] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class NumpyLayers(Sequence[QuantLayer]):
    """A network that is built once and run often; also the sequence of its layers.

    build_numpy_layers() returns it, and run_layers() accepts it.

    Attributes
    ----------
    session : Session or None
        The chip's network; None where features stay float.
    graph : ir.float_graph.FloatGraph or None
        The float network; None where the chip's is run.
    fracs : mapping of str to int
        Feature tensor -> its fraction bits.
    bitwidth : int
        8 or 16.
    on_grid : bool
        Whether features of the float network are rounded into their formats.
    unsigned : tuple of str
        The tensors without a sign.
    layers : tuple of QuantLayer
        The layers with their parameters.
    """

    session: Optional[Session]
    graph: Optional[FloatGraph]
    fracs: Mapping[str, int]
    bitwidth: int
    on_grid: bool = False
    unsigned: tuple[str, ...] = ()
    layers: tuple[QuantLayer, ...] = ()

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: Any) -> Any:
        return self.layers[index]

    def predict(
        self, x: Any, layout: Optional[str] = None
    ) -> Union[np.ndarray, dict[str, np.ndarray]]:
        """Return float scores of float inputs as Network.predict(), by the chip's arithmetic.

        Parameters
        ----------
        x : array_like, shape (N, C, H, W) or (N, H, W, C), or a single sample
            Floats, which are rounded down into the input's format, or its own integers.
        layout : {"NHWC", "NCHW"}, optional
            The layout of images; default: "NCHW", or the one that the shape tells.

        Returns
        -------
        ndarray of float64, shape (N, C, H, W), or dict of str to ndarray
            The scores; of several outputs by their names. Without the axis N where x is a single
            sample.

        Raises
        ------
        Error
            The numbers do not fit the network.
        """
        array = convert_to_numbers(x, "the input")
        if self.session is None:
            assert self.graph is not None  # a network has a single one
            shape, names = self.graph.shape, self.graph.outputs
        else:
            start, names = self.session.graph.input, self.session.graph.outputs
            shape = (start.shape[-1], *start.shape[:-1])
            if array.dtype == start.dtype:
                array = start.format.dequantize(array)
        real, single = shape_samples(array, "the input", shape, "NCHW", layout, "NCHW")
        expect_finite(real, "the input")
        return name_results(_run_in_blocks(self, real, names), single)


@check_arguments
def build_numpy_layers(
    layer_list: Sequence[Layer],
    param_dict: Params,
    quant: bool = True,
    bitwidth: int = 8,
    hw_aligned: bool = False,
    quant_weight_only: bool = False,
    quant_feature_only: bool = False,
) -> NumpyLayers:
    """Build a network for run_layers().

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to object
        Its parameters, float or fixed-point.
    quant : bool, default True
        Compute as the chip does, bit for bit; else in floats.
    bitwidth : {8, 16}, default 8
        The width of weights and features.
    hw_aligned : bool, default False
        Divide averages next to padding as the hardware does.
    quant_weight_only : bool, default False
        With quant, round weights only; features stay float.
    quant_feature_only : bool, default False
        With quant, round features down into their formats only; weights stay float.

    Returns
    -------
    NumpyLayers
        The network, as run_layers() takes it for numpy_layers.

    Raises
    ------
    ModelError
        A parameter is missing or does not fit; the sentence names the layer.
    Error
        Both quant_weight_only and quant_feature_only are given, or the bit width is wrong.

    References
    ----------
    The kit's manual, chapter 4.6.6.
    """
    bitwidth = check_width("bitwidth", bitwidth)
    if quant and quant_weight_only and quant_feature_only:
        raise Error("quant_weight_only and quant_feature_only are given: leave one out")
    integer_weights = quant and not quant_feature_only
    options = (quant, bitwidth, hw_aligned, quant_weight_only, quant_feature_only)
    built = Built(layer_list, param_dict, options)
    layers = tuple(
        replace(quant_layer(layer, param_dict, integer_weights), built=built)
        for layer in layer_list
    )
    fracs = {
        k[: -len("_frac")]: get_fraction(k, v) for k, v in param_dict.items() if k.endswith("_frac")
    }
    if quant and not (quant_weight_only or quant_feature_only):
        graph = make_fixed_graph(layer_list, param_dict, bitwidth, hw_aligned)
        return NumpyLayers(Session(graph, NPU), None, fracs, bitwidth, layers=layers)
    values = dict(param_dict)
    if quant and quant_weight_only:
        features = get_tensor_name_list(layer_list, feature_only=True)
        names = get_tensor_name_list(layer_list)[len(features) :]
        values.update(read_weights(names, param_dict, True))
    on_grid = quant and quant_feature_only
    unsigned = tuple(
        key[: -len("_signed")] for key, s in param_dict.items() if key.endswith("_signed") and not s
    )
    real = float_graph(layer_list, values)
    return NumpyLayers(None, real, fracs, bitwidth, on_grid, unsigned, layers)


def _set_options(network: Any, options: Mapping[str, Any]) -> NumpyLayers:
    """Return a network of build_numpy_layers() with the options that are not None.

    network: the result, or a list of its layers. quant and bitwidth must be those that it was built
    with; other options build it once more.
    """
    built = _find_built(network)
    wanted = []
    for (name, new), old in zip(options.items(), built.options):
        if new not in (None, old) and name in ("quant", "bitwidth"):
            raise Error(
                f"numpy_layers was built with {name}={old}, not {name}={new}: give the same, or "
                "build it again"
            )
        wanted.append(old if new is None else new)
    key = tuple(wanted)
    if isinstance(network, NumpyLayers) and key == built.options:
        return network
    if key not in built.networks:
        built.networks[key] = build_numpy_layers(built.layer_list, built.param_dict, *key)
    return built.networks[key]


def _find_built(network: Any) -> Built:
    """Return how a network was built, from the network or a list of all its layers in order."""
    if isinstance(network, Sequence) and network and isinstance(network[0], QuantLayer):
        built = network[0].built
        if isinstance(built, Built) and [own.name for own in network] == [
            layer.name for layer in built.layer_list
        ]:
            return built
    raise Error(
        "numpy_layers are not those of build_numpy_layers(): give all of them, in their order"
    )


@check_arguments
def run_layers(
    input_data_batch: np.ndarray,
    layer_list: Sequence[Layer],
    target_feature_tensor_list: Sequence[str],
    param_dict: Optional[Params] = None,
    quant: Optional[bool] = None,
    bitwidth: Optional[int] = None,
    hw_aligned: Optional[bool] = None,
    numpy_layers: Optional[Sequence[QuantLayer]] = None,
    log_on: bool = False,
    use_ai_framework: bool = True,
    quant_weight_only: Optional[bool] = None,
    quant_feature_only: Optional[bool] = None,
) -> dict[str, np.ndarray]:
    """Run a batch, and return feature tensors as floats.

    Parameters
    ----------
    input_data_batch : ndarray of floats, shape (N, C, H, W)
        The batch; in fixed point it is rounded down into the input's format first.
    layer_list : sequence of Layer
        The network.
    target_feature_tensor_list : sequence of str
        The feature tensors to return.
    param_dict : mapping of str to object, optional
        Parameters; not needed with numpy_layers.
    quant : bool, default False
        Compute as the chip does, bit for bit; else in floats. With numpy_layers, this and the width
        are those that it was built with.
    bitwidth : {8, 16}, default 8
        The width of weights and features.
    hw_aligned : bool, default False
        Divide averages next to padding as the hardware does; with numpy_layers, the default is what
        it was built with, here and below.
    numpy_layers : NumpyLayers or list of its layers, optional
        A network of build_numpy_layers(), which is not built again.
    log_on : bool, default False
        Print a line for each tensor.
    use_ai_framework : bool, default True
        Accepted for the manual's scripts; it changes nothing.
    quant_weight_only : bool, default False
        With quant, round weights only; features stay float.
    quant_feature_only : bool, default False
        With quant, round features down into their formats only; weights stay float.

    Returns
    -------
    dict of str to ndarray of float64, shape (N, C, H, W)
        The tensors, by name.

    Raises
    ------
    Error
        A tensor is unknown, the batch has another shape or contains NaN, or numpy_layers was built
        with another width or another `quant`.
    ModelError
        The network cannot be built; the sentence names the layer.

    References
    ----------
    The kit's manual, chapter 4.6.6.
    """
    known = get_tensor_name_list(layer_list, feature_only=True)
    for name in target_feature_tensor_list:
        if name not in known:
            raise Error(f"the network has no tensor {name!r}; have: {', '.join(known)}")
    options: dict[str, Any] = {
        "quant": quant,
        "bitwidth": bitwidth,
        "hw_aligned": hw_aligned,
        "quant_weight_only": quant_weight_only,
        "quant_feature_only": quant_feature_only,
    }
    if numpy_layers is not None:
        net = _set_options(numpy_layers, options)
    elif param_dict is not None:
        defaults = (False, 8, False, False, False)
        given: list[Any] = [d if v is None else v for v, d in zip(options.values(), defaults)]
        net = build_numpy_layers(layer_list, param_dict, *given)
    else:
        raise Error(
            "run_layers() has neither param_dict nor numpy_layers: give one, the latter from "
            "build_numpy_layers()"
        )
    x = np.asarray(input_data_batch)
    if x.ndim != 4 or x.dtype.kind not in "fiub":
        raise Error(f"a batch is {x.dtype} {list(x.shape)}, but must be numbers [N, C, H, W]")
    dim = ", ".join(map(str, layer_list[0].attributes()["dim"][1:]))
    if ", ".join(map(str, x.shape[1:])) != dim:
        raise Error(f"the batch has the shape {list(x.shape)}, but the network takes [N, {dim}]")
    if np.isnan(x).any():
        raise Error("the batch contains NaN, which no integer represents: remove or replace it")
    results = _run_in_blocks(net, x, target_feature_tensor_list)
    if log_on:
        for name, values in results.items():
            print(f"{name}: {list(values.shape)}, {values.min():.6g} .. {values.max():.6g}")
    return results


def _run_in_blocks(net: NumpyLayers, x: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return tensors of a batch, some samples at a time."""
    compute = _real if net.session is None else _chip
    count = max(1, _BLOCK // sum(map(math.prod, _shapes(net))))
    results: dict[str, np.ndarray] = {}
    for first in range(0, max(len(x), 1), count):
        for name, values in compute(net, x[first : first + count], set(names)):
            if name not in results:
                results[name] = np.empty((len(x), *values.shape[1:]))
            results[name][first : first + count] = values
    return {name: results[name] for name in names}


def _shapes(net: NumpyLayers) -> Iterable[tuple[int, ...]]:
    """Return all tensors of a sample."""
    if net.graph is not None:
        return net.graph.shapes.values()
    assert net.session is not None
    graph = net.session.graph
    return (graph.input.shape, *(node.output.shape for node in graph.nodes))


def _chip(net: NumpyLayers, x: np.ndarray, names: set[str]) -> Iterator[Named]:
    """Yield tensors as the chip computes them."""
    assert net.session is not None
    start = net.session.graph.input
    limits = np.iinfo(start.dtype)
    grid = np.floor(np.multiply(np.moveaxis(x, 1, -1), 2.0 ** (start.frac or 0), dtype=np.float64))
    integers = np.ascontiguousarray(np.clip(grid, limits.min, limits.max), start.dtype)
    inner = names - {start.name, *net.session.graph.outputs}
    results = {start.name: integers, **net.session.run(integers, trace=bool(inner))}
    for name in names:
        step = 2.0 ** -net.fracs.get(name, 0)
        yield name, np.multiply(np.moveaxis(results[name], -1, 1), step, dtype=np.float64)


def _real(net: NumpyLayers, x: np.ndarray, names: set[str]) -> Iterator[Named]:
    """Yield tensors in float64; on the grid, each is rounded down into its format."""
    assert net.graph is not None
    left = set(names)
    for name, values in iterate_tensors(
        net.graph, x.astype(np.float64), partial(_grid, net) if net.on_grid else None
    ):
        if name in left:
            left.remove(name)
            yield name, values
        if not left:
            return


def _grid(net: NumpyLayers, name: str, values: np.ndarray) -> np.ndarray:
    """Return values rounded down into the format of a tensor, if it has one."""
    if name not in net.fracs:
        return values
    least = 0 if name in net.unsigned else -(2 ** (net.bitwidth - 1))
    grid = np.floor(np.ldexp(values, net.fracs[name]))
    grid = np.clip(grid, least, least + 2**net.bitwidth - 1)
    result: np.ndarray = np.ldexp(grid, -net.fracs[name])
    return result


@check_arguments
def get_layer_weight_bias(
    target_tensor_list: Sequence[str], param_dict: Params, quant: bool = False, bitwidth: int = 8
) -> Union[np.ndarray, dict[str, np.ndarray]]:
    """Read weights and biases as floats.

    Parameters
    ----------
    target_tensor_list : sequence of str
        Names LAYER_weight and LAYER_bias.
    param_dict : mapping of str to object
        Parameters.
    quant : bool, default False
        Read the fixed-point parameters; else the float ones.
    bitwidth : {8, 16}, default 8
        The width of the fixed-point parameters.

    Returns
    -------
    ndarray of float, or dict of str to ndarray of float
        The values of one parameter, in its shape; of several by their names.

    Raises
    ------
    Error
        A parameter is missing, or is not finite.

    References
    ----------
    The kit's manual, chapter 4.6.5.
    """
    check_width("bitwidth", bitwidth)
    arrays = read_weights(target_tensor_list, param_dict, quant)
    return next(iter(arrays.values())) if len(arrays) == 1 else arrays


def read_weights(names: Sequence[str], param_dict: Params, quant: bool) -> dict[str, np.ndarray]:
    """Return weights and biases as floats, by name; see get_layer_weight_bias()."""
    arrays = {}
    for name in names:
        layer, _, role = name.rpartition("_")
        keys = [f"{layer}_quant_{role}", f"{layer}_frac_{role}"] if quant else [name]
        if role not in ("weight", "bias") or any(key not in param_dict for key in keys):
            raise Error(f"the parameters lack {' or '.join(keys)}")
        values = np.asarray(param_dict[keys[0]])
        if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
            raise Error(f"{keys[0]} has values that are not finite; all must be")
        if quant:
            frac = np.asarray(param_dict[keys[1]]).ravel()
            if frac.dtype.kind not in "iu" or frac.size not in (1, *values.shape[:1]):
                raise Error(f"{keys[1]} must be an integer, or one for each channel of {keys[0]}")
            shape = (-1, *[1] * (values.ndim - 1)) if frac.size > 1 else ()
            values = np.ldexp(values.astype(np.float64), -frac.reshape(shape))
        arrays[name] = values
    return arrays
