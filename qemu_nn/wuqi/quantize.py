"""The kit's tools for quantization: conversion to fixed point, and its errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error, ModelError
from ..io import files
from .check import list_warnings
from .figure_tables import tabulate_comparison, tabulate_distribution
from .gathering import Gathering, iterate_batches
from .integers import check_width
from .kit_arguments import check_arguments
from .layers import Layer, find, get_tensor_name_list, has_bias, replace_softmax
from .model_quantizer import ModelQuantizer
from .numpy_net import build_numpy_layers, run_layers
from .overrides import Overrides
from .preferences import Preferences
from .progress_bar import show_bar
from .shifts import ORDERS

__all__ = [
    "analyze_tensor_distribution",
    "compare_float_and_quant",
    "quantize_model",
]

Batches = Iterator[Mapping[str, Any]]


@check_arguments
def quantize_model(
    layer_list: Sequence[Layer],
    param_dict: Mapping[str, Any],
    bitwidth: int,
    data_generator: Batches,
    usr_param_dict: Optional[Mapping[str, Any]] = None,
    method_dict: Optional[Mapping[str, str]] = None,
    aggressive: bool = True,
    gaussian_approx: bool = False,
    factor_num_bin: int = 4,
    num_step_pre: int = 20,
    num_step: int = 100,
    drop_logsoftmax: bool = True,
    priority_mode: str = "fwb",
    compensate_floor_on_bias: bool = True,
    log_dir: Union[str, Path, None] = None,
) -> tuple[list[Layer], dict[str, Any]]:
    """Choose the fractions of a float network and round its weights.

    Limits of the hardware that the result breaks are printed.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to ndarray of float
        LAYER_weight and LAYER_bias.
    bitwidth : {8, 16}
        The width of weights and features.
    data_generator : iterator of mappings
        It gives {"input": ndarray (N, C, H, W)}, normalized for the network; it may end early.
    usr_param_dict : mapping of str to int or ndarray, optional
        Overrides: LAYER_weight_frac, LAYER_bias_frac and TENSOR_frac in fraction bits, and
        TENSOR_signed of the input, which is otherwise unsigned where its values are not negative
        and the width is 8.
    method_dict : mapping of str to str, optional
        TENSOR, LAYER_weight or LAYER_bias -> "MINMAX" (the default), "MSE" or "KL".
    aggressive : bool, default True
        Take all statistics from the float network; False: those of each tensor from a network
        whose earlier layers are in fixed point.
    gaussian_approx : bool, default False
        Accepted for the manual's scripts; it changes nothing.
    factor_num_bin : int, default 4
        MSE and KL use 2^(bitwidth + factor_num_bin) bins, at most 2^17. KL at 16 bits uses 2^15,
        because finer ones hold too few values to show a shape.
    num_step_pre, num_step : int, defaults 20 and 100
        The most batches for the ranges, and then for the distributions (for those of each tensor
        anew, unless aggressive).
    drop_logsoftmax : bool, default True
        Leave out a LogSoftmax or Softmax at the end, with a printed warning; False: the bias
        before it moves its input into its range, and a Softmax becomes a LogSoftmax.
    priority_mode : str, default "fwb"
        Which fractions change last to fit the hardware's shifts: f (output), w (weights), b (bias).
    compensate_floor_on_bias : bool, default True
        Add half a step of the output to each bias, so that rounding down becomes rounding to
        nearest.
    log_dir : str or Path, optional
        A folder for quantize_model.log, which has the reason of each fraction.

    Returns
    -------
    layers : list of Layer
        The network.
    params : dict of str to object
        The given parameters, and LAYER_quant_weight, LAYER_quant_bias, LAYER_frac_weight and
        LAYER_frac_bias (one for each output channel), TENSOR_frac and TENSOR_signed.

    Raises
    ------
    Error
        An argument, the data or a parameter does not fit.
    ModelError
        The hardware has no fixed point for the network.

    References
    ----------
    The kit's manual, chapter 4.3.1; the names of parameters: chapter 3.2.
    """
    methods, bitwidth = dict(method_dict or {}), check_width("bitwidth", bitwidth)
    _check(layer_list, methods, factor_num_bin, num_step_pre, num_step, priority_mode)
    overrides = Overrides(usr_param_dict or {}, layer_list)
    preferences = Preferences(methods, bitwidth, 2 ** (bitwidth + factor_num_bin))
    layers, params = list(layer_list), dict(param_dict)
    last = layers[-1]
    if last.type in ("LogSoftmax", "Softmax") and drop_logsoftmax:
        print(f"warning: the {last.type} {last.name!r} is left out; compute it on the CPU")
        del layers[-1]
    layers = replace_softmax(layers)
    total = num_step_pre + num_step * (1 if aggressive else len(layers))
    # Not around the caller's own generator: a disabled bar closes its iterable.
    source = iter(show_bar(iterate_batches(data_generator, total), total))
    first = [x for _, x in zip(range(num_step_pre), source)]
    if not first:
        raise Error("data_generator yields no batch: give one or more")
    if layers[-1].type == "LogSoftmax":
        _centre_softmax(layers, params, first, bitwidth)
    work = ModelQuantizer(
        *(layers, params, bitwidth, source, overrides, preferences),
        *(priority_mode, compensate_floor_on_bias, aggressive, num_step),
    )
    work.run(first)
    if log_dir is not None:
        files.make_folder(Path(log_dir))
        text = "\n".join([*work.log, ""])
        files.write_bytes(Path(log_dir) / "quantize_model.log", text.encode("utf-8"))
    for text in list_warnings(layers, work.params, bitwidth):
        print(f"warning: {text}")
    return layers, work.params


def _check(
    layer_list: Sequence[Layer],
    methods: Mapping[str, str],
    factor_num_bin: int,
    num_step_pre: int,
    num_step: int,
    priority_mode: str,
) -> None:
    """Raise Error for arguments out of range."""
    if not layer_list:
        raise ModelError("layer_list is empty: give the layers of a network")
    if priority_mode not in ORDERS:
        raise Error(f"priority_mode is {priority_mode!r}, but must be one of {', '.join(ORDERS)}")
    counts = {"factor_num_bin": factor_num_bin, "num_step_pre": num_step_pre, "num_step": num_step}
    for name, value in counts.items():
        if not isinstance(value, (int, np.integer)):
            raise Error(f"{name} is {value!r}, but must be an integer")
    if not 0 <= factor_num_bin <= 8:
        raise Error(f"factor_num_bin is {factor_num_bin}, but must be in 0..8")
    if num_step_pre < 1 or num_step < 0:
        raise Error(
            f"num_step_pre is {num_step_pre} and num_step {num_step}; they must be at least 1 and 0"
        )
    known = get_tensor_name_list(layer_list)
    for name in methods:
        if name not in known:
            raise Error(f"method_dict: there is no tensor {name!r}; have: {', '.join(known)}")


def _centre_softmax(
    layers: Sequence[Layer], params: dict[str, Any], first: Sequence[np.ndarray], bitwidth: int
) -> None:
    """Move the input of the last layer, a LogSoftmax, into its range, [-8, 8).

    Adding one number to all classes does not change the result.
    """
    (name,) = layers[-1].bottoms
    before = find(layers, name)
    if before is None or not has_bias(before):
        return
    net = build_numpy_layers(layers, params, quant=False)
    values = [run_layers(x, layers, [name], numpy_layers=net)[name] for x in first]
    low, high = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
    top = 8 - 2.0 ** (-4 if bitwidth == 8 else -12)
    more = min(max(-8 - low, 0.0), top - high)
    key = f"{before.name}_bias"
    params[key] = np.asarray(params[key], np.float64) + more


@check_arguments
def analyze_tensor_distribution(
    layer_list: Sequence[Layer],
    param_dict: Mapping[str, Any],
    target_tensor_list: Sequence[str],
    output_dirname: Union[str, Path, None] = None,
    data_generator: Optional[Batches] = None,
    quant: bool = True,
    bitwidth: int = 8,
    num_batch: int = 1000,
    hw_aligned: bool = True,
    num_bin: int = 0,
    max_abs_val: Optional[float] = None,
    log_on: bool = False,
) -> dict[str, Union[float, np.ndarray]]:
    """Compute range, mean, variance and histogram of tensors, as floats.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to object
        Its parameters, float or fixed-point.
    target_tensor_list : sequence of str
        Feature tensors, LAYER_weight and LAYER_bias.
    output_dirname : str or Path, optional
        A folder for stats.csv and, with bins, prob.csv.
    data_generator : iterator of mappings, optional
        It gives {"input": ndarray (N, C, H, W)}; feature tensors need it.
    quant : bool, default True
        Analyze the fixed-point network; else the float one.
    bitwidth : {8, 16}, default 8
        The width of weights and features.
    num_batch : int, default 1000
        The most batches that are taken; the generator may end early.
    hw_aligned : bool, default True
        Divide averages next to padding as the hardware does.
    num_bin : int, default 0
        Bins of the histograms; 0: none.
    max_abs_val : float, optional
        Histograms reach from -max_abs_val to max_abs_val; default: over the range of the first
        1000 samples, from 0 where nothing is negative.
    log_on : bool, default False
        Print a line for each batch.

    Returns
    -------
    dict of str to float or ndarray
        NAME_min, NAME_max, NAME_avg, NAME_var and, with bins, NAME_pd of shape (2, num_bin): the
        centres and the counts.

    Raises
    ------
    Error
        A tensor is unknown, a parameter is missing, or the data do not fit.

    References
    ----------
    The kit's manual, chapter 4.5.
    """
    kinds = (bool(quant),)
    gathering = Gathering(
        *(layer_list, param_dict, kinds, bitwidth, num_batch),
        *(hw_aligned, num_bin, max_abs_val, log_on),
    )
    return tabulate_distribution(
        gathering.targets(target_tensor_list, data_generator), output_dirname
    )


@check_arguments
def compare_float_and_quant(
    layer_list: Sequence[Layer],
    param_dict: Mapping[str, Any],
    target_tensor_list: Sequence[str],
    bitwidth: int = 8,
    output_dirname: Union[str, Path, None] = None,
    data_generator: Optional[Batches] = None,
    num_batch: int = 1000,
    hw_aligned: bool = True,
    num_bin: int = 0,
    max_abs_val: Optional[float] = None,
    log_on: bool = False,
) -> dict[str, Union[float, int]]:
    """Compare tensors of the fixed-point network with those of the float network.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to object
        Both the float and the fixed-point parameters.
    target_tensor_list : sequence of str
        Feature tensors, LAYER_weight and LAYER_bias.
    bitwidth : {8, 16}, default 8
        The width of weights and features.
    output_dirname : str or Path, optional
        A folder for comp_results.csv.
    data_generator : iterator of mappings, optional
        It gives {"input": ndarray (N, C, H, W)}; feature tensors need it.
    num_batch : int, default 1000
        The most batches that are taken; the generator may end early.
    hw_aligned : bool, default True
        Divide averages next to padding as the hardware does.
    num_bin : int, default 0
        Bins of the histograms; 0: none.
    max_abs_val : float, optional
        Histograms reach from -max_abs_val to max_abs_val; default: over the range of the first
        1000 samples, from 0 where nothing is negative.
    log_on : bool, default False
        Print a line for each batch.

    Returns
    -------
    dict of str to float or int
        NAME_fmsv and NAME_qmsv (mean squares, float and fixed), NAME_mae and NAME_maxae (mean and
        largest absolute error), NAME_mse, NAME_qsnr in dB, NAME_top1err (how often the channel of
        the largest value differs, over all pixels) and, with bins, NAME_kld and NAME_jsd
        (divergences in bits) and NAME_nsamp.

    Raises
    ------
    Error
        A tensor is unknown, a parameter is missing, or the data do not fit.

    References
    ----------
    The kit's manual, chapter 4.5.
    """
    gathering = Gathering(
        *(layer_list, param_dict, (False, True), bitwidth, num_batch),
        *(hw_aligned, num_bin, max_abs_val, log_on),
    )
    return tabulate_comparison(
        gathering.targets(target_tensor_list, data_generator), output_dirname
    )
