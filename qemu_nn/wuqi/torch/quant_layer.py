"""A network of the NPU's kit as a PyTorch module for fixed-point training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import Error, ModelError
from ...training.nodes import make_free_name
from ..as_fixed import make_fixed_graph
from ..integers import check_width
from ..layers import BIASED, Layer, get_network_output, get_tensor_name_list
from ..shapes import infer_feature_shapes
from . import nodes, pooling
from .weighted import ROLES, Weighted


class QuantizedNet(nn.Module):  # type: ignore[misc]
    """The network as a PyTorch module from batch to output; exact in double precision.

    Its parameters are LAYER.weight and LAYER.bias; an underscore replaces a dot in a layer's name.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to object
        Its parameters, with the fractions of all values that are quantized.
    quant_output, quant_weight, quant_bias : bool, default True
        Which values go through a quantization node.
    hw_aligned : bool, default True
        Divide averages next to padding as the hardware does.
    bitwidth : {8, 16}, default 8
        The width of weights and features.
    for_training : bool, default True
        Begin with LAYER_weight and LAYER_bias, with half a step of the output added to each bias if
        quant_output, so that rounding down becomes rounding to nearest. False: begin with
        LAYER_quant_weight and LAYER_quant_bias and compute, after `.double()`, what the chip does.

    Attributes
    ----------
    quantized : set of str
        The layers whose quantization nodes work; at first all.

    Raises
    ------
    Error
        The bit width is wrong.
    ModelError
        A parameter is missing or does not fit, or the hardware does not compute a layer.

    References
    ----------
    The kit's manual, chapter 4.3.3.
    """

    def __init__(
        self,
        layer_list: Sequence[Layer],
        param_dict: Mapping[str, Any],
        quant_output: bool = True,
        quant_weight: bool = True,
        quant_bias: bool = True,
        hw_aligned: bool = True,
        bitwidth: int = 8,
        for_training: bool = True,
    ) -> None:
        super().__init__()
        bitwidth = check_width("bitwidth", bitwidth)
        self.layer_list, self.param_dict = list(layer_list), dict(param_dict)
        self.bitwidth, self.hw_aligned, self.quant_output = bitwidth, hw_aligned, quant_output
        self.quant = {"weight": quant_weight, "bias": quant_bias}
        self.shapes = infer_feature_shapes(layer_list)
        self.outputs = get_network_output(layer_list)
        self.quantized = {layer.name for layer in layer_list}
        self._modules_of: dict[str, str] = {}
        self._steps = self._output_steps() if quant_output else {}
        for layer in self.layer_list:
            if layer.type in BIASED:
                part = Weighted(layer, param_dict, self.shapes, bitwidth, self.quant, for_training)
                self._modules_of[layer.name] = make_free_name(self, layer.name)
                self.add_module(self._modules_of[layer.name], part)
                if for_training and quant_output and part.bias is not None:
                    part.lift("bias", self._steps[layer.tops[0]] / 2)
            else:
                self._check(layer)
        if quant_output and quant_weight and quant_bias:
            make_fixed_graph(self.layer_list, self.get_param_dict(), bitwidth, hw_aligned)

    def _output_steps(self) -> dict[str, float]:
        for name in get_tensor_name_list(self.layer_list, feature_only=True):
            if not isinstance(self.param_dict.get(f"{name}_frac"), (int, np.integer)):
                raise ModelError(
                    f"the parameters lack the integer {name}_frac; quantize the network first"
                )
        return {name: 2.0 ** -int(self.param_dict[f"{name}_frac"]) for name in self.shapes}

    def _check(self, layer: Layer) -> None:
        """Raise ModelError for a layer that has no fixed point."""
        if layer.type == "Softmax":
            raise ModelError(
                f"layer {layer.name!r}: Softmax has no fixed-point form; use LogSoftmax"
            )
        if layer.type == "Eltwise" and layer.attributes()["operation"] != "sum":
            raise ModelError(
                f"layer {layer.name!r}: only the sum of tensors has a fixed-point form"
            )

    def has_part(self, name: str) -> bool:
        """True if a layer has weights or a bias.

        Parameters
        ----------
        name : str
            The name of a layer.

        Returns
        -------
        bool
            True where part() gives a module.
        """
        return name in self._modules_of

    def part(self, name: str) -> Weighted:
        """Return the module of a layer with weights or a bias.

        Parameters
        ----------
        name : str
            The name of such a layer.

        Returns
        -------
        torch.nn.Module
            Its weights and bias.
        """
        module = getattr(self, self._modules_of[name])
        assert isinstance(module, Weighted)
        return module

    def get_param_dict(self) -> dict[str, Any]:
        """Return the current parameters of the network; run_layers() with them equals the module.

        Returns
        -------
        dict of str to object
            All that was given, with the present LAYER_weight and LAYER_bias (float64, without what
            was added for rounding) and, where they have nodes, LAYER_quant_weight and
            LAYER_quant_bias.

        References
        ----------
        The kit's manual, chapter 3.2.
        """
        params = dict(self.param_dict)
        for layer in self.layer_list:
            if not self.has_part(layer.name):
                continue
            part = self.part(layer.name)
            for role in ROLES:
                if getattr(part, role) is not None:
                    real = part.real(role).detach().double().cpu().numpy()
                    params[f"{layer.name}_{role}"] = real
                    if self.quant[role]:
                        params[f"{layer.name}_quant_{role}"] = part.integers(role)
        return params

    def forward(self, x: Tensor) -> Union[Tensor, dict[str, Tensor]]:
        """Compute a batch.

        Parameters
        ----------
        x : floating-point torch.Tensor, shape (N, C, H, W)
            Floats on the grid of the input tensor; they are not rounded.

        Returns
        -------
        torch.Tensor, or dict of str to torch.Tensor
            The output, shape (N, C, H, W); several outputs by name.

        Raises
        ------
        Error
            The batch is no floating-point tensor, or has another shape.
        """
        start = self.layer_list[0].tops[0]
        if not isinstance(x, Tensor) or not x.is_floating_point():
            raise Error(
                "a batch is no floating-point tensor: give one, such as torch.from_numpy(x).float()"
            )
        if x.ndim != 4 or tuple(x.shape[1:]) != self.shapes[start]:
            raise Error(f"a batch is {list(x.shape)}, but must be [N, {self.shapes[start]}]")
        values = {start: x}
        for layer in self.layer_list[1:]:
            results = self._compute(layer, [values[name] for name in layer.bottoms])
            quantized = self.quant_output and layer.name in self.quantized
            for name, result in zip(layer.tops, results):
                if quantized:
                    step = torch.tensor(self._steps[name], dtype=x.dtype, device=x.device)
                    result = nodes.quantize(result, step, self.bitwidth)
                values[name] = result
        if len(self.outputs) == 1:
            return values[self.outputs[0]]
        return {name: values[name] for name in self.outputs}

    def _compute(self, layer: Layer, inputs: list[Tensor]) -> list[Tensor]:
        """Return the outputs of a layer, before rounding."""
        own, x, kind = layer.attributes(), inputs[0], layer.type
        quantized = layer.name in self.quantized
        if self.has_part(layer.name):
            return [self.part(layer.name)(x, quantized)]
        if kind == "Pooling":
            return [self._pool_average(layer, x, quantized and self.quant_output)]
        if kind == "Slice":
            points = [0, *own["slice_point"], x.shape[1]]
            return [x[:, first:last] for first, last in zip(points, points[1:])]
        if kind == "Concat":
            return [torch.cat(inputs, 1)]
        if kind == "ShuffleChannel":
            groups = x.reshape(len(x), own["group"], -1, *x.shape[2:])
            return [groups.transpose(1, 2).reshape(x.shape)]
        if kind == "Eltwise":
            return [torch.stack(inputs).sum(0)]
        if kind == "ScaleByTensor":
            return [x * inputs[1]]
        return [self._activation(layer, x, quantized and self.quant_output)]

    def _activation(self, layer: Layer, x: Tensor, exact: bool) -> Tensor:
        kind = layer.type
        if kind == "ReLU":
            slope = layer.attributes()["negative_slope"]
            slope = round(slope * 64) / 64 if exact else slope
            return torch.where(x >= 0, x, x * slope)
        if kind == "ReLU6":
            return x.clamp(0, 6)
        if kind == "LogSoftmax":
            return nodes.log_softmax(x, self.bitwidth) if exact else torch.log_softmax(x, 1)
        if exact:
            return nodes.lookup(x, kind, self.bitwidth)
        return torch.sigmoid(x) if kind == "Sigmoid" else torch.tanh(x)

    def _pool_average(self, layer: Layer, x: Tensor, exact: bool) -> Tensor:
        """Return the average of each window, floored correctly.

        A quotient that is not an integer differs from one by more than 2^-16. The error of a double
        with 16 bits before the point is below 2^-36.
        """
        if layer.attributes()["pool"] == "MAX":
            lowest = -(2 ** (self.bitwidth - 1)) * self._steps[layer.tops[0]] if exact else -np.inf
            return pooling.pool_maximum(x, layer, lowest)
        size = self.shapes[layer.bottoms[0]][1:]
        divisors = pooling.count_divisors(layer, (size[0], size[1]), self.hw_aligned)
        return pooling.pool_sums(x, layer) / divisors.to(x)
