"""The commands of float networks: import and quantize."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import click

from ..analysis.float_table import float_text, float_values
from ..analysis.table import json_text
from ..api import golden as pipeline
from ..api import quantize as quantization
from ..api.quantize_options import FALLBACKS, RUNTIMES
from ..api.tflite_file import check_ending
from ..errors import Error, sentence
from ..importers import FIRMWARE
from ..importers.firmware import describe
from ..io import files
from ..ir.builds import calls_esp_dl
from ..ptq.budgets import WORDS
from ..ptq.schemes import SCHEMES
from ..quantizer.assign import ROLES
from ..quantizer.policies import POLICIES
from ..quantizer.steps import EFFORTS, STEPS
from ..targets import DEFAULT_CORE, Target
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import (
    DEVICE,
    PATH,
    cluster,
    device,
    is_given,
    method,
    original,
    progress,
    say,
    signature,
    source,
)
from .options import form as form_option

#: Options of layers that quantize() takes in one group.
_LAYERS = ("weight_method", "softmax", "fallback", "runtime")

_METHODS = f"{', '.join(POLICIES)}, a percentile such as 99.9"

_OUTPUT = ".qnz file to write, or .tflite file of an affine network."
_IMPORTED = f"{_OUTPUT[:-1]}; of firmware also network.json, with weights.npz next to it."


@click.command(name="import")
@click.argument("model", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help=_IMPORTED)
@click.option("--function", help="Of firmware: the function that runs the network.")
@click.option(
    "--inputs", help="Of firmware: the input's buffer or argument, NAME or NAME=HEIGHTxWIDTHxDEPTH."
)
@click.option(
    "--defines", multiple=True, metavar="NAME=VALUE", help="Of firmware: a macro, repeatable."
)
@click.option(
    "--include", type=PATH, multiple=True, help="Of firmware: a folder of headers, repeatable."
)
@click.option("--model", "member", help="Of a pack of .espdl files: the name of a model.")
@click.option(
    "--target", help="Of an .espdl file: the chip that it was exported for, or c (generic C)."
)
@source(".caffemodel, .caffemodel.h5")
@method
@signature
@original
@form_option("json")
def import_(
    model: Path,
    output: Path,
    weights: Optional[Path],
    input_tensor: Optional[str],
    output_tensor: Optional[str],
    method: Optional[str],
    signature: Optional[str],
    original: Optional[Path],
    member: Optional[str],
    target: Optional[str],
    include: tuple[Path, ...],
    defines: tuple[str, ...],
    inputs: Optional[str],
    function: Optional[str],
    form: Optional[str],
) -> None:
    """Write a MODEL of any format as .qnz, or as .tflite.

    Prints its layers. TensorFlow Lite Micro and LiteRT run .tflite files, which hold networks of
    integers with scales and zero points. MODEL may be firmware, a C or C++ source that calls
    CMSIS-NN: if parts of it cannot be followed, write network.json and complete it.
    """
    firmware = {"include": include, "defines": _as_defines(defines), "inputs": _as_inputs(inputs)}
    if output.suffix == ".json":
        _describe(model, output, {**firmware, "function": function})
        return
    _check_output(output)
    part: dict[str, Any] = {
        **firmware,
        "function": function,
        "input": input_tensor,
        "output": output_tensor,
        "method": method,
        "signature": signature,
        "model": member,
        "target": target,
    }
    network = pipeline.load(model, weights=weights, original=original, **part)
    network.save(output)
    if isinstance(network, pipeline.FloatNetwork):
        say(_with_file(float_values(network.graph), output) if form else float_text(network.graph))
        return
    of_esp_dl = calls_esp_dl(network.graph)  # all of its chips have the same layers and memory
    summary = pipeline.describe(network, "esp32" if of_esp_dl else DEFAULT_CORE)
    say(_with_file(summary.to_dict(), output) if form else summary.text())


def _as_defines(defines: tuple[str, ...]) -> dict[str, str]:
    """Return macros of a build; one without a value is 1, as for compilers."""
    pairs = [each.partition("=") for each in defines]
    return {name: value if equals else "1" for name, equals, value in pairs}


def _as_inputs(inputs: Optional[str]) -> Union[str, dict[str, Sequence[int]], None]:
    """Return the name of the input, or its shape by its name."""
    name, equals, shape = (inputs or "").partition("=")
    if not equals:
        return inputs
    if not all(side.isdigit() for side in shape.split("x")):
        raise Error(f"--inputs is {inputs!r}, but must be NAME or NAME=HEIGHTxWIDTHxDEPTH")
    return {name: [int(side) for side in shape.split("x")]}


def _describe(model: Path, output: Path, options: dict[str, Any]) -> None:
    """Write what could be followed of firmware as network.json."""
    if model.suffix.lower() not in FIRMWARE:
        raise Error(
            f"{output} describes firmware, which {model} has none of: write its network as .qnz"
        )
    found = describe(model, **options)
    found.write(output)
    say(f"{len(found.values['layers'])} layers in {output}")
    for problem in found.problems:
        say(f"to complete: {problem}")


def _with_file(values: dict[str, Any], output: Path, **more: Any) -> str:
    """Return a network that was written, as JSON."""
    return json_text({"file": str(output), **values, **more})


@click.command()
@click.argument("model", type=PATH)
@data_option("Calibration data")
@click.option("-o", "--output", type=PATH, required=True, help=_OUTPUT)
@click.option(
    "--scheme",
    type=click.Choice([*SCHEMES]),
    help="affine: for the s8 and s16 functions, as TensorFlow Lite (default); power2: for those of "
    "q7 and q15 (default with a --cmsis that has these alone).",
)
@click.option(
    "--bits",
    type=click.Choice(["8", "16"]),
    default="8",
    show_default=True,
    help="Bits of activations, and of weights but in the scheme affine, which has weights of 8.",
)
@click.option(
    "--method",
    default="extrapolate",
    show_default=True,
    help=f"How to choose the formats of activations: {_METHODS}, or search.",
)
@click.option(
    "--weight-method",
    default="minmax",
    show_default=True,
    help=f"The same for weights: {_METHODS}.",
)
@click.option(
    "--effort",
    type=click.Choice([*EFFORTS]),
    default="fast",
    show_default=True,
    help="best: take the steps that make the network more accurate; notes say what each gains.",
)
@click.option("--steps", metavar="A,B", help=f"Take these steps only: {', '.join(STEPS)}.")
@click.option(
    "--minutes",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="How long steps may take.",
)
@click.option(
    "--flash",
    type=click.IntRange(1),
    help="Most bytes of weights and biases: layers get weights of 4 bits. For --scheme affine.",
)
@click.option(
    "--ram",
    type=click.IntRange(1),
    help="Most bytes of memory: layers get activations of 16 bits within it. For --scheme affine.",
)
@click.option(
    "--cycles",
    type=click.IntRange(1),
    help="Most cycles on --target: layers get activations of 16 bits within it, too.",
)
@click.option(
    "--accuracy",
    type=click.FloatRange(0, 1, max_open=True),
    help="Find the smallest network whose share of correct classes drops by at most this: 0.01.",
)
@click.option(
    "--smallest",
    type=click.Choice([*WORDS]),
    default="flash",
    show_default=True,
    help="The cost that --accuracy makes small.",
)
@click.option(
    "--format",
    "given",
    multiple=True,
    metavar="LAYER.ROLE=N",
    help=f"Set fraction bits; ROLE: {', '.join(ROLES)}. Affine: LAYER.output=LOW..HIGH.",
)
@click.option(
    "--function", multiple=True, metavar="LAYER=NAME", help="Set the C function that a layer calls."
)
@click.option(
    "--softmax/--no-softmax", default=True, show_default=True, help="Keep a softmax at the end."
)
@click.option(
    "--fallback",
    type=click.Choice(FALLBACKS),
    help="Compute layers without an integer function in float32.",
)
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    default=RUNTIMES[0],
    show_default=True,
    help="Whose functions layers may call; cmsis-nn: its own alone.",
)
@reading
@click.option(
    "--search-range",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Most integer bits that a search takes away.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Loss of accuracy that a search accepts.",
)
@click.option(
    "--resume",
    type=PATH,
    help="File that keeps what a search and the steps have done, so that they can go on.",
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Threads that try the candidates of a search.",
)
@cluster
@source(".caffemodel, .caffemodel.h5")
@form_option("json")
@device
@click.pass_context
def quantize(
    ctx: click.Context,
    /,
    model: Path,
    data: tuple[str, ...],
    output: Path,
    bits: str,
    given: tuple[str, ...],
    function: tuple[str, ...],
    weights: Optional[Path],
    input_tensor: Optional[str],
    output_tensor: Optional[str],
    form: Optional[str],
    **how: Any,
) -> None:
    """Quantize the float network MODEL with calibration data.

    Writes a .qnz file with the quantized network and, for analyze, its float network; or, with
    --scheme affine, a .tflite file. Prints formats, shifts, and a note for each format that the
    functions did not allow. With --target layers call the functions that take the fewest estimated
    cycles there.
    """
    _check_output(output)
    scheme = how["scheme"] or quantization.get_scheme_for(how["target"])
    if output.suffix == ".tflite" and scheme != "affine":
        raise Error(f"{output} stores scales and zero points: add --scheme affine, or write a .qnz")
    network = pipeline.load(model, input=input_tensor, output=output_tensor, weights=weights)
    if not isinstance(network, pipeline.FloatNetwork):
        raise Error(f"{model} is quantized already: give the float model")
    target: Target = how["target"]
    if not any(is_given(ctx, name) for name in DEVICE):
        how["target"] = None
    quantized = quantization.quantize(
        network,
        dataset(network, data, how),
        bits=int(bits),
        effort=_effort(how),
        budget={name: how.pop(name) for name in (*WORDS, "accuracy", "smallest")},
        options={
            **{name: how.pop(name) for name in _LAYERS},
            "formats": _formats(given),
            "functions": _functions(function),
        },
        progress=progress,
        **how,
    )
    quantized.save(output)
    summary = pipeline.describe(quantized, target)
    if form is not None:
        say(_with_file(summary.to_dict(), output, notes=list(quantized.notes)))
        return
    say(summary.text())
    for note in quantized.notes:
        say(sentence(f"note: {note}"))


def _effort(how: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an effort, taken out of all."""
    steps = how.pop("steps")
    names = ("minutes", "resume", "search_range", "tolerance")
    return {
        "level": how.pop("effort"),
        "steps": None if steps is None else [step.strip() for step in steps.split(",")],
        **{name: how.pop(name) for name in names},
    }


