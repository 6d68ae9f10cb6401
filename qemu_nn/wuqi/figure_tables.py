"""Figures of tensors under the manual's names, as dictionaries and as its tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Union

import numpy as np

from ..analysis.table import escape_formula
from ..io import files
from .figures import Target

PathLike = Union[str, Path, None]

#: Constant that keeps a ratio to a zero share finite.
_NO_SHARE = float(np.finfo(np.float64).eps)

#: Figures of one network in the order of stats.csv.
_MOMENTS = ("avg", "max", "min", "var")

#: Key of a figure -> its row in comp_results.csv.
_ROWS = {
    "fmsv": "Flt-Pnt Mean Sqr Val",
    "qmsv": "Fix-Pnt Mean Sqr Val",
    "mae": "Mean Abs Error",
    "maxae": "Max Abs Error",
    "mse": "Mean Sqr Error",
    "qsnr": "Quant SNR (dB)",
    "top1err": "Top1 Error Rate",
    "kld": "KL Divergence",
    "jsd": "JS Divergence",
    "nsamp": "Sample Num",
}


def tabulate_distribution(
    targets: Mapping[str, Target], output_dirname: PathLike
) -> dict[str, Union[float, np.ndarray]]:
    """Return the result of analyze_tensor_distribution(), and its tables."""
    stats: dict[str, Union[float, np.ndarray]] = {}
    for name, target in targets.items():
        moments = target.moments
        stats[f"{name}_min"], stats[f"{name}_max"] = moments.low, float(moments.high)
        stats[f"{name}_avg"] = moments.mean
        stats[f"{name}_var"] = moments.squares / moments.count
        for histogram in target.histograms:
            stats[f"{name}_pd"] = histogram.pairs
    if output_dirname is not None:
        rows = [[key, *(stats[f"{n}_{key}"] for n in targets)] for key in _MOMENTS]
        _write(output_dirname, "stats.csv", [["", *targets], *rows])
        columns = [column for name, t in targets.items() for column in _columns(name, t)]
        if columns:
            _write(output_dirname, "prob.csv", zip(*columns))
    return stats


def _columns(name: str, target: Target) -> Iterator[list[Any]]:
    """Yield the columns of prob.csv: centres, and shares of the values."""
    for histogram in target.histograms:
        yield [f"{name}_val", *histogram.pairs[0].tolist()]
        yield [f"{name}_prob", *histogram.shares.tolist()]


def tabulate_comparison(
    targets: Mapping[str, Target], output_dirname: PathLike
) -> dict[str, Union[float, int]]:
    """Return the result of compare_float_and_quant(), and its tables."""
    figures_of = {name: target.errors.figures() for name, target in targets.items()}
    for name, target in targets.items():
        if target.histograms:
            real, fixed = (histogram.shares for histogram in target.histograms)
            mean = (real + fixed) / 2
            figures_of[name]["kld"] = _divergence(real, fixed)
            figures_of[name]["jsd"] = (_divergence(real, mean) + _divergence(fixed, mean)) / 2
            figures_of[name]["nsamp"] = target.errors.count
    if output_dirname is not None:
        keys = [key for key in _ROWS if any(key in figures for figures in figures_of.values())]
        rows = [[_ROWS[key], *(figures[key] for figures in figures_of.values())] for key in keys]
        _write(output_dirname, "comp_results.csv", [["", *targets], *rows])
    return {
        f"{name}_{key}": value
        for name, figures in figures_of.items()
        for key, value in figures.items()
    }


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Return the divergence of Kullback and Leibler, in bits."""
    used = p > 0
    return float((p[used] * np.log2(p[used] / (q[used] + _NO_SHARE))).sum())


def _write(folder: Union[str, Path], name: str, rows: Iterable[Iterable[Any]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(escape_formula, row) for row in rows)
    files.make_folder(Path(folder))
    files.write_bytes(Path(folder) / name, text.getvalue().encode("utf-8"))
