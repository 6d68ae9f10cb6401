"""The command line: a short function for each command, which calls the package's API."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import textwrap
from typing import Any, Optional

import click

from ..errors import Error, printable
from ..io.version import __version__
from .commands import COMMANDS, GROUPS
from .messages import messages, quiet, verbose
from .spelling import explain_option, spelled
from .status import shown_status
from .terminal import discard_output, say

FAULT, INTERRUPTED = 2, 130


class _Fault(click.ClickException):
    """A fault of the user's input: one sentence on stderr."""

    exit_code = FAULT

    def show(self, file: Any = None) -> None:
        """Print the sentence."""
        say(f"Error: {self.format_message()}", err=True)


class _Verbs(click.Group):
    """A group that loads the command it is asked for, which reports a fault of the input in a
    sentence, not with a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> Optional[click.Command]:
        """Return the command of a name; None if there is none."""
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f".{COMMANDS[name].module}", __package__)
        found = (each for each in vars(module).values() if isinstance(each, click.Command))
        command = next(each for each in found if each.name == name)
        if command.epilog is None:  # on first use
            command.epilog = f"Example: qemu-nn {COMMANDS[name].example}"
            command.params += [verbose(), quiet()]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[Optional[str], Optional[click.Command], list[str]]:
        """Return the command that the arguments begin with; a path alone stands for info."""
        name = args[0]
        if name == "help":
            args = [*args[1:2], "--help"]
            if args == ["--help"]:
                click.echo(ctx.get_help())
                ctx.exit()
            return self.resolve_command(ctx, args)
        if name not in COMMANDS and not name.startswith("-"):
            if not (os.path.exists(name) or "." in name or os.sep in name):
                near = difflib.get_close_matches(name.lower(), COMMANDS, 3)
                hint = f" Did you mean {' or '.join(near)}?" if near else ""
                ctx.fail(f"No such command '{name}'.{hint}")
            args = ["info", *args]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, with an example of each."""
        for group, commands in GROUPS.items():
            with formatter.section(group):
                width = max(map(len, COMMANDS))
                for name, entry in commands.items():
                    lines = textwrap.wrap(entry.help, max(formatter.width - width - 4, 20))
                    formatter.write(f"  {name:<{width}}  {lines[0]}\n")
                    for line in (*lines[1:], f"$ qemu-nn {entry.example}"):
                        formatter.write(f"  {'':<{width}}  {line}\n")

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the arguments, and print the help or the version if they ask for it."""
        try:
            return super().make_context(*arguments, **options)
        except click.NoSuchOption as error:
            raise explain_option(error, self) from None
        except BrokenPipeError:
            discard_output(sys.stdout)
            raise click.exceptions.Exit(0) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the arguments name."""
        try:
            with messages(ctx), shown_status(ctx):
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            raise explain_option(error, self) from None
        except KeyboardInterrupt:
            say("interrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # of the help, which click prints
            discard_output(sys.stdout)
            raise click.exceptions.Exit(0) from None
        except Error as error:
            raise _Fault(spelled(str(error), ctx)) from None
        except OSError as error:
            reason = f"{error.filename or 'a file'}: {error.strerror or error}"
            raise _Fault(printable(reason)) from None
        except MemoryError as error:
            raise _Fault(f"out of memory: give fewer inputs at a time ({error})") from None


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qemu-nn")
def main() -> None:
    """Run quantized networks bit for bit as a Cortex-M with CMSIS-NN runs them.

    MODEL is a .qnz, .tflite, .pte or quantized .onnx file, a network.json, or a folder that holds a
    network.json; for import, quantize, info, evaluate and diff also the file of a float network.
    Arrays are .npy files, or .npz files with the arrays x (inputs) and y (labels).

    Exit codes: 0 for success, 1 if compare, validate, conformance or diff finds a difference, check
    a network that does not run, --fit a chip that is too small, bench --against what became slower,
    or ndk check a broken limit, 2 if the input is at fault.

    qemu-nn MODEL is qemu-nn info MODEL. The options of a command: qemu-nn COMMAND --help.
    """


main.params += [verbose(), quiet()]
