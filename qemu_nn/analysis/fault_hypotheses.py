"""Hypotheses on faults of firmware: each changes a layer's call, or gives its output outright.

CALLS and OUTPUTS are the tables. A new hypothesis is a generator and a line there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import prod
from typing import Callable, Optional

import numpy as np

from ..functions import FUNCTIONS, layouts
from .layer_call import LayerCall

#: Letters of the axes of weights, by their number.
_LETTERS = {4: "OHWI", 3: "HWC"}

#: Scalar arguments that scale, and those that are positions in memory and no zero points.
_SCALE = re.compile(r"(shift|mult|multiplier|int_width|diff_min|cell_clip|cell_scale_power)$")
_POSITIONS = ("batch_offset", "state_offset")

#: Suffixes of the arguments of both axes.
_AXES = (("_h", "_w"), ("_y", "_x"))

#: Stems of arguments of both axes, in the s8 and in the legacy functions.
_SIDES: tuple[str, ...] = ("input", "filter", "output", "stride", "pad", "dilation")
_SIDES += ("dim_im_in", "dim_kernel", "dim_im_out", "padding")

#: Fewest elements that a clamp changes; fewer may be the largest ones by chance.
_FEWEST_CLAMPED = 3

#: Largest shift that firmware passes.
_MOST_SHIFT = 15


@dataclass(frozen=True, eq=False)
class Evidence:
    """Known bytes of a layer whose inputs were right.

    want, got: flat, right and wrong. tensors: results of the same sample, by name, without the
    layer's own. earlier: all results of the sample before, by name; empty if unknown. reads: names
    of the layer's inputs, if known. image: shape of the first input's tensor. layers: weights and
    bias of the other layers.
    """

    layer: str
    call: LayerCall
    want: np.ndarray
    got: np.ndarray
    tensors: Mapping[str, np.ndarray] = field(default_factory=dict)
    earlier: Mapping[str, np.ndarray] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    image: tuple[int, ...] = ()
    layers: Mapping[str, tuple[Optional[np.ndarray], Optional[np.ndarray]]] = field(
        default_factory=dict
    )


#: A hypothesis: its sentence, and the call that computes its output.
Calls = Iterator[tuple[str, LayerCall]]

#: A hypothesis: its sentence, and its output.
Outputs = Iterator[tuple[str, np.ndarray]]


# ---- scalar arguments ----


def _set(call: LayerCall, **params: int) -> tuple[str, LayerCall]:
    """Return a call with other scalar arguments, in words."""
    changed = {name: value for name, value in params.items() if value != call.params[name]}
    words = [f"{name} is {value} instead of {call.params[name]}" for name, value in changed.items()]
    return " and ".join(words), call.with_params(**params)


def _vary_scales(evidence: Evidence) -> Calls:
    """Yield shifts and multipliers off by one, negated, absent, and exchanged."""
    call, params = evidence.call, evidence.call.params
    for name in filter(_SCALE.search, params):
        value = params[name]
        for other in dict.fromkeys((value + 1, value - 1, -value, 0)):
            if other != value:
                yield _set(call, **{name: other})
    if {"bias_shift", "out_shift"} <= set(params):
        yield _swap(call, "bias_shift", "out_shift")
        for name in ("bias_shift", "out_shift"):
            near = range(params[name] - 1, params[name] + 2)
            for other in set(range(1, _MOST_SHIFT + 1)) - set(near):
                yield _set(call, **{name: other})
    if {"input_1_mult", "input_2_mult"} <= set(params):
        pairs = [(f"input_1_{end}", f"input_2_{end}") for end in ("offset", "mult", "shift")]
        swapped = {a: params[b] for pair in pairs for a, b in (pair, pair[::-1])}
        yield "both inputs, or their arguments, are exchanged", call.with_params(**swapped)


def _swap(call: LayerCall, one: str, two: str) -> tuple[str, LayerCall]:
    swapped = {one: call.params[two], two: call.params[one]}
    return f"{one} and {two} are exchanged", call.with_params(**swapped)


def _vary_offsets(evidence: Evidence) -> Calls:
    """Yield zero points with the other sign, absent, off by one, and exchanged."""
    call, params = evidence.call, evidence.call.params
    names = [n for n in params if re.search(r"(^|_)offset$", n) and n not in _POSITIONS]
    for name in names:
        value = params[name]
        if value:
            yield f"{name} has the other sign, {-value}", call.with_params(**{name: -value})
            yield f"{name} is absent: 0 instead of {value}", call.with_params(**{name: 0})
        for other in (value + 1, value - 1):
            if other not in (0, -value):
                yield _set(call, **{name: other})
    if len(names) > 1 and any(params[name] for name in names):
        yield "all offsets are absent", call.with_params(**dict.fromkeys(names, 0))
        opposite = {name: -params[name] for name in names}
        yield "all offsets have the other sign", call.with_params(**opposite)
    for at, one in enumerate(names):
        for two in names[at + 1 :]:
            if params[one] != params[two]:
                yield _swap(call, one, two)


def _vary_ranges(evidence: Evidence) -> Calls:
    """Yield activations that are missing, or clamp to another range."""
    call, params = evidence.call, evidence.call.params
    if not {"act_min", "act_max"} <= set(params):
        return
    limits = np.iinfo(call.function.output.dtype)
    own, full = (params["act_min"], params["act_max"]), (int(limits.min), int(limits.max))
    got = evidence.got
    zero = params.get("output_offset", params.get("out_offset", 0))
    ranges = [full, (full[0], own[1]), (own[0], full[1]), (zero, full[1]), (0, full[1]), (0, 6)]
    explained = False
    for low, high in [*ranges, (int(got.min()), own[1]), (own[0], int(got.max()))]:
        missing = (low, high) == full
        fixed = (low, high) in ranges
        if (low, high) == own or low > high or (explained and not fixed):
            continue
        other = call.with_params(act_min=low, act_max=high)
        output = other.compute()
        explained |= output is not None and np.array_equal(output, got)
        what = "the activation is missing: it clamps" if missing else "the activation clamps"
        yield f"{what} to {[low, high]} instead of {list(own)}", other


def _vary_kind(evidence: Evidence) -> Calls:
    """Yield another kind of activation, and another function of the same arguments."""
    call = evidence.call
    own = call.function
    for name in (n for n in call.params if n == "type" or n.endswith("activation_type")):
        other = 1 - call.params[name]
        words = ("sigmoid", "tanh") if other == 0 else ("tanh", "sigmoid")
        yield "{} instead of {}".format(*words), call.with_params(**{name: other})
    for function in FUNCTIONS.values():
        if function.op != own.op and function.params == own.params:
            arrays = [*function.inputs, function.output, function.weights, function.bias]
            shapes = [a and (a.dtype, a.shape(call.params)) for a in arrays]
            mine = [*own.inputs, own.output, own.weights, own.bias]
            if shapes == [a and (a.dtype, a.shape(call.params)) for a in mine]:
                sentence = f"the function is {function.name} instead of {own.name}"
                yield sentence, replace(call, function=function)


# ---- windows ----


def _list_pairs(params: Mapping[str, int]) -> list[tuple[str, str, str]]:
    """Return stem and both arguments of everything that has two axes."""
    return [
        (stem, stem + y, stem + x)
        for stem in _SIDES
        for y, x in _AXES
        if stem + y in params and stem + x in params
    ]


def _vary_sides(evidence: Evidence) -> Calls:
    """Yield strides, dilations and sides that are absent, off by one, or exchanged."""
    call, params = evidence.call, evidence.call.params
    pairs = _list_pairs(params)
    for stem, y, x in pairs:
        if params[y] != params[x]:
            yield _swap(call, y, x)
        if stem in ("stride", "dilation"):
            for value in {1, params[y] - 1, params[y] + 1} - {0}:
                yield _set(call, **{y: value, x: value})
            yield from (_set(call, **{name: 1}) for name in (y, x) if params[name] != 1)
    if "stride" in params:
        for value in {1, params["stride"] - 1, params["stride"] + 1} - {0}:
            yield _set(call, stride=value)
    groups = [p for p in pairs if p[0] in ("input", "output", "dim_im_in", "dim_im_out")], pairs
    for words, group in zip(("image", "image, window, stride and padding"), groups):
        swapped = {a: params[b] for _, y, x in group for a, b in ((y, x), (x, y))}
        if any(params[name] != value for name, value in swapped.items()):
            yield f"height and width of {words} are exchanged", call.with_params(**swapped)


def _vary_padding(evidence: Evidence) -> Calls:
    """Yield padding of 0, on the other side, off by one, and with values other than the zero
    point.
    """
    call, params = evidence.call, evidence.call.params
    names = [n for n in params if re.fullmatch(r"pad(ding)?(_[hwyx])?", n)]
    if not names:
        if "pad_value" in params:
            for value in {0, -128, -params["pad_value"]} - {params["pad_value"]}:
                yield _set(call, pad_value=value)
        return
    if any(params[name] for name in names):
        yield "the padding is absent: 0 on all sides", call.with_params(**dict.fromkeys(names, 0))
    other = {name: _measure_end(params, name) for name in names}
    if other != {name: params[name] for name in names} and min(other.values()) >= 0:
        sentence = "the larger padding is on the other side: " + _spell(other)
        yield sentence, call.with_params(**other)
    for step in (1, -1):
        yield _set(call, **{name: max(0, params[name] + step) for name in names})
        if len(names) > 1:
            yield from (_set(call, **{n: params[n] + step}) for n in names if params[n] + step >= 0)
    yield from _pad_by_zeros(call)


def _measure_end(params: Mapping[str, int], name: str) -> int:
    """Return the padding after the last pixel of an axis, from that before its first."""
    stem, _, axis = name.partition("_")
    end = f"_{axis}" if axis else ""
    legacy = stem == "padding"
    size, kernel, out = (
        params[stem + end]
        for stem in (("dim_im_in", "dim_kernel", "dim_im_out") if legacy else _SIDES[:3])
    )
    reach = (kernel - 1) * params.get(f"dilation{end}", 1) + 1
    return (out - 1) * params[f"stride{end}"] + reach - size - params[name]


def _spell(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _pad_by_zeros(call: LayerCall) -> Calls:
    """Yield a border of zeros in place of the zero point."""
    params = call.params
    if not params.get("input_offset") or not (params.get("pad_h") or params.get("pad_w")):
        return
    if "input_c" not in params or "input_h" not in params:
        return
    n, h, w, c = (params[name] for name in ("batches", "input_h", "input_w", "input_c"))
    (top, left), (low, right) = (
        [params["pad_h"], params["pad_w"]],
        [max(0, _measure_end(params, name)) for name in ("pad_h", "pad_w")],
    )
    image = np.pad(call.inputs[0].reshape(n, h, w, c), ((0, 0), (top, low), (left, right), (0, 0)))
    sizes = {"input_h": h + top + low, "input_w": w + left + right, "pad_h": 0, "pad_w": 0}
    yield (
        "the border is padded with 0 instead of the zero point",
        call.with_params(**sizes).with_input(image),
    )


# ---- weights ----


def _vary_layout(evidence: Evidence) -> Calls:
    """Yield weights in another layout."""
    call = evidence.call
    function, weights = call.function, call.weights
    if function.weights is None or weights is None:
        return
    shape = function.weights.shape(call.params)
    if function.interleave or len(shape) == 2:
        yield from _vary_matrix(evidence, weights)
    sides = [side for side in shape if side > 1]
    if len(shape) < 3 or len(sides) < 2 or prod(shape) != weights.size:
        return
    names = "1HWC" if shape[0] == 1 and len(shape) == 4 else _LETTERS[len(shape)]
    stored = weights.reshape(shape)
    seen = {tuple(axis for axis in range(len(shape)) if shape[axis] > 1)}
    for order in permutations(range(len(shape))):
        moved = tuple(axis for axis in order if shape[axis] > 1)
        if moved in seen:
            continue
        seen.add(moved)
        name = "".join(names[axis] for axis in order)
        sentence = f"the weights are laid out as {name} instead of {names}"
        yield sentence, replace(call, weights=np.ascontiguousarray(stored.transpose(order)))
    flipped = stored[..., ::-1, ::-1, :]
    yield (
        "the windows are rotated by 180 degrees",
        replace(call, weights=np.ascontiguousarray(flipped)),
    )


def _vary_matrix(evidence: Evidence, weights: np.ndarray) -> Calls:
    """Yield a matrix in another layout: transposed, in another stream, or for a flattened CHW."""
    call, own = evidence.call, evidence.call.function.interleave
    rows = _row(call, 0).size if call.bias is not None else 0
    if not rows or weights.size % rows:
        return
    columns = weights.size // rows
    matrix = layouts.unpack(weights, rows, columns, own) if own else weights.reshape(rows, columns)

    def lay(values: np.ndarray, stream: Optional[str]) -> LayerCall:
        flat = layouts.pack(values, stream) if stream else values
        return replace(call, weights=np.ascontiguousarray(flat))

    plain = "rows one after another"
    for stream in (None, "q7", "q15", "q7_q15"):
        if stream != own and (own or call.function.name.startswith("arm_fully_connected")):
            words = f"the stream of the {stream} _opt function" if stream else plain
            right = f"the stream of the {own} _opt function" if own else plain
            yield f"the weights are {words} instead of {right}", lay(matrix, stream)
    flipped = np.ascontiguousarray(matrix.T).reshape(rows, columns)
    yield "the matrix of weights is transposed", lay(flipped, own)
    if len(evidence.image) == 3 and prod(evidence.image) == columns:
        sides = (evidence.image[0], evidence.image[1], evidence.image[2])
        sentence = "the columns of the weights are for an image flattened as CHW instead of HWC"
        yield sentence, lay(layouts.dense_to_chw(matrix, sides), own)


def _vary_layer(evidence: Evidence) -> Calls:
    """Yield the arrays of another layer."""
    call = evidence.call
    for name, (weights, bias) in evidence.layers.items():
        cut = _cut(weights, call.weights), _cut(bias, call.bias)
        if cut[0] is not None:
            yield f"the weights are those of {name}", replace(call, weights=cut[0])
        if cut[1] is not None:
            yield f"the bias is that of {name}", replace(call, bias=cut[1])
        if cut[0] is not None and cut[1] is not None:
            both = replace(call, weights=cut[0], bias=cut[1])
            yield f"weights and bias are those of {name}", both
        yield from _take_channels(call, name, bias)


def _cut(other: Optional[np.ndarray], own: Optional[np.ndarray]) -> Optional[np.ndarray]:
    """Return the first elements of another array as one's own; None if they are too few."""
    if other is None or own is None or other.dtype != own.dtype or other.size < own.size:
        return None
    return np.array(other.ravel()[: own.size]).reshape(own.shape)


