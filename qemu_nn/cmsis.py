"""Every CMSIS-NN function under its C name, on numpy arrays.

Keyword arguments are the C parameter names, those inside of Arm's structs too; scratch buffers are
not passed and the result is returned in its natural shape. A dimension need not be given where the
shape of an array tells it; None stands for NULL. Each function takes four more:

- ``core``: a core ("cortex-m4") or a path ("scalar", "dsp"); default "cortex-m4"
- ``cmsis``: "5.6.0" or "5.9.0" (default) of the q7 and q15 functions, "7.0.0" (default) or
  "main-2026-07" of the s8 and s16 ones
- ``rounding``: "nearest" (default) or "truncate", as a library built with ARM_NN_TRUNCATE; of the
  s8 and s16 functions "double" (default) or "single" (CMSIS_NN_USE_SINGLE_ROUNDING)
- ``variant``: the row of the kernel table to run; default the best for this host

and ``in_place=True``, which leaves the input buffers as the device leaves them: the result of an
in-place function, the new state of a recurrent one, or what pooling on a core with the DSP
extension makes of its input.

>>> import numpy as np
>>> from qemu_nn import cmsis
>>> cmsis.arm_relu_q7(data=np.array([-3, 5], np.int8), size=2)
array([0, 5], dtype=int8)
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Optional

import numpy as np

from .errors import DeviceWarning, Error
from .functions import FUNCTIONS, Array, Function
from .functions.extents import spell
from .io.arguments import as_array, as_flag, as_mapping, as_text, one_of
from .kernels import table as kernels
from .kernels.devices import profile_for
from .targets import DEFAULT_CORE, Profile, core_path


def find(name: str) -> Function:
    """The declaration of a C function, by name."""
    return FUNCTIONS[one_of(sorted(FUNCTIONS), name, "function")]


def buffer_size(function: str, params: Mapping[str, int], core: str = DEFAULT_CORE) -> int:
    """Bytes of the scratch buffer (bufferA, vec_buffer or ctx) that Arm's library asks for.

    The q7 and q15 functions use none on cores without the DSP extension, and never bufferB.
    params: the scalar C arguments. Unknown functions, arguments and cores raise Error.
    """
    declared = find(function)
    values = declared.parse_params(as_mapping(params, "params"))
    return declared.buffer_bytes(values, core_path(core))


def _argument(function: Function, array: Array, value: object, params: dict[str, int]) -> Any:
    """One array argument, checked; the same memory where that is possible."""
    where = f"{array.name} of {function.name}"
    given = as_array(value, where)
    dtype = array.dtype_in(params)
    if given.dtype != np.dtype(dtype):
        raise Error(f"{where} must be {dtype}, is {given.dtype}")
    shape = array.shape(params)
    if any(axis < 0 for axis in shape):
        raise Error(f"{where} cannot have the shape {list(shape)}")
    if given.size != np.prod(shape, dtype=np.int64):
        raise Error(f"{where} must have the shape {list(shape)}, has {list(given.shape)}")
    return given


def _told_by_shapes(function: Function, arguments: Mapping[str, object]) -> dict[str, int]:
    """The scalar arguments that are the length of an axis of an array, from arrays of that rank,
    or that tell whether there is one."""
    told: dict[str, int] = {}
    for array in function.arrays:
        given: Any = arguments.get(array.name)
        if f"has_{array.name}" in function.params:
            told[f"has_{array.name}"] = int(given is not None)
        shape = as_array(given, f"{array.name} of {function.name}").shape
        if len(shape) == len(array.axes):
            told.update((a, n) for a, n in zip(array.axes, shape) if a in function.params)
    return told


def _params(function: Function, arguments: Mapping[str, object]) -> dict[str, int]:
    """The scalar C arguments; Error for one that is missing, or an array that is."""
    names = {array.name for array in function.arrays}
    needed = {array.name for array in function.arrays if not array.optional}
    missing = sorted(name for name in needed if arguments.get(name) is None)
    if missing:
        raise Error(f"{function.name} lacks {', '.join(missing)}")
    scalars = {k: v for k, v in arguments.items() if k not in names}
    return function.parse_params({**_told_by_shapes(function, arguments), **scalars})


def _memory(given: np.ndarray, keep: bool, where: str) -> np.ndarray:
    """C-contiguous memory of an input: its own if the caller wants to see the changes."""
    if not keep:
        return np.array(given, order="C", copy=True)
    if not (given.flags.c_contiguous and given.flags.writeable and given.flags.aligned):
        raise Error(f"in_place=True needs {where} as a writable C-contiguous array")
    return given


def invoke(
    function: Function,
    arguments: Mapping[str, object],
    wanted: Profile,
    variant: Optional[str] = None,
    in_place: bool = False,
) -> np.ndarray:
    """Run one declared function; see the module's docstring for the arguments."""
    params = _params(function, arguments)
    rows = kernels.rows_of(function.op, function.type)
    struct = kernels.make_params(rows[0].op, wanted, function.struct_values(params))
    sizes = kernels.check(rows[0], struct)
    keep_input = not (in_place and sizes.destroys)
    row = kernels.choose(rows, wanted, struct, variant, keep_input)
    given = {
        array.name: _argument(function, array, arguments[array.name], params)
        if arguments.get(array.name) is not None
        else np.zeros(array.shape(params), array.dtype)
        for array in function.arrays
    }
    written = {function.output.name, *(array.name for array in function.inputs if array.state)}
    written |= {function.inputs[0].name} if sizes.destroys else set()
    memory = {}
    for name, value in given.items():
        if name in written:
            memory[name] = _memory(value, in_place, f"{name} of {function.name}")
        else:
            memory[name] = np.require(value, requirements=["C", "A"])
    output = memory.get(function.output.name)
    if output is None:
        output = np.empty(function.output.shape(params), function.output.dtype)
    kernels.call(
        row,
        struct,
        [memory[array.name] for array in function.inputs],
        output,
        function.weights_of(memory),
        function.bias_of(memory),
    )
    return output if function.in_place else output.reshape(function.output.shape(params))


