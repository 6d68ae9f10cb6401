"""Faults of calibration data, and of data that differ from them in scale or layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable, Optional

import numpy as np

from ..ir.input_summary import InputSummary, read_channels_first, read_channels_last
from .faults import Fault, Remedy

#: Least factor between data of another scale; factors that are named as such, within a share.
_FACTOR, _NAMED, _NEAR = 4.0, (255.0, 256.0, 128.0, 127.5, 127.0, 65535.0, 32768.0), 0.05

#: Least shift of a mean, in deviations of the values, and in standard errors of the mean.
_SHIFT, _SURE = 1.0, 8.0

#: Least samples of both sides, for what means tell.
_SAMPLES = 8

#: Least factor between the roughness of images in the right and in the wrong layout.
_ROUGHER = 1.3

Fix = Callable[[np.ndarray], np.ndarray]

_RECALIBRATE = Remedy("calibrate with data as these", {})


def describe_calibration(found: Optional[InputSummary]) -> Iterator[str]:
    """Yield a sentence for each fault of calibration data."""
    if found is None:
        return
    if found.constant and found.samples > 1:
        yield (
            f"the calibration data are {found.ends[0]:g} in all of {found.samples} samples, so "
            "that the ranges of all layers are those of this one input: calibrate with real samples"
        )
    for number, largest in found.wild:
        yield (
            f"sample {number} of the calibration data reaches {largest:.4g}, the others mostly "
            f"{found.usual:.4g}: check it, and leave it out if it is wrong"
        )


def find_input_faults(
    name: str, seen: Optional[InputSummary], known: Optional[InputSummary], reach: float
) -> list[Fault]:
    """Return the faults of the inputs of a network, the surest alone.

    seen: of the analyzed data. known: of the calibration. reach: the largest magnitude that the
    format of the input holds.
    """
    if seen is None or known is None or len(seen.mean) != len(known.mean):
        return []
    if known.constant and known.samples > 1 and not seen.constant:
        told = next(describe_calibration(known)).rpartition(":")[0]
        return [Fault(name, f"{name}: {told}", (_RECALIBRATE,))]
    if seen.constant:
        return []
    wild = [number for number, largest in known.wild if 2 * largest > known.ends[1] - known.ends[0]]
    if wild and reach > 2 * max(known.usual, *map(abs, seen.ends)):
        told = next(describe_calibration(known)).rpartition(":")[0]
        text = f"{name}: {told}, so that the ranges of all layers grow"
        return [Fault(name, text, (Remedy("calibrate without it", {}),))]
    for find in (_compare_scales, _compare_layouts, _compare_channels, _compare_means):
        fault = find(name, seen, known)
        if fault is not None:
            return [fault]
    return []


def _compare_scales(name: str, seen: InputSummary, known: InputSummary) -> Optional[Fault]:
    """Return the fault of data that are larger or smaller than those of the calibration."""
    ratio = _pool(seen) / _pool(known) if _pool(known) else np.inf
    reach = max(map(abs, seen.ends)) / max(max(map(abs, known.ends)), 1e-30)
    if not (min(ratio, reach) >= _FACTOR or max(ratio, reach) <= 1 / _FACTOR):
        return None
    factor = _name_factor(ratio)
    same = np.abs(_array(seen.mean) / factor - _array(known.mean)).max() < _SHIFT * _pool(known)
    fix: Fix = (lambda x: x / factor) if same else _match(seen, known)
    if same and factor > 1 and factor in _NAMED:
        how = f"scale these, such as by Preprocessing(scale=1/{factor:g})"
    else:
        how = f"multiply these by {1 / factor:.4g}" if same else "scale these as those"
    span, wanted = (f"{low:.4g} to {high:.4g}" for low, high in (seen.ends, known.ends))
    return Fault(
        name,
        f"{name}: these data span {span}, those of the calibration {wanted}, a factor of "
        f"{factor:.4g}; both must be scaled as in training",
        (Remedy(how, fix=fix), _RECALIBRATE),
    )


def _compare_layouts(name: str, seen: InputSummary, known: InputSummary) -> Optional[Fault]:
    """Return the fault of images with channels first in one of both, which are read as channels
    last.
    """
    if seen.rough is None or known.rough is None:
        return None
    if _is_scrambled(seen.rough, known.rough[0]):
        what, fix = "these data", read_channels_first
    elif _is_scrambled(known.rough, seen.rough[0]):
        what, fix = "the calibration data", read_channels_last
    else:
        return None
    words = "give them as [N, H, W, C], or transpose, not reshape, them"
    mended = Remedy(words, fix=fix) if what == "these data" else Remedy(words, {})
    return Fault(
        name,
        f"{name}: {what} seem to have their channels first in memory, [N, C, H, W], and are read "
        f"as channels last: neighboring pixels differ more than in the other data",
        (mended,),
    )


def _is_scrambled(rough: tuple[float, float], other: float) -> bool:
    """True if images are rougher than the others as they are, and not in the other layout."""
    now, undone = rough
    nearer = abs(np.log(undone / other)) < abs(np.log(now / other)) / 2 if undone * other else False
    return now > _ROUGHER * max(other, undone) and bool(nearer)


def _compare_channels(name: str, seen: InputSummary, known: InputSummary) -> Optional[Fault]:
    """Return the fault of three channels in the reverse order."""
    if len(seen.mean) != 3 or min(seen.samples, known.samples) < _SAMPLES:
        return None
    mine, theirs, error = _array(seen.mean), _array(known.mean), _pool_errors(seen, known)
    given, turned = (np.abs(each - theirs).max() / error for each in (mine, mine[::-1]))
    if given < _SURE or turned > given / 4:
        return None
    return Fault(
        name,
        f"{name}: the means of channels 0, 1, 2 are {_spell(mine)}, of the calibration "
        f"{_spell(theirs)}, which is the reverse order: one is RGB, and the other BGR",
        (Remedy("reverse the channels of these", fix=lambda x: x[..., ::-1]),),
    )


def _compare_means(name: str, seen: InputSummary, known: InputSummary) -> Optional[Fault]:
    """Return the fault of data that are shifted against those of the calibration."""
    if min(seen.samples, known.samples) < _SAMPLES:
        return None
    shift = np.abs(_array(seen.mean) - _array(known.mean))
    channel = int(shift.argmax())
    if shift[channel] < max(_SHIFT * _pool(known), _SURE * _pool_errors(seen, known)):
        return None
    return Fault(
        name,
        f"{name}: the mean of channel {channel} is {seen.mean[channel]:.4g}, of the calibration "
        f"{known.mean[channel]:.4g}: was the mean subtracted from one of both alone",
        (
            Remedy("shift these by the difference", fix=_match(seen, known, scale=False)),
            _RECALIBRATE,
        ),
    )


def _match(seen: InputSummary, known: InputSummary, scale: bool = True) -> Fix:
    """Return a function that gives inputs the means, and perhaps the deviation, of others."""
    mine, theirs = _array(seen.mean), _array(known.mean)
    factor = _pool(known) / _pool(seen) if scale else 1.0
    return lambda x: (x - mine) * factor + theirs


def _name_factor(ratio: float) -> float:
    """Return the usual factor near a ratio, or the ratio."""
    for factor in _NAMED:
        for usual in (factor, 1 / factor):
            if abs(ratio / usual - 1) < _NEAR:
                return usual
    return ratio


def _pool(summary: InputSummary) -> float:
    return float(np.sqrt(np.mean(np.square(summary.std))))


def _pool_errors(seen: InputSummary, known: InputSummary) -> float:
    """Return the standard error of a difference of means; never 0."""
    squares = np.square(seen.error) + np.square(known.error)
    return float(np.sqrt(squares.max())) + 1e-30


def _array(values: tuple[float, ...]) -> np.ndarray:
    return np.array(values, np.float64)


def _spell(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