# ---- bias, multipliers and shifts ----


def _rows_of(call: LayerCall) -> dict[str, int]:
    """Return name -> index of the rows of a layer's bias; a plain bias has one."""
    if call.bias is None:
        return {}
    return {row.name: at for at, row in enumerate(call.function.stack)} or {"bias": 0}


def _with_row(call: LayerCall, row: int, values: np.ndarray) -> LayerCall:
    assert call.bias is not None
    count = max(1, len(call.function.stack))
    rows = call.bias.reshape(count, -1).copy()
    rows[row] = values
    return replace(call, bias=rows.reshape(call.bias.shape))


def _row(call: LayerCall, row: int) -> np.ndarray:
    assert call.bias is not None
    values: np.ndarray = call.bias.reshape(max(1, len(call.function.stack)), -1)[row]
    return values


def _vary_bias(evidence: Evidence) -> Calls:
    """Yield a bias that is absent, narrow, of another shift, or in another order."""
    call = evidence.call
    for name, at in _rows_of(call).items():
        if not name.endswith("bias"):
            continue
        own = _row(call, at)
        if own.any():
            yield f"the {name} is absent", _with_row(call, at, np.zeros_like(own))
        for narrow in ("int8", "int16"):
            if np.dtype(narrow).itemsize < own.dtype.itemsize:
                limits = np.iinfo(narrow)
                wrapped, clipped = own.astype(narrow), np.clip(own, limits.min, limits.max)
                yield f"the {name} is stored as {narrow}", _with_row(call, at, wrapped)
                yield f"the {name} is saturated to {narrow}", _with_row(call, at, clipped)
        wide = own.astype(f"int{16 * own.dtype.itemsize}") if own.dtype.itemsize < 8 else own
        split = wide.view(own.dtype)[: own.size]
        sentence = f"the {name} is stored as {wide.dtype}, but read as {own.dtype}"
        yield sentence, _with_row(call, at, split)
        yield f"the {name} has the other sign", _with_row(call, at, -own)
        for shift in range(1, 9):
            for way, moved in (("left", own << shift), ("right", own >> shift)):
                yield f"the {name} is shifted {way} by {shift}", _with_row(call, at, moved)
        yield from _correct_twice(call, name, at, own)


