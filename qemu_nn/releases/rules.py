"""Differences of releases from those whose rows compute their calls: one table of rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Callable, Optional

from ..errors import Refused, SizeMismatch
from .table import BY_NAME, NUMBERS, Release, place_of

#: Fields of an op's parameters.
Fields = Mapping[str, int]

#: Values of `kernel` in csrc/include/qn_params_s.h: Arm's functions of one op.
_WRAPPER, _GENERAL, _FAST, _ROW, _OPT, _3X3 = 0, 1, 3, 4, 5, 6

_LEGACY_ROUNDINGS = ("nearest", "truncate")


@dataclass(frozen=True)
class Call:
    """A call of an op, as a release computes it.

    op: its name and type. is_legacy: True of the q7 and q15 API. path, rounding: of the profile.
    release: whose rows compute it; one of NUMBERS. fields: of its parameters; None: any. null_bias:
    True if C gets NULL as the bias. warnings: the faults of the release in this call.
    """

    op: str
    is_legacy: bool
    path: str
    rounding: str
    release: str = ""
    fields: Optional[Fields] = None
    null_bias: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """The profile as csrc/include/qn.h counts it."""
        path = ("m0", "scalar", "mve", "dsp").index(self.path)
        return 8 * NUMBERS[self.release] + 2 * path + (self.rounding in ("truncate", "single"))

    @property
    def bit(self) -> int:
        """The bit of a mask of profiles."""
        single = self.path == "mve" and self.rounding in ("truncate", "single")
        path = 4 if single else ("m0", "scalar", "mve", "dsp").index(self.path)
        return 5 * NUMBERS[self.release] + path


@dataclass(frozen=True)
class Rule:
    """A difference between releases.

    ops: of the calls; (): all. first, last: states of the table. commit: that ended the difference,
    or began it if it still exists. smallest: an input that shows it. source: "m" measured on
    emulated cores, "r" read in Arm's sources. paths, roundings: of the profiles. when: True for the
    fields of a call; None: all calls. null_bias: True for calls that pass NULL as the bias alone.
    release, path: whose bits these calls have. change: new values of fields. refused: why the
    release gives no result; is_status: it returns an error. warning: the fault of the result.
    """

    ops: tuple[str, ...]
    first: str
    last: str
    commit: str
    smallest: str
    source: str = "m"
    paths: tuple[str, ...] = ("m0", "scalar", "mve", "dsp")
    roundings: tuple[str, ...] = (*_LEGACY_ROUNDINGS, "double", "single")
    when: Optional[Callable[[Fields], bool]] = None
    null_bias: bool = False
    release: Optional[str] = None
    path: Optional[str] = None
    change: Mapping[str, Callable[[Fields], int]] = field(default_factory=dict)
    refused: str = ""
    is_status: bool = False
    warning: str = ""

    def holds_for(self, state: Release) -> bool:
        """True if the rule holds for a state."""
        return place_of(self.first) <= state.place <= place_of(self.last)

    def words(self) -> str:
        """Return the effect of the rule: "refused: ...", "warns: ...", or whose bits it has."""
        if self.refused:
            return f"refused: {self.refused}"
        if self.warning:
            return f"warns: {self.warning}"
        where = f" on {self.path}" if self.path else ""
        fields = f"; {', '.join(self.change)} changed" if self.change else ""
        return f"has the bits of {self.release or 'its base'}{where}{fields}"

    def holds(self, call: Call) -> bool:
        """True if the rule says how its states compute a call."""
        return (
            (call.op in self.ops or not self.ops)
            and call.path in self.paths
            and call.rounding in self.roundings
            and self._fits(call)
        )

    def _fits(self, call: Call) -> bool:
        """True if the parameters of a call are those of the rule; of any call, if it has none."""
        if self.null_bias and not call.null_bias:
            return False
        return self.when is None or (call.fields is not None and self.when(call.fields))

    def apply(self, call: Call, state: str) -> Call:
        """Return the call as the rule computes it; raise Refused where the release does not."""
        if self.refused and call.fields is not None:
            error = SizeMismatch if self.is_status else Refused
            raise error(f"CMSIS {state}: {self.refused}")
        fields = call.fields
        if fields is not None and self.change:
            fields = {**fields, **{name: new(fields) for name, new in self.change.items()}}
        return replace(
            call,
            release=self.release or call.release,
            path=self.path or call.path,
            fields=fields,
            warnings=(*call.warnings, *filter(None, [self.warning])),
        )


def _constant(value: int) -> Callable[[Fields], int]:
    return lambda fields: value


def _is_point(p: Fields) -> bool:
    """True for a convolution of single pixels that the wrapper gives to the fast function."""
    ones = ("filter_h", "filter_w", "stride_h", "stride_w")
    return all(p[name] == 1 for name in ones) and p["pad_h"] == p["pad_w"] == 0


def _is_row(p: Fields) -> bool:
    """True for a convolution of one row, of its own function or of the wrapper."""
    flat = p["input_h"] == p["filter_h"] == p["dilation_w"] == 1 and not _is_point(p)
    return p["kernel"] == _ROW or (p["kernel"] == _WRAPPER and flat)


def _pads_apart(p: Fields) -> tuple[int, int]:
    """Return all padding of one row, and the odd pixel of it."""
    total = (p["output_w"] - 1) * p["stride_w"] + p["filter_w"] - p["input_w"]
    return total, total - 2 * int(total / 2)


def _row_fails(p: Fields) -> bool:
    """True if Arm's function of one row answers -3 on Helium, from 4.1.0 on."""
    total, odd = _pads_apart(p)
    sides = [(p["pad_w"] + more + p["stride_w"] - 1) // p["stride_w"] for more in (0, odd)]
    return p["pad_w"] * 2 + odd != total or sum(sides) > p["output_w"]


def _is_dilated(p: Fields) -> bool:
    return p["dilation_h"] != 1 or p["dilation_w"] != 1


def _taps(p: Fields) -> int:
    return p["filter_h"] * p["filter_w"] * p["input_c"]


def _columns_fit(p: Fields) -> bool:
    """True if the padding of a transposed convolution gives the sides of its input."""
    return all(
        int(
            (p[f"output_{a}"] + p[f"pad_offset_{a}"] + p[f"pad_{a}"] - p[f"filter_{a}"])
            / p[f"stride_{a}"]
        )
        + 1
        == p[f"input_{a}"]
        for a in "hw"
    )


def _is_batch(p: Fields) -> bool:
    return p["batches"] > 1


def _runs_opt(p: Fields) -> bool:
    """True if the wrapper of depthwise convolutions takes its optimized function."""
    own = p["kernel"] == _WRAPPER and p["ch_mult"] == 1 and not _is_dilated(p)
    return own or p["kernel"] == _OPT


def _runs_3x3(p: Fields) -> bool:
    """True if the wrapper of depthwise convolutions takes the function of 3 x 3 filters."""
    small = p["filter_h"] == p["filter_w"] == 3 and p["pad_h"] <= 1 and p["pad_w"] <= 1
    return p["kernel"] == _3X3 or (p["kernel"] == _WRAPPER and _runs_opt(p) and small)


_ONE = {"dilation_h": _constant(1), "dilation_w": _constant(1)}
_OLDEST, _NEWEST = "5fc96e5a", "main-2026-07"

#: Convolutions whose portable code had coordinates of 8 bits, and the other layers with weights.
_COORDINATES = tuple(
    f"{name}_{type}"
    for name, types in (
        *(("convolve", ("q7", "q15")), ("convolve_rgb", ("q7",))),
        *(("convolve_fast", ("q7", "q15")), ("convolve_fast_nonsquare", ("q15",))),
    )
    for type in types
)
_WEIGHTED = (
    *_COORDINATES,
    *("convolve_fast_nonsquare_q7", "convolve_1x1_fast_q7", "depthwise_q7"),
    *(f"fully_connected{opt}_{t}" for opt in ("", "_opt") for t in ("q7", "q15", "q7_q15")),
    *("mat_mult_q7_q15", "mat_mult_reordered_q7_q15"),
)
_SOFTMAX_Q7 = ("softmax_q7", "softmax_with_batch_q7")
_MULT = ("nn_mult_q7", "nn_mult_q15")
_POOL = ("max_pool_s8", "max_pool_s16", "avgpool_s8", "avgpool_s16")
_CONV_S8, _CONV_S16, _CONV_S4 = (f"convolve_wrapper_{type}" for type in ("s8", "s16", "s4"))
_DEPTHWISE_S8 = "depthwise_conv_wrapper_s8"
_PORTABLE = ("m0", "scalar", "mve")
_NULL = "it reads a NULL bias at address 0; pass an array of zeros"

# fmt: off
_LEGACY_RULES = (
    Rule(
        (), "04c0b9a8", "5.8.0", "68e9b601", "any call",
        paths=("mve",), roundings=_LEGACY_ROUNDINGS, path="dsp",
    ),
    Rule(
        _WEIGHTED, "f7e96efd", "c43379be", "f4b2bc08", "out_shift 31: R is +2^30, not -2^30",
        release="5.6.0",
    ),
    Rule(
        _COORDINATES, "01f5b32b", "c43379be", "5db489d1", "dim_im_in 140 on a Cortex-M3",
        paths=_PORTABLE, release="5.8.0",
    ),
    Rule(
        ("convolve_fast_q15",), "c43379be", "c43379be", "78ed0ac4", "dim_im_out 3",
        paths=("dsp",),
        when=lambda p: p["dim_im_out_x"] % 2 != 0,
        refused="dim_im_out must be even on a core with the DSP extension",
        is_status=True,
    ),
    Rule(
        _MULT, "42606930", "5.5.1", "4acefe19", "-2 * 3 with out_shift 1 gives -3",
        release="5.4.0",
    ),
    Rule(
        ("nn_mult_q15",), "f7e96efd", "c43379be", "f4b2bc08", "out_shift 31",
        release="5.8.0", path="scalar",
    ),
    Rule(
        ("activation_q7",), _OLDEST, "4e515bb6", "ce46c7c2", "x = -1, int_width 0",
        release="5.3.0",
    ),
    Rule(_SOFTMAX_Q7, _OLDEST, "5.3.0", "e4422e26", "the row 0", release="5.3.0"),
    Rule(_SOFTMAX_Q7, "04c0b9a8", "8a4db53f", "ede5bd3e", "the row 0 0", release="5.9.0"),
    Rule(
        _SOFTMAX_Q7, "b214a23d", "f7e96efd", "9cb4c17e", "the row -10 -124 43 33",
        paths=("dsp",), release="5.7.0",
    ),
    Rule(
        ("softmax_q15",), _OLDEST, "5.3.0", "4e515bb6", "the row 0 gives 16384",
        release="5.3.0",
    ),
    Rule(
        ("maxpool_q7",), _OLDEST, "5.5.1", "355e16af", "the rows 1 2 and 3 4 give 1",
        paths=("dsp",), release="5.4.0",
    ),
    Rule(
        ("expand_reordered_q7_q15",), "f7e96efd", "5.8.0", "68e9b601", "0 1 2 3 gives 0 2 1 3",
        release="5.6.0",
    ),
    Rule(
        ("accumulate_q7_q15",), "04c0b9a8", "5.8.0", "68e9b601", "32767 + 1 saturates",
        release="5.9.0", path="dsp",
    ),
    Rule(
        (
            "expand_offset_q7_q15", "expand_reordered_offset_q7_q15", "nn_add_q7_q31",
            "relu6_s8", "max_pool_s8", "avgpool_s8",
        ),
        "04c0b9a8", "8a4db53f", "537617fd", "none: 5.6.0 has no such function",
        release="5.9.0",
    ),
    Rule(
        ("expand_reordered_offset_q7_q15",), "04c0b9a8", "d76d5e3a", "b2937134", "any call",
        paths=("dsp",),
        refused="the function does nothing unless ARM_MATH_LOOPUNROLL is defined",
    ),
)

_AFFINE_RULES = (
    Rule(
        (), "d76d5e3a", "8a4db53f", "f7e96efd", "512 equal classes of softmax",
        paths=("mve",), path="dsp",
    ),
    Rule(
        _POOL, "d76d5e3a", "5.0.0", "c9c8b3d4", "two images of one pixel",
        when=_is_batch,
        change={"batches": _constant(1)},
        warning="only the first image of a batch is pooled; the other outputs are what the memory "
        "held",
    ),
    Rule(
        ("max_pool_s8",), "01f5b32b", "01f5b32b", "07bb28ed", "3 channels",
        paths=("mve",),
        refused="max pooling writes after its output on this core",
    ),
    Rule(
        ("fully_connected_s8",),
        "59d62498", "2a999a2f", "72e1ebf6", "input 2 15, filter_offset 1",
        when=lambda p: p["filter_offset"] != 0,
        change={"filter_offset": _constant(0)},
        warning="filter_offset is ignored: it counts as 0",
    ),
    Rule(
        ("fully_connected_s16",), "c43379be", "977abe98", "8578bbed", "513 input channels",
        paths=("dsp",),
        when=lambda p: p["input_c"] > 512,
        refused="sums of more than 512 products wrap in 32 bits on a core with the DSP extension",
    ),
    Rule(
        (_CONV_S8,), "d76d5e3a", "bff28575", "2d81a20d", "dilation_w 2",
        when=_is_dilated, change=_ONE,
        warning="the dilation is ignored: it counts as 1",
    ),
    Rule(
        (_DEPTHWISE_S8,), "d76d5e3a", "bff28575", "977abe98", "dilation_w 2",
        when=_is_dilated, change=_ONE,
        warning="the dilation is ignored: it counts as 1",
    ),
    Rule(
        (_CONV_S16,), "c43379be", "977abe98", "4946da8d", "dilation_w 2",
        when=_is_dilated, change=_ONE,
        warning="the dilation is ignored: it counts as 1",
    ),
    Rule(
        (_CONV_S8,), "d76d5e3a", "5.0.0", "ffeca904", "2 groups of 1 channel",
        when=lambda p: p["filter_c"] != p["input_c"],
        refused="it has no convolutions in groups and reads after the weights",
    ),
    Rule(
        (_CONV_S8,), "d76d5e3a", "8a4db53f", "ca314a5f", "two images of one pixel",
        when=lambda p: p["batches"] > 1 and p["kernel"] != _FAST,
        refused="it computes wrong values for a batch of images and writes after its output; call "
        "it for each image",
    ),
    Rule(
        (_CONV_S8,), "b214a23d", "6a18a74b", "8ec46de3", "two images of 4 pixels",
        paths=("mve",),
        when=lambda p: p["batches"] > 1 and p["kernel"] == _ROW,
        refused="a convolution of one row computes wrong values for a batch on this core",
    ),
    Rule(
        (_CONV_S8,), "b214a23d", "d071e9f7", "365f4b58", "output_w 5",
        when=lambda p: p["kernel"] == _ROW and p["output_w"] % 4 != 0,
        refused="output_w of a convolution of one row must be a multiple of 4; use arm_convolve_s8",
        is_status=True,
    ),
    Rule(
        (_CONV_S8,), "5969db41", "d071e9f7", "365f4b58", "input_h 2",
        when=lambda p: p["kernel"] == _ROW and (p["input_h"] != 1 or p["dilation_w"] != 1),
        refused="a convolution of one row needs input_h = 1 and dilation_w = 1",
        is_status=True,
    ),
    Rule(
        (_CONV_S8,), "4.1.0", "6cc31fb3", "2ef559d3", "input_w 3, filter_w 5",
        paths=("mve",),
        when=lambda p: _is_row(p) and p["stride_w"] * p["input_c"] % 4 == 0 and _row_fails(p),
        refused="the device answers -3 to a convolution of one row on this core, unless it is "
        "padded on the left by half of all its padding, rounded down",
        is_status=True,
    ),
    Rule(
        (_CONV_S8,), "f7e96efd", "6cc31fb3", "2ef559d3", "input_w 5, filter_w 2, stride_w 2",
        paths=("mve",), roundings=("single",),
        when=lambda p: _is_row(p) and p["pad_w"] + _pads_apart(p)[1] != 0,
        refused="the right edge of a convolution of one row, built for single rounding on this "
        "core, is not recorded",
    ),
    Rule(
        (_CONV_S8,), "f7e96efd", "6cc31fb3", "2ef559d3", "input_w 5, filter_w 2, stride_w 2",
        paths=("mve",), roundings=("double",), when=_is_row,
        path="scalar",
        change={"kernel": _constant(_GENERAL)},
    ),
    Rule(
        (_CONV_S8,), "d76d5e3a", "d071e9f7", "365f4b58", "stride_w 1, input_c 3",
        paths=("m0", "scalar", "dsp"),
        when=_is_row,
        change={"kernel": _constant(_GENERAL)},
    ),
    Rule(
        (_CONV_S8,), "d76d5e3a", "6a18a74b", "e98ee09a", "input_c 3",
        when=lambda p: p["kernel"] == _FAST and p["input_c"] % 4 != 0,
        refused="input_c of arm_convolve_1x1_s8_fast must be a multiple of 4; use arm_convolve_s8",
        is_status=True,
    ),
    Rule(
        (_CONV_S8,), "d76d5e3a", "d76d5e3a", "b214a23d", "output_c 3",
        when=lambda p: p["kernel"] == _FAST and p["output_c"] % 2 != 0,
        refused="output_c of arm_convolve_1x1_s8_fast must be even; use arm_convolve_s8",
        is_status=True,
    ),
    Rule(
        (_CONV_S8,), "d76d5e3a", "f7e96efd", "e513dbdb", "one pixel without a bias",
        null_bias=True, refused=_NULL,
    ),
    Rule(
        (_CONV_S8,), "01f5b32b", "c43379be", "e513dbdb", "one pixel without a bias",
        paths=("dsp",),
        when=lambda p: not (p["kernel"] == _FAST or (p["kernel"] == _WRAPPER and _is_point(p))),
        null_bias=True, refused=_NULL,
    ),
    Rule(
        ("fully_connected_s8",), "d76d5e3a", "01f5b32b", "6049661f", "one pixel without a bias",
        null_bias=True, refused=_NULL,
    ),
    Rule(
        (_DEPTHWISE_S8,), "d76d5e3a", "bff28575", "1520e299", "one pixel without a bias",
        null_bias=True, refused=_NULL,
    ),
    Rule(
        (_DEPTHWISE_S8,), "977abe98", "6a18a74b", "1520e299", "one pixel without a bias",
        when=lambda p: _runs_opt(p) or _runs_3x3(p),
        null_bias=True, refused=_NULL, paths=("mve", "dsp"),
    ),
    Rule(
        (_DEPTHWISE_S8,), "977abe98", "6a18a74b", "1520e299", "one pixel without a bias",
        when=_runs_3x3,
        null_bias=True, refused=_NULL, paths=("m0", "scalar"),
    ),
    Rule(
        ("svdf_s8", "svdf_s16_s8"), "01f5b32b", "0d7e4fa7", "fbe8d606", "no bias",
        null_bias=True, refused=_NULL,
    ),
    Rule(
        (_DEPTHWISE_S8,), "d76d5e3a", "09e071b5", "1b9265ef", "two images of one pixel",
        when=lambda p: p["batches"] > 1 and not _runs_opt(p),
        change={"batches": _constant(1)},
        warning="only the first image of a batch is computed; the other outputs are what the "
        "memory held",
    ),
    Rule(
        (_DEPTHWISE_S8,), "d76d5e3a", "09e071b5", "1b9265ef", "two images of one pixel",
        paths=("m0", "scalar"),
        when=lambda p: p["batches"] > 1 and _runs_opt(p),
        change={"batches": _constant(1)},
        warning="only the first image of a batch is computed; the other outputs are what the "
        "memory held",
    ),
    Rule(
        (_CONV_S16,), "c43379be", "8492d82a", "15dbe7cd", "a bias of 32 bits",
        when=lambda p: p["bias_is_int32"] == 1,
        change={"bias_is_int32": _constant(0)},
    ),
    Rule(
        (_CONV_S16,), "c43379be", "6cc31fb3", "1af62f87", "one pixel without a bias",
        paths=("dsp",),
        when=lambda p: p["kernel"] == _WRAPPER and not _is_dilated(p) and _taps(p) < 512,
        change={"bias_is_int32": _constant(1)},
        null_bias=True,
        warning="without a bias sums are rounded with the multiplier's 32 bits on this core",
    ),
    Rule(
        ("elementwise_add_s8",), "d76d5e3a", "0d7e4fa7", "fbe8d606", "left_shift 15",
        paths=("dsp",),
        when=lambda p: p["left_shift"] < 16,
        path="scalar",
    ),
    Rule(
        ("softmax_s8",), "d76d5e3a", "d76d5e3a", "b214a23d", "the row 100 -100",
        refused="diff_min and differences of values have 8 bits: values 128 below the maximum "
        "count as values above it",
    ),
    Rule(
        ("nn_activation_s16",), "4.0.0", "5.0.0", "601d96c6", "left_shift -1, x = 1",
        when=lambda p: p["left_shift"] < 0,
        change={"left_shift": _constant(-30)},
        warning="a left_shift below 0 counts as a large one: all inputs count as 0",
    ),
    Rule(
        ("transpose_conv_wrapper_s8",),
        "ca476254", "f2cb41ca", "ca476254", "output_h 3, pad_offset_h 1, stride_h 3",
        when=lambda p: p["kernel"] <= _GENERAL and not _columns_fit(p),
        refused="(output + pad_offset + pad - filter) / stride + 1 must be the input's side: "
        "otherwise it reads sums that it has not computed",
    ),
    Rule(
        ("transpose_conv_wrapper_s8",),
        "ca476254", "f2cb41ca", "628c103e", "pad_h 1, stride_h 2",
        release="6.0.0",
        change={"kernel": lambda p: p["kernel"] or _GENERAL},
    ),
    Rule(
        ("transpose_conv_wrapper_s8",),
        "4ab83cc3", "dbf45dbf", "4a8f5b5d", "pad_h 1, stride_h 2",
        when=lambda p: p["kernel"] <= _GENERAL and p["pad_h"] % p["stride_h"] != 0,
        refused="pad_h must be a multiple of stride_h: otherwise rows are too high and the last "
        "ones are never written",
    ),
    Rule(
        ("svdf_s8",), "184ccfd0", "d071e9f7", "61d1bb6c", "3 filters",
        paths=("mve",),
        when=lambda p: p["units"] * p["rank"] % 3 == 0,
        refused="it writes a byte after the state, where the number of filters is a multiple of 3",
    ),
    Rule(
        (_CONV_S4,), "5.0.0", "f2cb41ca", "628c103e", "1 x 1, multiplier 2^30, shift 1",
        paths=("mve",), roundings=("single",),
        refused="packed convolutions built for single rounding on this core are not recorded",
    ),
)

# fmt: on
#: Every difference, in the order in which they are applied.
RULES = (*_LEGACY_RULES, *_AFFINE_RULES)


def base(state: str, is_legacy: bool) -> str:
    """Return the release whose bits a state has, if no rule says otherwise."""
    place = place_of(state)
    if is_legacy:
        return "5.6.0" if place <= place_of("8a4db53f") else "5.9.0"
    return "7.0.0" if place < place_of("4ab83cc3") else "main-2026-07"


@cache
def _rules_of(state: str, is_legacy: bool) -> tuple[Rule, ...]:
    """Return the rules that hold for a state."""
    return tuple(
        rule
        for rule in (_LEGACY_RULES if is_legacy else _AFFINE_RULES)
        if rule.holds_for(BY_NAME[state])
    )


def computed_as(state: str, call: Call) -> Call:
    """Return a call as a state computes it: the release whose rows do, path and fields.

    Raises
    ------
    Refused
        The state gives no defined result; the sentence says why.
    SizeMismatch
        The state answers a status.
    """
    call = replace(call, release=base(state, call.is_legacy))
    for rule in _rules_of(state, call.is_legacy):
        if rule.holds(call):
            call = rule.apply(call, state)
    return call
