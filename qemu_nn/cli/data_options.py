"""Options for the data of a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Callable

import click

from ..api.data import Dataset
from ..api.network import Network
from ..ir.preprocessing import Preprocessing
from .inputs import inputs_of
from .options import PATH

#: Parts of a preprocessing that have an option each.
_PARTS = ("size", "crop", "scale", "mean", "std")

#: Options that are fields of a Dataset.
_READING = (
    "labels",
    "classes",
    "codes",
    "layout",
    "front_end",
    "limit",
    "index",
    "shuffle",
    "seed",
    "cache",
)

#: Forms of data.
_DATA = (
    "a .npy or .npz file; a folder of .npy files, or of images, with a folder for each class; a "
    "table of files and labels; with --front-end such of WAV files. Of several inputs: an .npz "
    "with all (by name, or x0, x1, ...), or give it again, as NAME=FILE or in order."
)


class _Numbers(click.ParamType):  # type: ignore[type-arg]  # generic in some releases of click
    """Numbers with commas between them; 1/255 is one, too."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return floats of a text."""
        try:
            return tuple(float(Fraction(part.strip())) for part in str(value).split(","))
        except (ValueError, ArithmeticError):
            self.fail(f"{value!r} is not a number, such as 1/255, or several: 0.5,0.5,0.5")


class _Sides(click.ParamType):  # type: ignore[type-arg]  # generic in some releases of click
    """One side in pixels, or height and width."""

    name = "sides"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return integers of a text."""
        try:
            sides = tuple(int(part) for part in str(value).lower().replace(",", "x").split("x"))
        except ValueError:
            self.fail(f"{value!r} is not a size in pixels, such as 224 or 240x320, height first")
        return sides if len(sides) > 1 else sides[0]


def data(what: str, required: bool = True) -> Callable[[Any], Any]:
    """Return the option that names the data; what: what they are for."""
    return click.option(
        *("-d", "--data"),
        multiple=True,
        required=required,
        metavar="[NAME=]FILE",
        help=f"{what}: {_DATA}",
    )


def reading(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Return the options of every command that takes data; the command hands them to prepared()."""
    layouts = click.Choice(["NHWC", "NCHW"])
    for name, kind, metavar, text in (
        ("--seed", click.IntRange(0), "N", "Which random order."),
        ("--shuffle", None, None, "Put samples into random order."),
        ("--index", str, "I,A:B,...", "Use these samples, counted from 0."),
        ("--limit", click.IntRange(1), "N", "Use so many samples at most."),
        (
            "--front-end",
            PATH,
            "CHAIN",
            "What makes features of WAV files: a chain.json, or a name such as edge-impulse-mfe.",
        ),
        ("--std", _Numbers(), "X,...", "Then divide by it, one for all channels or one for each."),
        ("--mean", _Numbers(), "X,...", "Then subtract it."),
        ("--scale", _Numbers(), "X,...", "Multiply raw samples by it, such as 1/255."),
        ("--crop", _Sides(), "HxW", "Then cut images at their centre to this size."),
        ("--size", _Sides(), "HxW", "Resize images to this size."),
        (
            "--classes",
            PATH,
            "FILE",
            "All classes in order: a name in each line, or a folder.",
        ),
        ("--labels", PATH, "FILE", "What is right, if the data do not hold it."),
        ("--layout", layouts, None, "Layout of images in the data, where it is not plain."),
    ):
        how: dict[str, Any] = {"type": kind, "metavar": metavar} if kind else {"is_flag": True}
        if name == "--seed":
            how.update(default=0, show_default=True)
        verb = click.option(name, help=text, **how)(verb)
    verb = click.option(
        "--no-cache",
        "cache",
        flag_value=False,
        default=True,
        help="Decode images again; neither read nor write the cache.",
    )(verb)
    return click.option(
        "--codes/--floats",
        default=None,
        help="Integers are the network's codes, or floats.  [default: by their type]",
    )(verb)


def dataset(network: object, files: Sequence[str], options: dict[str, Any]) -> Dataset:
    """Return the data of a command, whose options leave `options`.

    files: what --data names, paths or NAME=PATH. Parts of a preprocessing that are not given are
    those that the network has.
    """
    parts = {name: options.pop(name) for name in _PARTS}
    given = {name: value for name, value in parts.items() if value is not None}
    own = network.preprocessing if isinstance(network, Network) else None
    steps = replace(own or Preprocessing(), **given) if given else None
    how = {name: options.pop(name) for name in _READING if name in options}
    return Dataset(inputs_of(network, files) if files else None, preprocessing=steps, **how)