def _correct_twice(call: LayerCall, name: str, at: int, own: np.ndarray) -> Calls:
    """Yield a bias that already contains the sums of weights times the input's offset."""
    offset, weights = call.params.get("input_offset", 0), call.weights
    if not offset or weights is None or weights.size % own.size:
        return
    depthwise = call.function.weights is not None and call.function.weights.axes[0] == 1
    order = (-1, own.size) if depthwise else (own.size, -1)
    sums = weights.reshape(order).sum(axis=0 if depthwise else 1, dtype=np.int64) * offset
    sentence = f"the {name} already contains the sums of weights times input_offset"
    yield sentence, _with_row(call, at, (own + sums).astype(own.dtype))


def _vary_channels(evidence: Evidence) -> Calls:
    """Yield multipliers and shifts of all channels off by one, negated, or one for all."""
    call, rows = evidence.call, _rows_of(evidence.call)
    if not {"multiplier", "shift"} <= set(rows):
        return
    for name in ("multiplier", "shift"):
        own = _row(call, rows[name])
        for words, other in (
            ("one too large", own + 1),
            ("one too small", own - 1),
            ("of the other sign", -own),
            ("0", np.zeros_like(own)),
        ):
            yield f"the {name} of every channel is {words}", _with_row(call, rows[name], other)
        if len(set(own.tolist())) > 1:
            sentence = f"every channel has the {name} of the first: per tensor, not per channel"
            first = np.full_like(own, own[0])
            yield sentence, _with_row(call, rows[name], first)
    multiplier, shift = (_row(call, rows[name]) for name in ("multiplier", "shift"))
    largest = int(np.argmax(np.ldexp(multiplier.astype(np.float64), shift)))
    for words, at in (("first", 0), ("last", -1), ("largest", largest)):
        one = _with_row(call, rows["multiplier"], np.full_like(multiplier, multiplier[at]))
        one = _with_row(one, rows["shift"], np.full_like(shift, shift[at]))
        yield f"every channel has the scale of the {words}: per tensor, not per channel", one


