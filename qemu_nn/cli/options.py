"""Options that several commands of the command line share."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

import click
from click.core import ParameterSource

from ..api.network import DEFAULT_STACK, Network
from ..errors import Error
from ..io import files
from ..io.stages import count
from ..releases import choices
from ..targets import DEFAULT_CORE, DEFAULT_ESP_NN, DEFAULT_TFLM, ESP_NN, KERNELS, TFLM, Target
from .terminal import say as say

if TYPE_CHECKING:
    from ..analysis.fit import Fit
    from ..analysis.result import TableResult
    from ..analysis.table import Table


class _Path(click.Path):
    """A path; an empty text is not one, and not the current folder either."""

    def convert(
        self, value: Any, param: Optional[click.Parameter], ctx: Optional[click.Context]
    ) -> Any:
        """See click.Path."""
        if value == "":
            self.fail("'' is not a path.", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=Path)

#: The callable that commands pass as progress=: the status of the command counts the turns.
progress = count

variant = click.option(
    "--variant", help="Variant of the kernels to run wherever it exists, such as avx2, or plain."
)
state = click.option(
    "--state", type=PATH, help="Initial state of a recurrent network: [N, *shape]."
)
threads = click.option(
    "--threads",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Threads that share the inputs and split large layers.",
)
force = click.option("--force", is_flag=True, help="Overwrite files even if they were edited.")


def cluster(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the options that say where blocks are computed: here, on processes, on a cluster.

    The command takes them as one `client`.
    """

    @functools.wraps(verb)
    def collected(*args: Any, **options: Any) -> None:
        workers, client = options.pop("workers"), options.pop("client")
        if None not in (workers, client):
            raise Error(
                "--workers and --dask are given, but a cluster has workers of its own: leave "
                "one out"
            )
        return verb(*args, client=workers if client is None else client, **options)

    found = click.option(
        "--workers",
        type=click.IntRange(1),
        help="Processes of this machine that share the samples, by dask.",
    )(collected)
    return click.option(
        "--dask", "client", metavar="ADDRESS", help="Scheduler of a dask cluster to compute on."
    )(found)


def check_page(path: Optional[Path]) -> None:
    """Raise Error, before any work, if the HTML page cannot be written."""
    if path is not None:
        from ..analysis.page import load_templates

        files.check_place(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise Error(f"{path} must be an HTML page: name a file that ends in .html")
        load_templates()


def _names(releases: Sequence[str]) -> str:
    """Return names of releases in words, the default first."""
    default, *more = releases
    return ", ".join([f"{default} (default)", *more])


#: Options of a device, as fields of a Target.
DEVICE = ("target", "cmsis", "rounding", "kernels", "tflm", "esp_nn")


def device(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the options that say whose arithmetic it is; the command takes them as one Target."""

    @functools.wraps(verb)
    def collected(*args: Any, **options: Any) -> None:
        return verb(*args, target=Target(*(options.pop(name) for name in DEVICE)), **options)

    return _of_tflm(_of_cmsis(collected))


def _of_cmsis(verb: Callable[..., None]) -> Callable[..., None]:
    for name, default, text in (
        (
            "--rounding",
            None,
            "Of q7, q15: nearest (default), truncate (ARM_NN_TRUNCATE); "
            "of s8, s16: double (default), single.",
        ),
        (
            "--cmsis",
            None,
            f"CMSIS release of q7, q15: {_names(choices(affine=False))}; "
            f"of s8, s16: {_names(choices(affine=True))}; a commit, or an SDK with a date such as "
            "zephyr-2024-06 (docs/releases.md).",
        ),
        (
            "--target",
            DEFAULT_CORE,
            "Core (m4), chip (stm32f411, esp32s3), or path: m0, scalar, mve, dsp. Default of "
            "an .espdl file: its chip.",
        ),
    ):
        verb = click.option(name, default=default, show_default=True, help=text)(verb)
    return verb


def _of_tflm(verb: Callable[..., None]) -> Callable[..., None]:
    verb = click.option(
        "--tflm",
        default=DEFAULT_TFLM,
        show_default=True,
        metavar="YYYY-MM",
        help=f"Month of TensorFlow Lite Micro, of .tflite files: {', '.join(TFLM)}.",
    )(verb)
    verb = click.option(
        "--esp-nn",
        metavar="RELEASE",
        help=f"ESP-NN of a chip of the ESP32 family: a release from {ESP_NN[0]} to {ESP_NN[-1]}; "
        f"default: {DEFAULT_ESP_NN}, the newest whose kernels are known whole.",
    )(verb)
    return click.option(
        "--kernels",
        default=KERNELS[0],
        show_default=True,
        help=f"Kernels of TensorFlow Lite Micro, of .tflite files: {' or '.join(KERNELS)}.",
    )(verb)


def fit(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the options that ask whether a network fits into a chip, whose core is then the
    target.
    """
    verb = click.option(
        "--stack",
        type=click.IntRange(0),
        default=DEFAULT_STACK,
        show_default=True,
        help="With --fit: bytes to reserve for the stack.",
    )(verb)
    return click.option(
        "--fit",
        metavar="CHIP",
        help="Say whether the network fits into this chip or board; exit code 1 if it does not. "
        "`qemu-nn chips` lists them; another one: flash=512K,ram=128K. info takes several, with "
        "commas between them.",
    )(verb)


def is_given(ctx: click.Context, name: str) -> bool:
    """True if the user gives an option, rather than leaving it at its default."""
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def fitted(
    ctx: click.Context, network: Network, chip: Optional[str], stack: int, target: Target
) -> tuple[Target, Optional[Fit]]:
    """Return the device, and whether a network fits into the chip of --fit, if that is given.

    The device becomes the chip where the user names none.
    """
    if chip is None:
        if is_given(ctx, "stack"):
            raise Error("--stack needs --fit: add it")
        return target, None
    found = target.on(chip)
    fit = network.fit(found, stack=stack)
    return (target if is_given(ctx, "target") else found), fit


def source(weights: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options that choose what is read of a float model: weights, first and last
    tensor.
    """

    def add(verb: Callable[..., None]) -> Callable[..., None]:
        for name, kind, text in (
            ("--output-tensor", str, "Tensor of the file at which the network ends."),
            ("--input-tensor", str, "Tensor of the file at which the network starts."),
            ("--weights", PATH, f"File with the weights of MODEL: {weights}."),
        ):
            verb = click.option(name, type=kind, help=text)(verb)
        return verb

    return add


junit = click.option("--junit", type=PATH, help="JUnit's XML to write, for CI servers.")

method = click.option("--method", help="Of a .pte file: the method; by default forward.")

original = click.option(
    "--original",
    type=PATH,
    help="Of a file that vela compiled: its .tflite or .tosa file, which names operations.",
)
signature = click.option(
    "--signature",
    help="Of a .tflite file or a SavedModel: the signature; by default its first graph.",
)


parquet = click.option("--parquet", type=PATH, help="Parquet file of the table to write.")


def show(result: Union[Table, TableResult], form: Optional[str], parquet: Optional[Path]) -> None:
    """Print a result in a form, and write its table where --parquet asks for it."""
    if parquet is not None:
        result.to_parquet(parquet)
    say(getattr(result, form or "text")())


def form(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options --json and --csv, for output that programs read."""

    def add(verb: Callable[..., None]) -> Callable[..., None]:
        for name in reversed(names):
            help_text = f"Print {name.upper()} instead of text."
            verb = click.option(f"--{name}", "form", flag_value=name, help=help_text)(verb)
        return verb

    return add
