"""From float to fixed point, and what that costs: the kit's tools for quantization."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from .figure_tables import comparison, distribution
from .gathering import Gathering
from .layers import Layer

Batches = Iterator[Mapping[str, Any]]


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