def _take_channels(call: LayerCall, name: str, bias: Optional[np.ndarray]) -> Calls:
    """Yield the multipliers and shifts of another layer."""
    rows = _rows_of(call)
    if bias is None or call.bias is None or bias.dtype != call.bias.dtype or bias.ndim < 2:
        return
    if {"multiplier", "shift"} <= set(rows) and len(bias) == len(rows):
        count = _row(call, 0).size
        if bias.shape[1] >= count:
            other = call
            for row in ("multiplier", "shift"):
                other = _with_row(other, rows[row], bias[rows[row], :count])
            yield f"multipliers and shifts are those of {name}", other
            sole = _with_row(call, rows["bias"], bias[rows["bias"], :count])
            yield f"the bias alone is that of {name}", sole


# ---- inputs ----


def _vary_input(evidence: Evidence) -> Calls:
    """Yield inputs of another layout, sign, sample or tensor."""
    call = evidence.call
    if not call.inputs:
        return
    own = call.inputs[0].ravel()
    yield from _vary_input_layout(evidence, own)
    if own.dtype == np.int8:
        flipped = (own.view(np.uint8) ^ 0x80).view(np.int8)
        yield (
            "the input's bytes are unsigned: 128 is missing or added twice",
            call.with_input(flipped),
        )
    if own.dtype.itemsize > 1 and own.dtype.kind in "iu":
        yield "the input's bytes are swapped in each element", call.with_input(own.byteswap())
    if own.any():
        yield "the input is all zeros", call.with_input(np.zeros_like(own))
    alike = len({x.nbytes for x in call.inputs}) == 1 and "input_1_mult" not in call.params
    if len(call.inputs) == 2 and alike:
        yield "both inputs are exchanged", replace(call, inputs=call.inputs[::-1])
    for at, name in enumerate(evidence.reads[: len(call.inputs)]):
        if name in evidence.earlier:
            other = _fit(evidence.earlier[name], call.inputs[at])
            if other is not None:
                inputs = list(call.inputs)
                inputs[at] = other
                sentence = f"the input {name} is that of the sample before"
                yield sentence, replace(call, inputs=tuple(inputs))
    for name, values in evidence.tensors.items():
        for at, given in enumerate(call.inputs):
            other = _fit(values, given)
            if other is not None and name not in evidence.reads:
                inputs = list(call.inputs)
                inputs[at] = other
                yield (
                    f"it reads {name} instead of its own input",
                    replace(call, inputs=tuple(inputs)),
                )


