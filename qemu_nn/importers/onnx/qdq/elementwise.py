"""Element-wise operators of two tensors, and softmax, of quantized files."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Callable, Optional

import numpy as np

from ....errors import ModelError
from ....functions.scaling import (
    add_scaling,
    quantize_multiplier,
    scale_softmax,
    scale_softmax_s16,
)
from ....functions.softmax_tables import make_exp_lut, make_one_by_one_lut
from ....functions.tflm_float import bits
from ....ir.formats import Format, activation_limits
from ....operators import Shape
from ...arguments import sides
from .building import REAL, rescaling
from .float32 import constant, floated, step, through
from .site import Converter, Site, once
from .symbols import Curve, Fixed, Function, Int, Pending, Real, broadcast, order_of

#: The formats that softmax writes.
_SOFTMAX, _SOFTMAX_16 = Format("int8", 1 / 256, -128), Format("int16", 1 / 32768)
_SOFTMAX_FINE = Format("int16", 1 / 65536, -32768)

#: The operator set from which on a softmax is of one axis, and not of all from it on.
_OF_ONE_AXIS = 13

_TABLES = (
    "CMSIS-NN's softmax of 16 bits reads tables of 513 entries, so that these may be a few steps "
    "of 2^-15 away from ONNX Runtime"
)


def shapes(site: Site, count: int = 2) -> list[Shape]:
    """Return the shapes of one sample of the first operands, computed or constant."""
    values: list[Any] = [site.call.value(index) for index in range(count)]
    arrays = [value.data if isinstance(value, Fixed) else value for value in values]
    computed = [i for i, array in enumerate(arrays) if not isinstance(array, np.ndarray)]
    rank = max(len(site.shape(index)) for index in computed)
    found = []
    for index, array in enumerate(arrays):
        if index in computed:
            found.append(site.shape(index))
        elif array.ndim > rank + 1 or (array.ndim == rank + 1 and len(array) != 1):
            raise ModelError(
                f"its constant is {list(array.shape)}, different for each sample; samples must "
                "be independent"
            )
        else:
            found.append(array.shape[array.ndim - rank :] if array.ndim > rank else array.shape)
    return found


def _pair(site: Site) -> tuple[Int, Int]:
    """Return both operands in one shape and order."""
    whole = broadcast(*shapes(site))
    one, two = site.operands(len(whole))
    return site.builder.spread(one, whole), site.builder.spread(two, whole)


def _floating(site: Site) -> bool:
    """True if an operand is floats that no QuantizeLinear has read, or that the file holds."""
    values: list[Any] = [site.call.value(index) for index in range(2)]
    return any(isinstance(value, (Pending, np.ndarray)) for value in values)


def _of_floats(site: Site, ufunc: Callable[..., Any], function: str) -> Pending:
    """Return a function of one tensor of 8 bits as a table, any other by calls of float32."""
    whole = broadcast(*shapes(site))
    curve = common(site, ufunc)
    try:
        operands = [operand(site, index, whole) for index in range(2)]
    except ModelError:
        if curve is None:
            raise
        return floated(site, whole, None, curve)

    def real() -> Int:
        one, two = (make() for make in operands)
        return step(site.builder, function, [one, two], {"length": one.size, "activation": 0})

    return floated(site, whole, real, curve)


def operand(site: Site, index: int, whole: Shape) -> Callable[[], Int]:
    """Return what makes an operand in float32, in the shape of the result."""
    value: Any = site.call.value(index)
    if isinstance(value, (Fixed, np.ndarray)):
        numbers = value.real if isinstance(value, Fixed) else value
        if numbers.dtype.kind != "f" or not np.isfinite(numbers).all():
            raise ModelError(f"its input {site.call.node.inputs[index]!r} must be finite floats")
        order = order_of(whole)
        numbers = numbers.reshape(numbers.shape[max(numbers.ndim - len(whole), 0) :])
        spread = np.broadcast_to(numbers, whole).transpose(order)
        like = Int(site.call.node.outputs[0], whole, order, REAL)
        return lambda: constant(site.builder, like, spread)
    make = site.floats(index)
    return lambda: site.builder.spread(make(), whole)


def common(site: Site, ufunc: Callable[..., Any], count: int = 2) -> Optional[Curve]:
    """Return the function of one tensor that a function of operands is, if it is one."""
    parts: list[Function] = []
    tensors: list[Int] = []
    for index in range(count):
        value: Any = site.call.value(index)
        if isinstance(value, (Fixed, np.ndarray)):
            number = np.asarray(value.real if isinstance(value, Fixed) else value, np.float32)
            if number.size != 1:
                return None
            parts.append(partial(np.full_like, fill_value=number.reshape(())))
            continue
        curve = site.curve(index)
        if curve is None:
            return None
        tensors.append(curve.x)
        parts.append(curve.function)
    if any(tensor != tensors[0] for tensor in tensors):
        return None
    return Curve(tensors[0], lambda x: ufunc(*(np.asarray(part(x), np.float32) for part in parts)))


def _made(name: str, like: Int, form: Format) -> Int:
    return replace(like, name=name, format=form)


def _combined(
    site: Site,
    function: str,
    real: str,
    scaling: Callable[[float, float, float], dict[str, int]],
) -> Pending:
    """Return a call of both operands; scaling: its multipliers, of the scales of all three tensors.

    real: the function of float32, for 16 bits with zero points, which CMSIS-NN's have not.
    """
    one, two = _pair(site)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        zeros = one.format.zero_point, two.format.zero_point, form.zero_point
        if one.kind == "s16" and any(zeros):
            compute = partial(_in_real, site, real)
            return through(site.builder, [one, two], form, name, compute, ends)
        params = {
            **scaling(one.format.scale, two.format.scale, form.scale),
            **{"input_1_offset": -zeros[0], "input_2_offset": -zeros[1]},
            **{"out_offset": zeros[2], "block_size": one.size},
            **activation_limits(*ends, form),
        }
        called = f"{function}_{one.kind}"
        return site.builder.call(called, params, [one, two], _made(name, one, form))

    return Pending(emit, one.shape, clamps=True, real=_reals(site, real, one, two))


def _reals(site: Site, function: str, one: Int, two: Int) -> Callable[[], Int]:
    """Return what makes a function of two tensors in float32."""
    real = site.builder.real
    return once(lambda: _in_real(site, function, real(one), real(two)))


def _in_real(site: Site, real: str, one: Int, two: Int) -> Int:
    return step(site.builder, real, [one, two], {"length": one.size, "activation": 0})


def _bits(site: Site) -> int:
    """Return how far to the left sums shift their inputs, as TensorFlow Lite has it for each
    type.
    """
    wide = any(_dtype(site.call.value(index)) == "int16" for index in range(2))
    return 15 if wide else 20


def _dtype(value: Any) -> str:
    held = value.integers if isinstance(value, Real) else value
    return held.format.dtype if isinstance(held, Int) else getattr(held, "dtype", "int8")


def add(site: Site, sign: int = 1) -> Pending:
    """Add and Sub; of a product of matrices and a constant, its bias."""
    for index in range(2):
        value: Any = site.call.value(index)
        other: Any = site.call.value(1 - index)
        product = isinstance(value, Pending) and value.matrix is not None and sign == 1
        if product and isinstance(other, (Fixed, np.ndarray)):
            result: Pending = replace(value, emit=value.matrix(other), matrix=None)
            return result
    if _floating(site):
        return _of_floats(site, np.add if sign > 0 else np.subtract, "add" if sign > 0 else "sub")
    left, name, factor = _bits(site), "arm_elementwise_add", sign
    if sign < 0 and left == 15:  # whose multipliers cannot be negative
        name, factor = "tflm_sub", 1

    def scaling(one: float, two: float, made: float) -> dict[str, int]:
        params = add_scaling(one, two, made, left)
        return {**params, "input_2_mult": factor * params["input_2_mult"]}

    return _combined(site, name, "sub" if sign < 0 else "add", scaling)


def multiply(site: Site) -> Pending:
    """Convert Mul."""
    if _floating(site):
        return _of_floats(site, np.multiply, "mul")

    def scaling(one: float, two: float, made: float) -> dict[str, int]:
        return dict(zip(("out_mult", "out_shift"), quantize_multiplier(one * two / made)))

    return _combined(site, "arm_elementwise_mul", "mul", scaling)


def divide(site: Site) -> Pending:
    """Convert Div, which CMSIS-NN has not: the kernel that ExecuTorch has."""
    if _floating(site):
        return _of_floats(site, np.divide, "div")
    one, two = _pair(site)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        factor = one.format.scale / (two.format.scale * form.scale)
        zeros = (one.format.zero_point, two.format.zero_point, form.zero_point)
        params = dict(zip(("zero_point_1", "zero_point_2", "output_zero_point"), zeros))
        params.update(length=one.size, factor_bits=bits(factor))
        function, made = f"executorch_quantized_div_{one.kind}", _made(name, one, form)
        return site.builder.call(function, params, [one, two], made)

    return Pending(emit, one.shape, real=_reals(site, "div", one, two))


def choose(site: Site, what: str) -> Pending:
    """Convert Max and Min: of operands in the format of the output."""
    if len(site.call.inputs) != 2:
        raise ModelError(f"it has {len(site.call.inputs)} inputs; only 2 are supported")
    if _floating(site):
        return _of_floats(site, getattr(np, what), what)
    one, two = _pair(site)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        first = site.builder.rescaled(one, form, f"{name}/first")
        second = site.builder.rescaled(two, form, f"{name}/second")
        params = {"length": one.size}
        params.update(sides("input1", first.memory) if first.kind == "s8" else {})
        params.update(sides("input2", second.memory) if first.kind == "s8" else {})
        function = f"{'arm' if first.kind == 's8' else 'tflm'}_{what}_{first.kind}"
        return site.builder.call(function, params, [first, second], _made(name, one, form))

    return Pending(emit, one.shape, real=_reals(site, what, one, two))


def power(site: Site) -> Pending:
    """Convert Pow by a number: a table of 8 bits; squares and roots also in float32."""
    curve, exponent = common(site, np.power), site.call.value(1)
    if not isinstance(exponent, np.ndarray) or exponent.size != 1:
        raise ModelError("its exponent must be one number in the file")
    function = {2.0: "square", 0.5: "sqrt"}.get(float(exponent.reshape(())), "")
    try:
        floats = site.floats(0)
    except ModelError:
        if curve is None:
            raise
        return floated(site, site.shape(), None, curve)

    def real() -> Int:
        x = floats()
        return step(site.builder, function, [x], {"length": x.size})

    return floated(site, site.shape(), real if function else None, curve)


def softmax(site: Site) -> Pending:
    """Convert Softmax along one axis."""
    shape, floats = site.shape(), site.floats(0)
    rank = len(shape) + 1
    opset = site.call.integer("opset", site.builder.opset)  # which operators on integers have
    axis = site.call.integer("axis", -1 if opset >= _OF_ONE_AXIS else 1) % rank
    if axis == 0:
        raise ModelError("it runs along the batch; samples must be independent")
    axes = [axis - 1] if opset >= _OF_ONE_AXIS else list(range(axis - 1, rank - 1))
    order = [*(i for i in range(rank - 1) if i not in axes), *axes]
    row = math.prod(shape[i] for i in axes)
    rows = {"num_rows": math.prod(shape) // row, "row_size": row}

    def real() -> Int:
        params = {**rows, "beta_bits": bits(1.0)}
        return step(site.builder, "softmax", [site.builder.ordered(floats(), order)], params)

    if isinstance(site.call.value(0), Pending):
        return floated(site, shape, real)
    x = site.builder.ordered(site.integers(0), order)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        function, own = _softmax_of(x, form)
        made = _made(name if form == own else f"{name}/softmax", x, own)
        if x.kind == "s16":
            mult, shift = scale_softmax_s16(1.0, x.format.scale)
            params = {**rows, "mult": mult, "shift": shift}
            tables = make_exp_lut(), make_one_by_one_lut()
            site.builder.note(_TABLES, name)
            made = site.builder.call(function, params, [x], made, *tables)
        else:
            mult, shift, least = scale_softmax(1.0, x.format.scale)
            params = {**rows, "mult": mult, "shift": shift, "diff_min": least}
            made = site.builder.call(function, params, [x], made)
        return site.builder.rescaled(made, form, name)

    return Pending(emit, shape, real=once(real))


def _softmax_of(x: Int, form: Format) -> tuple[str, Format]:
    """Return the softmax that is near enough to a format, and what it writes."""
    if x.kind == "s16":
        return "arm_softmax_s16", _SOFTMAX_16
    if form.scale < _SOFTMAX.scale:
        return "arm_softmax_s8_s16", _SOFTMAX_FINE
    return "arm_softmax_s8", _SOFTMAX


def prelu(site: Site) -> Pending:
    """Convert PRelu, of slopes that the file holds."""
    if isinstance(site.call.value(0), Pending):
        return _of_floats(site, _bent, "prelu")
    x = site.integers(0)
    held: Any = site.call.value(1)
    slopes = _slopes(held)
    scale, zero = float(slopes.scale.reshape(())), int(slopes.zero.reshape(()))
    whole = _along(slopes.data, x)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        if x.kind == "s16":
            real = _along(held if isinstance(held, np.ndarray) else slopes.real, x)
            return through(site.builder, [x], form, name, partial(_sloped, site, real))
        own = whole[:1] if (whole == whole[0]).all() else whole
        params = {"outer": x.size // own.size, "inner": own.size, **rescaling(x, form)}
        params["alpha_zero_point"] = zero
        factors = {"identity": x.format.scale / form.scale}
        factors["alpha"] = factors["identity"] * scale
        for kind, factor in factors.items():
            pair = quantize_multiplier(factor)
            params.update(zip((f"{kind}_multiplier", f"{kind}_shift"), pair))
        made, data = _made(name, x, form), own.astype(np.int8).reshape(-1)
        return site.builder.call("tflm_prelu_s8", params, [x], made, data)

    return Pending(emit, x.shape)


def _bent(x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    return np.where(x < 0, slope * x, x)


def _along(numbers: np.ndarray, x: Int) -> np.ndarray:
    """Return a number for each element of a tensor, as these lie in memory, in rows of its last
    axis.
    """
    own = numbers.reshape(numbers.shape[-len(x.shape) :] if numbers.ndim else (1,))
    if broadcast(x.shape, own.shape) != x.shape:
        raise ModelError(
            f"its slopes are {list(own.shape)} and its input {list(x.shape)}; they must "
            "broadcast to the input"
        )
    result: np.ndarray = np.broadcast_to(own, x.shape).transpose(x.order).reshape(-1, x.memory[-1])
    return result


def _slopes(given: Any) -> Fixed:
    """Return slopes in 8 bits; those of floats are rounded to them."""
    if isinstance(given, np.ndarray) and given.dtype.kind == "f" and np.isfinite(given).all():
        scale = np.float32(max(float(np.abs(given).max(initial=0.0)) / 127, 2.0**-20))
        codes = np.rint(given / scale).astype(np.int64)
        given = Fixed(codes, scale.reshape(1), np.zeros(1, np.int64), 0)
    if not isinstance(given, Fixed) or given.dtype != "int8" or given.scale.size != 1:
        raise ModelError("its slopes must be a constant of 8 bits with one scale, or of floats")
    return given


def _sloped(site: Site, slopes: np.ndarray, x: Int) -> Int:
    other = constant(site.builder, x, slopes)
    return step(site.builder, "prelu", [x, other], {"length": x.size})


ELEMENTWISE: dict[str, Converter] = {
    "Add": add,
    "Sub": partial(add, sign=-1),
    "Mul": multiply,
    "Div": divide,
    "Pow": power,
    "Max": partial(choose, what="maximum"),
    "Min": partial(choose, what="minimum"),
    "Softmax": softmax,
    "PRelu": prelu,
}
