"""The noise at a network's outputs that one layer, or one of its channels, makes by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..analysis.errors import compute_decibels, sum_squares
from ..runtime.calls_after import plan_calls_after
from ..runtime.evaluate import iterate_tensors
from .layer_statistics import LayerRun

#: Bytes of a layer's outputs that are tried at a time.
_BYTES = 1 << 26


@dataclass(frozen=True)
class Sensitivity:
    """Signal-to-noise ratios at the outputs in decibels, if one layer alone errs.

    whole: with all of its channels. channels: with each of them.
    """

    whole: float
    channels: tuple[float, ...]


def measure_sensitivity(run: LayerRun, x: np.ndarray) -> dict[str, Sensitivity]:
    """Return layer -> its sensitivity, of layers before the outputs.

    Each layer computes the integers of the device from exact inputs. They replace the exact
    integers of the layer, or of one of its channels; the calls after it are those of the device.
    """
    graph, real = run.graph, dict(iterate_tensors(run.ordered, x))
    exact = {
        name: run.tensors[name].format.quantize(values).reshape(-1, *run.tensors[name].shape)
        for name, values in real.items()
        if name in run.kept
    }
    start = graph.input.name
    exact[start] = graph.input.format.quantize(real[start]).reshape(-1, *graph.input.shape)
    own = {start: exact[start]}
    found = {}
    for node in graph.nodes:
        inputs = [run.round_input(real, name, own) for name in node.inputs]
        own[node.name] = run.calls.run(node, inputs)
        exact.setdefault(node.name, own[node.name])
    for node in graph.nodes:
        if node.name in run.kept and node.name not in graph.outputs:
            found[node.name] = _measure_layer(run, node.name, own[node.name], exact)
    return found


def _measure_layer(
    run: LayerRun, name: str, own: np.ndarray, exact: Mapping[str, np.ndarray]
) -> Sensitivity:
    after = plan_calls_after(run.graph, name, run.graph.outputs, run.profile)
    codes = exact[name]
    own = own.reshape(codes.shape)
    wanted = after.run(codes, exact)
    ratios = []
    for tried in _vary(codes, own):
        got = after.run(tried.reshape(-1, *codes.shape[1:]), exact)
        ratios += _measure_noise(run, len(tried), wanted, got)
    return Sensitivity(ratios[0], tuple(ratios[1:]))


def _vary(codes: np.ndarray, own: np.ndarray) -> Iterator[np.ndarray]:
    """Yield variants [K, N, ...] of integers, some at a time: all from `own`, then each channel."""
    count, step = codes.shape[-1] + 1, max(_BYTES // codes.nbytes, 1)
    for first in range(0, count, step):
        numbers = range(first, min(first + step, count))
        tried = np.repeat(codes[np.newaxis], len(numbers), 0)
        for place, number in enumerate(numbers):
            part = np.s_[...] if not number else np.s_[..., number - 1]
            tried[place][part] = own[part]
        yield tried


def _measure_noise(
    run: LayerRun, tries: int, wanted: Mapping[str, np.ndarray], got: Mapping[str, np.ndarray]
) -> list[float]:
    """Return the ratio of each variant; noise: the sum over outputs, relative to the signal."""
    noise = np.zeros(tries)
    for output in [name for name in run.graph.outputs if name in wanted]:
        form = run.tensors[output].format
        right = form.dequantize(wanted[output])
        values = form.dequantize(got[output]).reshape(tries, *right.shape)
        signal = sum_squares(right) or 1.0
        noise += [sum_squares(each - right) / signal for each in values]
    return [compute_decibels(1.0, share) for share in noise.tolist()]