def _warn(function: Function, arguments: Mapping[str, object], wanted: Profile) -> None:
    """Say so, to the caller of the binding, where builds of Arm's library fault in this call."""
    fault = function.fault(_params(function, arguments), wanted)
    if fault is not None:
        warnings.warn(f"{function.name}: {fault}", DeviceWarning, stacklevel=3)


def _binding(function: Function) -> Callable[..., np.ndarray]:
    def bound(
        *,
        core: str = DEFAULT_CORE,
        cmsis: Optional[str] = None,
        rounding: Optional[str] = None,
        variant: Optional[str] = None,
        in_place: bool = False,
        **arguments: object,
    ) -> np.ndarray:
        in_place, variant = as_flag(in_place, "in_place"), as_text(variant, "variant")
        wanted = profile_for([(function.op, function.type)], core, cmsis, rounding)
        _warn(function, arguments, wanted)
        return invoke(function, arguments, wanted, variant, in_place)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(a.name, keyword) for a in function.arrays]
    defaults = {**dict.fromkeys(function.params, inspect.Parameter.empty), **function.defaults}
    own += [inspect.Parameter(name, keyword, default=each) for name, each in defaults.items()]
    common = [p for p in inspect.signature(bound).parameters.values() if p.kind == keyword]
    bound.__signature__ = inspect.Signature(own + common)  # type: ignore[attr-defined]
    bound.__name__ = bound.__qualname__ = function.name
    bound.__doc__ = _docstring(function)
    return bound


def _docstring(function: Function) -> str:
    def line(array: Array) -> str:
        axes = ", ".join(spell(axis) for axis in array.axes)
        narrow = f" (int32 where {array.narrow})" if array.narrow else ""
        return f"    {array.name}: {array.dtype}{narrow} [{axes}]"

    own = function.name.startswith("tflm_")
    source = "what TensorFlow Lite Micro computes itself" if own else "of CMSIS"
    status = "ARM_MATH_SIZE_MISMATCH" if function.type.startswith("q") else "with an error"
    lines = [f"{function.name}{',' * own} {source}, bit for bit.", ""]
    lines += [function.note, ""] if function.note else []
    lines += [line(array) for array in function.arrays]
    lines += [f"    returns {line(function.output).strip()}", ""]
    lines += ["Raises Error where an argument does not fit, SizeMismatch where the device answers"]
    lines += [f"{status}. Profile arguments: see the module."]
    return "\n".join(lines)


for _name, _function in FUNCTIONS.items():
    globals()[_name] = _binding(_function)

__all__ = [*FUNCTIONS, "buffer_size", "find"]
