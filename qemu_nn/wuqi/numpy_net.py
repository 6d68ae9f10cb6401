"""Execution of networks, in floats or as the NPU does, and reading of weights as floats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from .layers import Layer, get_tensor_name_list
from .lowering import get_fraction
from .quant_layers import QuantLayer, quant_layer

Params = Mapping[str, Any]
Named = tuple[str, np.ndarray]

#: Elements, of all tensors together, that are computed at a time.
_BLOCK = 2**18


@dataclass(frozen=True)
class NumpyLayers(Sequence[QuantLayer]):
    """A network that is built once and run often; also the sequence of its layers.

    build_numpy_layers() returns it, and run_layers() accepts it.
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
        return name_results(_in_blocks(self, real, names), single)


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
        raise Error("give quant_weight_only or quant_feature_only, not both")
    integer_weights = quant and not quant_feature_only
    layers = tuple(quant_layer(layer, param_dict, integer_weights) for layer in layer_list)
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
        values.update(get_layer_weight_bias(names, param_dict, True, bitwidth))
    on_grid = quant and quant_feature_only
    unsigned = tuple(
        key[: -len("_signed")] for key, s in param_dict.items() if key.endswith("_signed") and not s
    )
    real = float_graph(layer_list, values)
    return NumpyLayers(None, real, fracs, bitwidth, on_grid, unsigned, layers)


def run_layers(
    input_data_batch: np.ndarray,
    layer_list: Sequence[Layer],
    target_feature_tensor_list: Sequence[str],
    param_dict: Optional[Params] = None,
    quant: bool = False,
    bitwidth: int = 8,
    hw_aligned: bool = False,
    numpy_layers: Optional[NumpyLayers] = None,
    log_on: bool = False,
    use_ai_framework: bool = True,
    quant_weight_only: bool = False,
    quant_feature_only: bool = False,
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
        Compute as the chip does, bit for bit; else in floats.
    bitwidth : {8, 16}, default 8
        The width of weights and features.
    hw_aligned : bool, default False
        Divide averages next to padding as the hardware does.
    numpy_layers : NumpyLayers, optional
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
        A tensor is unknown, or the batch has another shape or contains NaN.
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
    net = numpy_layers
    if net is None:
        if param_dict is None:
            raise Error("run_layers() needs param_dict, or numpy_layers of build_numpy_layers()")
        net = build_numpy_layers(
            layer_list,
            param_dict,
            quant,
            bitwidth,
            hw_aligned,
            quant_weight_only,
            quant_feature_only,
        )
    if not isinstance(net, NumpyLayers):
        raise Error("numpy_layers must be the whole result of build_numpy_layers()")
    x = np.asarray(input_data_batch)
    if x.ndim != 4 or x.dtype.kind not in "fiub":
        raise Error(f"a batch must be real numbers [N, C, H, W], is {x.dtype} {list(x.shape)}")
    dim = ", ".join(map(str, layer_list[0].attributes()["dim"][1:]))
    if ", ".join(map(str, x.shape[1:])) != dim:
        raise Error(f"the network takes batches [N, {dim}], not {list(x.shape)}")
    if np.isnan(x).any():
        raise Error("the batch contains NaN, which no integer stands for")
    results = _in_blocks(net, x, target_feature_tensor_list)
    if log_on:
        for name, values in results.items():
            print(f"{name}: {list(values.shape)}, {values.min():.6g} .. {values.max():.6g}")
    return results


def _in_blocks(net: NumpyLayers, x: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
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


def get_layer_weight_bias(
    target_tensor_list: Sequence[str], param_dict: Params, quant: bool = False, bitwidth: int = 8
) -> dict[str, np.ndarray]:
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
    dict of str to ndarray of float
        The values, by name, in the shape of the parameter.

    Raises
    ------
    Error
        A parameter is missing, or is not finite.

    References
    ----------
    The kit's manual, chapter 4.6.5.
    """
    check_width("bitwidth", bitwidth)
    arrays = {}
    for name in target_tensor_list:
        layer, _, role = name.rpartition("_")
        keys = [f"{layer}_quant_{role}", f"{layer}_frac_{role}"] if quant else [name]
        if role not in ("weight", "bias") or any(key not in param_dict for key in keys):
            raise Error(f"the parameters lack {' or '.join(keys)}")
        values = np.asarray(param_dict[keys[0]])
        if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
            raise Error(f"{keys[0]} must hold finite numbers")
        if quant:
            frac = np.asarray(param_dict[keys[1]]).ravel()
            if frac.dtype.kind not in "iu" or frac.size not in (1, *values.shape[:1]):
                raise Error(f"{keys[1]} must be an integer, or one for each channel of {keys[0]}")
            shape = (-1, *[1] * (values.ndim - 1)) if frac.size > 1 else ()
            values = np.ldexp(values.astype(np.float64), -frac.reshape(shape))
        arrays[name] = values
    return arrays