def _vary_input_layout(evidence: Evidence, own: np.ndarray) -> Calls:
    call = evidence.call
    shape = tuple(s for s in evidence.image or call.function.inputs[0].shape(call.params) if s > 1)
    if len(shape) not in (2, 3) or prod(shape) != own.size:
        return
    names = "HWC" if len(shape) == 3 else "01"
    for order in list(permutations(range(len(shape))))[1:]:
        layout = "".join(names[axis] for axis in order)
        moved = np.ascontiguousarray(own.reshape(shape).transpose(order))
        yield f"the input is laid out as {layout} instead of {names}", call.with_input(moved)


def _fit(values: np.ndarray, like: np.ndarray) -> Optional[np.ndarray]:
    """Return the first elements of a tensor, as many as another has; None if they are too few or
    equal.
    """
    if values.dtype != like.dtype or values.size < like.size:
        return None
    found = values.ravel()[: like.size]
    return None if np.array_equal(found, like.ravel()) else found


#: Hypotheses that change a call, the fastest and most frequent first.
CALLS: tuple[tuple[str, Callable[[Evidence], Calls]], ...] = (
    ("scales", _vary_scales),
    ("offsets", _vary_offsets),
    ("ranges", _vary_ranges),
    ("padding", _vary_padding),
    ("sides", _vary_sides),
    ("bias", _vary_bias),
    ("channels", _vary_channels),
    ("layout", _vary_layout),
    ("layer", _vary_layer),
    ("input", _vary_input),
    ("kind", _vary_kind),
)


