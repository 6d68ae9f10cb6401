"""Groups of quantize()'s options: effort, budget, and how layers are quantized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Optional, TypeVar, Union

from ..errors import Error
from ..io.arguments import (
    as_count,
    as_flag,
    as_mapping,
    as_number,
    as_path,
    format_value,
    have,
    one_of,
)
from ..ptq.budgets import WORDS
from ..ptq.schemes import Overrides
from ..quantizer.steps import EFFORTS, STEPS

Group = TypeVar("Group")

#: Whose functions a network may call, and what computes layers without an integer function.
RUNTIMES, FALLBACKS = ("tflm", "cmsis-nn"), ("float",)


def read_group(kind: type[Group], given: Any, name: str) -> Group:
    """Return a group of options that a caller gives as such, as a mapping, or not at all."""
    if isinstance(given, kind):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise Error(f"{name} must be a {kind.__name__} or a mapping, not {format_value(given)}")
    options = dict(given or {})
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    for option in options:
        if option not in known:
            raise Error(f"{name} has no option {format_value(option)}; {have(known, str(option))}")
    return kind(**options)


@dataclass(frozen=True)
class Effort:
    """Limits of the work that quantize() does to make a network accurate.

    Parameters
    ----------
    level : {"best", "fast"}, default "best"
        "best" takes the steps of docs/quantizing.md, and keeps those that make the network more
        accurate on samples that did not fit it; `notes` say what each has gained there. "fast"
        takes none.
    steps : sequence of str, optional
        Take these steps alone, in their order: "average", "formats", "equalize", "absorb",
        "split", "search", "round", "correct", "descend".
    minutes : float, default 10.0
        Begin no step, and no layer of a step, after so many minutes; a search takes up to half of
        them. Widths for a budget are no longer measured after them, but chosen by what they save.
    resume : str or Path, optional
        A file that keeps what a search has decided, and what steps have made of the network, after
        each of them, so that an interrupted run can go on: its result is that of one run.
    search_range : int, default 3
        How often a search halves a range at most.
    tolerance : float, default 0.0
        With labels, a search ends when its accuracy is at most this much below the float network's.

    Raises
    ------
    Error
        An option has another type, is unknown or out of range.
    """

    level: str = "best"
    steps: Optional[tuple[str, ...]] = None
    minutes: float = 10.0
    resume: Union[str, Path, None] = None
    search_range: int = 3
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        one_of(EFFORTS, self.level, "effort")
        as_count(self.search_range, "search_range", 0, 64)
        as_number(self.tolerance, "tolerance")
        if as_number(self.minutes, "minutes") < 0:
            raise Error(f"minutes is {format_value(self.minutes)}, but must be 0 or more")
        if self.resume is not None:
            object.__setattr__(self, "resume", as_path(self.resume, "resume"))
        if self.steps is not None:
            object.__setattr__(self, "steps", _steps(self.steps))

    @classmethod
    def of(cls, value: Any) -> Effort:
        """Return an effort that a caller gives.

        Parameters
        ----------
        value : Effort, mapping or str
            An effort, its options by name, or its level.

        Returns
        -------
        Effort
            The effort.

        Raises
        ------
        Error
            It is something else, or an option is unknown.
        """
        return cls(value) if isinstance(value, str) else read_group(cls, value, "effort")

    @property
    def taken(self) -> tuple[str, ...]:
        """The steps to take."""
        return EFFORTS[self.level] if self.steps is None else self.steps


def _steps(steps: Any) -> tuple[str, ...]:
    """Return the steps that are named, in the order in which they are taken."""
    if not isinstance(steps, (list, tuple)):
        raise Error(f"steps is {format_value(steps)}, but must be a list of {', '.join(STEPS)}")
    named = [one_of(STEPS, step, "step") for step in steps]
    return tuple(step for step in STEPS if step in named)


@dataclass(frozen=True)
class Budget:
    """The most that a quantized network may take, or lose; for scheme="affine" with bits=8.

    Parameters
    ----------
    flash : int, optional
        Bytes of weights and biases. As many layers as needed get weights of 4 bits, those first
        that cost the least; `notes` say what each costs.
    ram : int, optional
        Bytes of memory, as exported firmware has it (fit() says it, too) without a stack. Layers
        get activations of 16 bits as far as it and the other budgets let them, those first that
        gain the most.
    cycles : int, optional
        The same for the cycles that estimate() gives for the target.
    accuracy : float, optional
        In place of limits: the most by which the share of correct classes may drop below that of
        the float network, 0.01 for one of a hundred samples. Every second sample judges. Without
        labels the classes of the float network are right. The smallest network is found.
    smallest : {"flash", "ram", "cycles"}, default "flash"
        The cost that `accuracy` makes small.

    Raises
    ------
    Error
        A limit is no integer of 1 or more, or the accuracy is not between 0 and 1.
    """

    flash: Optional[int] = None
    ram: Optional[int] = None
    cycles: Optional[int] = None
    accuracy: Optional[float] = None
    smallest: str = "flash"

    def __post_init__(self) -> None:
        for name in WORDS:
            most = getattr(self, name)
            if most is not None:
                object.__setattr__(self, name, as_count(most, name))
        one_of(WORDS, self.smallest, "smallest")
        if self.accuracy is not None and not 0 <= as_number(self.accuracy, "accuracy") < 1:
            raise Error(f"accuracy is {format_value(self.accuracy)}, but must be from 0 to below 1")


@dataclass(frozen=True)
class QuantizeOptions:
    """Choices of quantize() for weights and for single layers.

    Parameters
    ----------
    weight_method : str or float, default "minmax"
        How ranges of weights are chosen, as `method` of quantize(), without "search".
    formats : mapping of str to mapping, optional
        Formats that are given and not chosen, by layer and role. For power2 in fraction bits,
        {"conv1": {"output": 5, "weights": 7, "bias": 6}}; for affine as ranges of outputs,
        {"conv1": {"output": (-1.5, 2.0)}}.
    functions : mapping of str to str, optional
        Layer -> the C function to call instead of the fastest that fits.
    softmax : bool, default True
        Keep a softmax at the end.
    fallback : {"float"}, optional
        "float": a layer without an integer function is computed in float32 between dequantize and
        quantize, as TensorFlow Lite Micro does; `notes` say what that costs. By default it is
        refused.
    runtime : {"tflm", "cmsis-nn"}, default "tflm"
        "tflm": layers may call functions that CMSIS-NN does not have; `notes` name them, and an
        export brings their C code. "cmsis-nn": such layers are refused.

    Raises
    ------
    Error
        An option has another type.
    """

    weight_method: Union[str, float] = "minmax"
    formats: Optional[Overrides] = None
    functions: Optional[Mapping[str, str]] = None
    softmax: bool = True
    fallback: Optional[str] = None
    runtime: str = RUNTIMES[0]

    def __post_init__(self) -> None:
        as_flag(self.softmax, "softmax")
        one_of(RUNTIMES, self.runtime, "runtime")
        if self.fallback is not None:
            one_of(FALLBACKS, self.fallback, "fallback")
        formats = {
            layer: as_mapping(roles, f"the formats of {layer}")
            for layer, roles in as_mapping(self.formats, "formats").items()
        }
        object.__setattr__(self, "formats", formats)
