"""From float to fixed point, and what that costs: the kit's tools for quantization."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from tqdm import tqdm

from ..errors import Error, ModelError
from ..io import files
from .check import warnings
from .figure_tables import comparison, distribution
from .gathering import Gathering, batches
from .integers import checked_width
from .layers import Layer, find, get_tensor_name_list, has_bias, with_log_softmax
from .model_quantizer import ModelQuantizer
from .numpy_net import build_numpy_layers, run_layers
from .overrides import Overrides
from .preferences import Preferences
from .shifts import ORDERS

__all__ = [
    "analyze_tensor_distribution",
    "compare_float_and_quant",
    "quantize_model",
]

Batches = Iterator[Mapping[str, Any]]


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
    """Choose the fractions of a float network and round its weights (§4.3.1 of the manual).

    data_generator gives {"input": [N, C, H, W]}, ready for the network; at most num_step_pre and
    then num_step batches are taken (with aggressive=False num_step for each tensor), and it may
    end earlier. usr_param_dict: fractions that are obeyed, LAYER_weight_frac, LAYER_bias_frac,
    TENSOR_frac; also TENSOR_signed of the input, which else is unsigned where its values are not
    negative, at 8 bits. method_dict: TENSOR, LAYER_weight or LAYER_bias -> MINMAX (the default),
    MSE or KL, over 2^(bitwidth + factor_num_bin) bins. aggressive: all statistics from the float
    network; False: each tensor's from a network whose layers before it are in fixed point.
    gaussian_approx is accepted and does nothing. drop_logsoftmax: a LogSoftmax or a Softmax at the
    end is taken away, with a warning; False: the bias before it moves its input into its range,
    and a Softmax becomes a LogSoftmax. priority_mode: who gives way least to the hardware's shifts:
    f (output), w (weights), b (bias).
    compensate_floor_on_bias: half a step of the output on top of each bias, so that rounding down
    becomes rounding to nearest. log_dir: where quantize_model.log tells why.

    Returns the layers, and the parameters with LAYER_quant_weight, _quant_bias, _frac_weight,
    _frac_bias (one for each output channel), TENSOR_frac and TENSOR_signed. Limits of the hardware
    that the result breaks are printed. Raises Error for arguments, data and parameters that do not
    fit, ModelError for a network that no fixed point can hold.
    """
    methods, bitwidth = dict(method_dict or {}), checked_width("bitwidth", bitwidth)
    _check(layer_list, methods, factor_num_bin, num_step_pre, num_step, priority_mode)
    overrides = Overrides(usr_param_dict or {}, layer_list)
    preferences = Preferences(methods, bitwidth, 2 ** (bitwidth + factor_num_bin))
    layers, params = list(layer_list), dict(param_dict)
    last = layers[-1]
    if last.type in ("LogSoftmax", "Softmax") and drop_logsoftmax:
        print(f"warning: the {last.type} {last.name!r} is left out; compute it on the CPU")
        del layers[-1]
    layers = with_log_softmax(layers)
    total = num_step_pre + num_step * (1 if aggressive else len(layers))
    # Not around the caller's own generator: a bar that shows nothing closes what it runs through.
    source = iter(tqdm(batches(data_generator, total), total=total, disable=None, leave=False))
    first = list(islice(source, num_step_pre))
    if not first:
        raise Error("data_generator gives no batch")
    if layers[-1].type == "LogSoftmax":
        _centre(layers, params, first, bitwidth)
    work = ModelQuantizer(
        *(layers, params, bitwidth, source, overrides, preferences),
        *(priority_mode, compensate_floor_on_bias, aggressive, num_step),
    )
    work.run(first)
    if log_dir is not None:
        files.make_folder(Path(log_dir))
        text = "\n".join([*work.log, ""])
        files.write_bytes(Path(log_dir) / "quantize_model.log", text.encode("utf-8"))
    for text in warnings(layers, work.params, bitwidth):
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
        raise ModelError("layer_list is empty")
    if priority_mode not in ORDERS:
        raise Error(f"priority_mode must be one of {', '.join(ORDERS)}, is {priority_mode!r}")
    counts = {"factor_num_bin": factor_num_bin, "num_step_pre": num_step_pre, "num_step": num_step}
    for name, value in counts.items():
        if not isinstance(value, (int, np.integer)):
            raise Error(f"{name} must be an integer, is {value!r}")
    if not 0 <= factor_num_bin <= 8:
        raise Error(f"factor_num_bin must be in 0..8, is {factor_num_bin}")
    if num_step_pre < 1 or num_step < 0:
        raise Error(
            f"num_step_pre must be at least 1 and num_step at least 0, are {num_step_pre} and "
            f"{num_step}"
        )
    known = get_tensor_name_list(layer_list)
    for name in methods:
        if name not in known:
            raise Error(f"method_dict: there is no tensor {name!r}; have: {', '.join(known)}")


def _centre(
    layers: Sequence[Layer], params: dict[str, Any], first: Sequence[np.ndarray], bitwidth: int
) -> None:
    """Move what the last layer, a LogSoftmax, reads into the range that it can: [-8, 8).

    Adding one number to all classes changes nothing in its result.
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
    """Range, mean, variance and histogram of tensors, as real numbers (§4.5 of the manual).

    target_tensor_list: feature tensors, LAYER_weight, LAYER_bias. quant: of the fixed-point
    network, else of the float one. data_generator gives {"input": [N, C, H, W]}, of which at most
    num_batch are taken; it may end earlier. num_bin, max_abs_val: bins of the histogram, from
    -max_abs_val to max_abs_val; None: the range of the first 1000 samples, from 0 if nothing is
    negative. output_dirname: where stats.csv and, with bins, prob.csv are written.

    Returns NAME_min, _max, _avg, _var and, with bins, NAME_pd [2, num_bin]: centres and counts.
    Raises Error for unknown tensors, parameters that are missing, and data that do not fit.
    """
    kinds = (bool(quant),)
    gathering = Gathering(
        *(layer_list, param_dict, kinds, bitwidth, num_batch),
        *(hw_aligned, num_bin, max_abs_val, log_on),
    )
    return distribution(gathering.targets(target_tensor_list, data_generator), output_dirname)


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
    """How far tensors of the fixed-point network are from the float ones (§4.5 of the manual).

    Arguments and errors are those of analyze_tensor_distribution(); param_dict has both the float
    and the fixed-point parameters. output_dirname: where comp_results.csv is written.

    Returns NAME_fmsv and _qmsv (mean squares, float and fixed), _mae and _maxae (mean and largest
    absolute error), _mse, _qsnr (dB), _top1err (how often the channel of the largest value
    differs, over all pixels) and, with bins, _kld and _jsd (divergences in bits), _nsamp.
    """
    gathering = Gathering(
        *(layer_list, param_dict, (False, True), bitwidth, num_batch),
        *(hw_aligned, num_bin, max_abs_val, log_on),
    )
    return comparison(gathering.targets(target_tensor_list, data_generator), output_dirname)
