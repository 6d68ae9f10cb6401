"""Every CMSIS-NN function under its C name, on numpy arrays.

Keyword arguments have the names of the C parameters, also of those inside Arm's structs. Scratch
buffers are not passed, and the result has its natural shape. A dimension may be left out where the
shape of an array gives it; None stands for NULL. Each function takes five more arguments:

- ``target``: a core ("m4"), a chip ("stm32f411"), a path ("scalar", "dsp") or a `qemu_nn.Target`;
  default "cortex-m4"
- ``cmsis``: a release of `qemu_nn.targets.RELEASES`; "5.9.0" by default of the q7 and q15
  functions, "7.0.0" of the s8 and s16 functions
- ``rounding``: "nearest" (default) or "truncate", as a library built with ARM_NN_TRUNCATE; of the
  s8 and s16 functions "double" (default) or "single" (CMSIS_NN_USE_SINGLE_ROUNDING)
- ``variant``: the row of the kernel table to run; default the best for this host
- ``in_place``: True leaves the input arrays as the device leaves them: the result of an in-place
  function, the new state of a recurrent one, or what pooling leaves of its input on a core with
  the DSP extension; default False

``help(cmsis.arm_relu_q7)`` lists the arguments of a function, with shapes, types and ranges, and
the cores and releases whose bits differ.

>>> import numpy as np
>>> from qemu_nn import cmsis
>>> cmsis.arm_relu_q7(data=np.array([-3, 5], np.int8), size=2)
array([0, 5], dtype=int8)
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable, Optional, Union

import numpy as np

from .errors import DeviceWarning, Error
from .functions import FUNCTIONS, Array, Function
from .functions.base import check_release
from .io.arguments import as_array, as_flag, as_mapping, as_text, have, one_of
from .io.warn import warn
from .kernels import table as kernels
from .kernels.devices import profile_for
from .targets import DEFAULT_CORE, Profile, Target, all_profiles, core_path

_PROFILES = all_profiles()


def find(name: str) -> Function:
    """Return the declaration of a C function, by name.

    Parameters
    ----------
    name : str
        A C name, such as "arm_relu_q7".

    Returns
    -------
    functions.Function
        Arguments, arrays with their axes, scratch memory and cost of the function.

    Raises
    ------
    Error
        No function has this name; the sentence lists those that exist.
    """
    return FUNCTIONS[one_of(sorted(FUNCTIONS), name, "function")]


def buffer_size(
    function: str, params: Mapping[str, int], target: Union[str, Target] = DEFAULT_CORE
) -> int:
    """Return bytes of the scratch buffer (bufferA, vec_buffer or ctx) that Arm's library asks for.

    The q7 and q15 functions use none on cores without the DSP extension, and never bufferB.

    Parameters
    ----------
    function : str
        The C name of a function.
    params : mapping of str to int
        Its scalar C arguments.
    target : str or Target, default "cortex-m4"
        A core ("m4"), a chip ("stm32f411"), a path of targets.PATHS, or a Target.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    Error
        The function, an argument or the target is unknown, or an argument is missing.

    References
    ----------
    Arm's header of the function; for s8 and s16 its ``..._get_buffer_size()``.

    Examples
    --------
    >>> conv = dict(dim_im_in=32, ch_im_in=4, ch_im_out=8, dim_kernel=3, padding=1, stride=1)
    >>> conv |= dict(dim_im_out=32, bias_shift=0, out_shift=7)
    >>> buffer_size("arm_convolve_HWC_q7_basic", conv)
    144
    """
    declared = find(function)
    values = declared.parse_params(as_mapping(params, "params"))
    return declared.buffer_bytes(values, core_path(Target.of(target).device))


def _argument(function: Function, array: Array, value: object, params: dict[str, int]) -> Any:
    """Return one array argument, checked; the same memory where that is possible."""
    where = f"{array.name} of {function.name}"
    given = as_array(value, where)
    dtype = array.dtype_in(params)
    if given.dtype != np.dtype(dtype):
        raise Error(f"{where} is {given.dtype}, but must be {dtype}")
    shape = array.shape(params)
    if any(axis < 0 for axis in shape):
        raise Error(
            f"{where} would have the shape {list(shape)} by the arguments; axes must be 1 or more"
        )
    if given.size != math.prod(shape):
        raise Error(f"{where} has the shape {list(given.shape)}, but must have {list(shape)}")
    return given


def _infer_from_shapes(function: Function, arguments: Mapping[str, object]) -> dict[str, int]:
    """Return the scalar arguments that the arrays give: the lengths of their axes, and which are
    there.
    """
    told: dict[str, int] = {}
    for array in function.arrays:
        given: Any = arguments.get(array.name)
        if f"has_{array.name}" in function.params:
            told[f"has_{array.name}"] = int(given is not None)
        shape = as_array(given, f"{array.name} of {function.name}").shape
        if len(shape) == len(array.axes):
            told.update((a, n) for a, n in zip(array.axes, shape) if a in function.params)
    return told


def complete(function: Function, arguments: Mapping[str, object]) -> dict[str, int]:
    """Return the scalar C arguments; Error for one that is missing, or an array that is."""
    names = {array.name for array in function.arrays}
    needed = {array.name for array in function.arrays if not array.optional}
    missing = sorted(name for name in needed if arguments.get(name) is None)
    if missing:
        raise Error(f"{function.name} lacks the arguments {', '.join(missing)}")
    scalars = {k: v for k, v in arguments.items() if k not in names}
    return function.parse_params({**_infer_from_shapes(function, arguments), **scalars})


def _memory(given: np.ndarray, keep: bool, where: str) -> np.ndarray:
    """C-contiguous memory of an input: its own if the caller wants to see the changes."""
    if not keep:
        return np.array(given, order="C", copy=True)
    if not (given.flags.c_contiguous and given.flags.writeable and given.flags.aligned):
        raise Error(
            f"{where} is read-only or not C-contiguous, but in_place=True writes into it: give "
            "a writable, contiguous array"
        )
    return given


def invoke(
    function: Function,
    arguments: Mapping[str, object],
    wanted: Profile,
    variant: Optional[str] = None,
    in_place: bool = False,
) -> np.ndarray:
    """Run one declared function; the module's docstring describes the arguments."""
    params = complete(function, arguments)
    rows = kernels.list_rows(function.op, function.type)
    check_release(function, wanted)
    struct = _struct(function, rows[0].op, arguments, wanted)
    sizes = kernels.check(rows[0], struct)
    usual = "plain" if in_place and sizes.destroys else None
    row = kernels.choose(rows, wanted, struct, variant or usual)
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