# ---- outputs ----


def _stale(evidence: Evidence) -> Outputs:
    """Yield earlier contents of the output's buffer: the layer did not run."""
    call, want = evidence.call, evidence.want
    if call.function.in_place and call.inputs:
        yield "the layer did not run: the buffer still has its input", call.inputs[0].ravel()
    if evidence.layer in evidence.earlier:
        sentence = "the layer did not run: the buffer still has its output of the sample before"
        yield sentence, evidence.earlier[evidence.layer].ravel()
    own = call.inputs[0].ravel() if call.function.in_place and call.inputs else None
    further = {f"{name} of the sample before": v for name, v in evidence.earlier.items()}
    for name, values in {**evidence.tensors, **further}.items():
        if values.nbytes >= want.nbytes and name != f"{evidence.layer} of the sample before":
            raw = values.ravel().view(np.uint8)[: want.nbytes].view(want.dtype)
            if own is None or not np.array_equal(raw, own):
                yield f"the layer did not run: the buffer still has {name}", raw
    yield "the layer did not run: the buffer has zeros only", np.zeros_like(want)


def _clamped(evidence: Evidence) -> Outputs:
    """Yield the right output, clamped by a step that does not belong to the layer."""
    want, got = evidence.want, evidence.got
    if want.dtype.kind not in "iu" or "act_min" in evidence.call.params:
        return
    low, high = int(got.min()), int(got.max())
    clamped = np.clip(want, low, high)
    if np.count_nonzero(clamped != want) >= _FEWEST_CLAMPED:
        yield f"the output is clamped to {[low, high]}", clamped


def _overlapping(evidence: Evidence) -> Outputs:
    """Yield outputs of overlapping memory."""
    for words, scratch in (("its input", False), ("its scratch memory", True)):
        found = evidence.call.compute_overlapped(scratch)
        if found is not None:
            yield f"the output lies on {words}: both begin at one address", found


#: Hypotheses that give the output.
OUTPUTS: tuple[tuple[str, Callable[[Evidence], Outputs]], ...] = (
    ("stale", _stale),
    ("clamped", _clamped),
    ("overlapping", _overlapping),
)


def iterate_outputs(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """Yield every hypothesis: its sentence, and the output that it would give.

    Of equal calls only the first is computed.
    """
    for _, give in OUTPUTS:
        yield from give(evidence)
    seen: set[tuple[object, ...]] = set()
    for _, vary in CALLS:
        for sentence, call in vary(evidence):
            key = call.make_key()
            if key not in seen:
                seen.add(key)
                output = call.compute()
                if output is not None:
                    yield sentence, output