def _check_output(path: Path) -> None:
    check_ending(path)
    files.check_place(path)


def _formats(given: Iterable[str]) -> dict[str, dict[str, Any]]:
    """LAYER.ROLE=N or LAYER.output=LOW..HIGH, each; a layer's name may hold dots and =."""
    formats: dict[str, dict[str, Any]] = {}
    for text in given:
        target, _, value = text.rpartition("=")
        layer, _, role = target.rpartition(".")
        held = _format(value)
        if not layer or role not in ROLES or held is None:
            raise Error(
                f"--format {text} must be LAYER.ROLE=N with ROLE one of {', '.join(ROLES)}, or "
                "LAYER.output=LOW..HIGH"
            )
        formats.setdefault(layer, {})[role] = held
    return formats


def _format(text: str) -> Union[int, tuple[float, float], None]:
    """Return fraction bits, or the ends of a range."""
    low, dots, high = text.partition("..")
    if not dots:
        return int(text) if text.lstrip("-").isdecimal() else None
    try:
        return float(low), float(high)
    except ValueError:
        return None


def _functions(given: Iterable[str]) -> dict[str, str]:
    """LAYER=NAME, each."""
    functions = {}
    for text in given:
        layer, _, name = text.rpartition("=")
        if not layer or not name:
            raise Error(f"--function {text} must be LAYER=NAME")
        functions[layer] = name
    return functions
