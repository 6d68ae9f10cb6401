"""Sentences of the Python interface in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

#: Names that differ between Python and the command line.
_OPTIONS = {
    "input": "--input-tensor",
    "output": "--output-tensor",
    "formats": "--format",
    "functions": "--function",
    "folder": "--output",
}
_PHRASES = {
    "chips.CHIPS": "`qemu-nn chips`",
    "softmax=False": "--no-softmax",
    "codes=True": "--codes",
    "codes=False": "--floats",
    "Preprocessing(scale=1/255)": "--scale 1/255",
}

#: A format of one layer, with a number or a range.
_FORMATS = re.compile(r'formats=\{"([^"]+)": \{"(\w+)": (?:\((.+?), (.+?)\)|(-?\w+))\}\}')

#: Steps of an effort.
_STEPS = re.compile(r'effort=\{"steps": \[([\w", ]+)\]\}')


def spelled(text: str, ctx: click.Context) -> str:
    """Return a sentence with `--option value` for each keyword argument: `layout=` becomes
    `--layout`, `force=True` `--force`.

    Only keywords that a command below `ctx` has as an option are changed, outside of longer words.
    """
    for phrase, here in _PHRASES.items():
        text = text.replace(phrase, here)
    if "=" not in text:
        return text
    options = {**dict(_options(ctx.command)), **_OPTIONS}
    text = _STEPS.sub(_spell_steps, _FORMATS.sub(_format, text))
    keyword = rf"(?<![\w.,'\"/-])({'|'.join(options)})=(?:'([^']*)'|\"([^\"]*)\"|([\w.]*\w)?)"

    def option(found: re.Match[str]) -> str:
        value = found[2] or found[3] or found[4]
        return f"{options[found[1]]} {value}" if value and value != "True" else options[found[1]]

    return re.sub(keyword, option, text)


#: Options that commands lack -> the option that is meant.
_MEANT = {
    **dict.fromkeys(("-i", "--input", "--inputs", "--images"), "--data"),
    **dict.fromkeys(("--core", "--chip", "--mcu", "--cpu", "--device"), "--target"),
    **{"--release": "--cmsis", "--out": "--output"},
}


def explain_option(error: click.NoSuchOption, main: click.Group) -> click.UsageError:
    """Return the error of an unknown option with the option that is meant, or the commands that
    have it.
    """
    name, ctx = error.option_name, error.ctx
    words = f"No such option '{name}'."
    if ctx is None or ctx.command is main:
        if list(_find_owners(name, main)):
            words += f" Options follow their command: qemu-nn COMMAND {name} ..."
        return click.UsageError(words, ctx)
    meant = _MEANT.get(name, "")
    if any(meant in parameter.opts for parameter in ctx.command.params):
        return click.UsageError(f"{words} Did you mean {meant}?", ctx)
    owners = list(_find_owners(name, main))
    if not owners:
        return error
    has = "has" if len(owners) == 1 else "have"
    return click.UsageError(
        f"{words} {ctx.command.name} has none; {', '.join(owners)} {has} it.", ctx
    )


def _find_owners(option: str, main: click.Group) -> Iterator[str]:
    """Yield the names of the commands that have an option."""
    ctx = click.Context(main)
    for name in main.list_commands(ctx):
        command = main.get_command(ctx, name)
        if command is not None and any(option in each.opts for each in command.params):
            yield name


def _format(found: re.Match[str]) -> str:
    value = found[5] or f"{found[3]}..{found[4]}"
    return f"--format {found[1]}.{found[2]}={value}"


def _spell_steps(found: re.Match[str]) -> str:
    return f"--steps {found[1].replace(chr(34), '').replace(' ', '')}"


def _options(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the keyword and the option of every command: search_range, --search-range."""
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            verb = command.get_command(ctx, name)
            assert verb is not None
            yield from _options(verb)
    for parameter in command.params:
        for name in parameter.opts:
            if name.startswith("--"):
                yield name[2:].replace("-", "_"), name