def _struct(
    function: Function, op: kernels.Op, arguments: Mapping[str, object], wanted: Profile
) -> Any:
    """Return the C parameters of a call."""
    values = function.struct_values(complete(function, arguments))
    return kernels.make_params(op, wanted, values, _is_null(function, arguments))


def _is_null(function: Function, arguments: Mapping[str, object]) -> bool:
    """True if the caller passes None as the bias."""
    return arguments.get("bias") is None and any(array.name == "bias" for array in function.arrays)


def _warn(function: Function, arguments: Mapping[str, object], wanted: Profile) -> None:
    """Warn the caller of the binding if builds of Arm's library fault in this call."""
    params = complete(function, arguments)
    op, null_bias = (
        kernels.list_rows(function.op, function.type)[0].op,
        _is_null(function, arguments),
    )
    call = kernels.apply_rules(op, wanted, function.struct_values(params), null_bias)
    fault = function.fault(params, wanted)
    for said in (*call.warnings, *([] if fault is None else [fault])):
        warn(f"{function.name}: {said}", DeviceWarning)


def _binding(function: Function) -> Callable[..., np.ndarray]:
    from .functions.docstrings import make_docstring

    own_names = [*(array.name for array in function.arrays), *function.params]

    def bound(
        *given: object,
        target: Union[str, Target] = DEFAULT_CORE,
        cmsis: Optional[str] = None,
        rounding: Optional[str] = None,
        variant: Optional[str] = None,
        in_place: bool = False,
        **arguments: object,
    ) -> np.ndarray:
        if given:
            raise TypeError(
                f"{function.name}() got positional arguments, but takes keywords only: "
                f"{', '.join(own_names)}"
            )
        in_place, variant = as_flag(in_place, "in_place"), as_text(variant, "variant")
        device = _complete(Target.of(target), cmsis=cmsis, rounding=rounding)
        if device.esp_nn is not None and function.name.startswith("arm_"):
            raise Error(
                f"target is {device.device}, which does not have {function.name}; give a Cortex-M, "
                "or run a network on it"
            )
        wanted = profile_for([(function.op, function.type)], device)
        _warn(function, arguments, wanted)
        return invoke(function, arguments, wanted, variant, in_place)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(a.name, keyword) for a in function.arrays]
    defaults = {**dict.fromkeys(function.params, inspect.Parameter.empty), **function.defaults}
    own += [inspect.Parameter(name, keyword, default=value) for name, value in defaults.items()]
    common = [p for p in inspect.signature(bound).parameters.values() if p.kind == keyword]
    bound.__signature__ = inspect.Signature(own + common)  # type: ignore[attr-defined]
    bound.__name__ = bound.__qualname__ = function.name
    bound.__doc__ = make_docstring(function, _differences(function))
    return bound


def _complete(target: Target, **given: Optional[str]) -> Target:
    """Return a target with the fields that a caller gives next to it; Error for a contradiction."""
    for name, value in given.items():
        own = getattr(target, name)
        if value is not None and own not in (None, value):
            raise Error(
                f"the target has {name}={own!r}, but {name}={value!r} is given: leave one of "
                "them out"
            )
    return replace(target, **{name: value for name, value in given.items() if value is not None})


def _differences(function: Function) -> str:
    """Return which releases have a function, and which of their cores have a definition of their
    own.
    """
    rows = [row for row in kernels.list_rows(function.op, function.type) if row.kind == "plain"]
    text = f"Releases, and the paths of their cores: {'; '.join(map(_claims, rows))}."
    if len(rows) > 1:
        text += " What a semicolon separates has definitions of its own, whose bits may differ."
    return f"{text} docs/arithmetic.md says where releases, cores and roundings differ."


def _claims(row: kernels.Row) -> str:
    """Return the releases and paths of a row; with the rounding, where it has one of two only."""
    roundings: dict[tuple[str, str], list[str]] = {}
    for profile in _PROFILES:
        if row.claims(profile):
            roundings.setdefault((profile.cmsis, profile.path), []).append(profile.rounding)
    paths: dict[str, list[str]] = {}
    for (cmsis, path), names in roundings.items():
        only = f" with {names[0]} rounding" if len(names) == 1 else ""
        paths.setdefault(cmsis, []).append(path + only)
    return ", ".join(f"CMSIS {cmsis} ({', '.join(names)})" for cmsis, names in paths.items())


def __getattr__(name: str) -> Callable[..., np.ndarray]:
    """Return the binding of a C function, on first use: their docstrings take longer than the
    rest.
    """
    if name not in FUNCTIONS:
        hint = "" if name.startswith("__") else f"; {have(FUNCTIONS, name)}"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    globals()[name] = bound = _binding(FUNCTIONS[name])
    return bound


def __dir__() -> list[str]:
    return sorted({*globals(), *FUNCTIONS})


__all__ = [*FUNCTIONS, "buffer_size", "find"]
