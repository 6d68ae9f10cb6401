"""A network as a firmware project: C that calls CMSIS-NN, and its self-test for PC and board."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import Error
from ..functions.prototypes import OWN_HEADER
from ..io.archive import write_archive
from ..io.files import get_reason
from ..io.optional_deps import require
from ..releases import place_of
from ..runtime.host import Host
from ..runtime.plan import Plan
from ..targets import Profile
from . import blob, builds, link, plain_kernels, stand_in
from .boards import BOARDS
from .context import make_context
from .description import DESCRIPTION, WEIGHTS, describe
from .floats import add_floats
from .folder import Listed, format_checksum, read_earlier_files, replace_folder
from .golden import About, GoldenSet
from .memory import MemoryCall, plan_layout
from .one_header import format_one_header
from .preprocess import preprocess
from .releases import list_caveats, list_releases
from .symbols import DEFAULT_NAME, make_symbols

FORMAT = "qemu_nn firmware"
VERSION = 2
MANIFEST = "manifest.json"

#: The golden set's folder inside of the project's.
GOLDENS = "goldens"

#: Folders of functions that firmware needs besides CMSIS-NN, and the folders of their headers.
_BROUGHT = ("tflm/", "local/")
_HEADERS = {
    OWN_HEADER: f"tflm/{OWN_HEADER}",
    stand_in.LOCAL_HEADER: f"local/{stand_in.LOCAL_HEADER}",
}

#: Names that the network's own header must not have: further headers, those of C, and words of C++.
_TAKEN = frozenset(
    [
        *("link", "parameter", "weights", "preprocess", "layers", "names", "tflm", "local_nn"),
        *("floats", "std", "auto", "bool", "break", "case", "catch", "char", "class", "const"),
        *("continue", "default", "delete", "do", "double", "else", "enum", "explicit", "export"),
        *("extern", "false", "for", "friend", "goto", "if", "inline", "int", "long", "mutable"),
        *("namespace", "new", "operator", "private", "protected", "public", "register", "return"),
        *("short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw"),
        *("true", "try", "typedef", "typename", "union", "unsigned", "using", "virtual", "void"),
        *("volatile", "while"),
        *(
            "arm_math",
            "arm_nn_math_types",
            "arm_nn_types",
            "arm_nnfunctions",
            "arm_nnsupportfunctions",
        ),
        *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
        *("locale", "math", "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool"),
        *("stddef", "stdint", "stdio", "stdlib", "stdnoreturn", "string", "tgmath", "threads"),
        *("time", "uchar", "wchar", "wctype"),
    ]
)

_TEMPLATES = ("network.c", "parameter.h", "weights.h", "main.c")
_FLOATS = ("floats.h", "floats.c")
_PREPROCESS = ("preprocess.h", "preprocess.c")


@dataclass(frozen=True)
class Firmware:
    """Result of export().

    Attributes
    ----------
    ram : int
        Bytes of static memory.
    flash : int
        Bytes of weights and biases.
    """

    ram: int
    flash: int


@dataclass(frozen=True)
class Options:
    """Choices of an export.

    name: prefix of all public names, valid for check_name(). build: build systems, of
    builds.SYSTEMS. one_header: also write layers.h, one header of plain macros. blob: weights and
    quantization are in weights.bin, which firmware loads.
    """

    name: str = DEFAULT_NAME
    build: tuple[str, ...] = tuple(builds.SYSTEMS)
    one_header: bool = False
    blob: bool = False


def write(
    folder: Path,
    plan: Plan,
    about: About,
    goldens: GoldenSet,
    steps: int,
    host: Host,
    options: Options,
) -> Firmware:
    """Write the project into a folder with the golden set of the same profile.

    plan: traced. steps: time steps of each golden input, 1 if the network is not recurrent. host:
    prepares the network's inputs. Raises Error if the network cannot run on a
    device unchanged, or jinja2 is missing.
    """
    graph, memory, name = plan.graph, plan_layout(plan), options.name
    named = original = make_symbols(graph, goldens.stems, name)
    writer = blob.BlobWriter(name) if options.blob else None
    if writer is not None:
        named = writer.move_numbers(named)
    values = make_context(graph, memory, named, about, name)
    values.update(list_releases(plan.profile), caveats=list_caveats(graph.nodes))
    values.update(profile=str(plan.profile), samples=goldens.inputs, steps=steps)
    values["arm_headers"] = stand_in.list_arm_headers(values["headers"], plan.profile.cmsis)
    values["brought_headers"] = [_HEADERS[one] for one in values["headers"] if one in _HEADERS]
    guards = (f"defined({stand_in.guard(header)})" for header in values["arm_headers"])
    values["stand_ins"] = " || \\\n    ".join(guards)
    values["preprocess"] = preprocess(host)
    values.update(boards=list(BOARDS.values()), build=options.build, version=about.version)
    functions = _list_functions(memory.calls, plan.profile, name)
    values["brought"] = [one for one in _BROUGHT if any(path.startswith(one) for path in functions)]
    values["link"] = link.make_values(graph, about)
    values.update(add_floats(graph, values, writer), blob=None)
    if writer is not None:
        made = writer.finish(graph, memory, named, plan.profile, about.model)
        (folder / "weights.bin").write_bytes(made.content)
        values.update(blob=blob.make_values(made, named), flash=len(made.content))
    contents = _make_contents(values, functions)
    if options.one_header:
        contents["layers.h"] = format_one_header(graph, original)
    described = describe(graph, memory, about)
    if described is not None:
        contents[DESCRIPTION], arrays = described
        write_archive(folder / WEIGHTS, arrays)
    for path, text in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode("utf-8"))
    write_manifest(folder, about)
    return Firmware(values["ram"], values["flash"])


def _list_types(header: str, cmsis: str) -> str:
    """Return the types that a stand-in for a header declares."""
    is_new = place_of(cmsis) >= place_of("4ab83cc3")
    both = header in ("arm_math.h", "arm_nn_math_types.h")
    names = ("arm_math.h", "arm_nn_types.h") if both else (header,)
    texts = [_fill(load_template(name), {"has_hidden_state": is_new}) for name in names]
    return "\n\n".join(text.rstrip() for text in texts)


def _make_contents(values: dict[str, Any], functions: Mapping[str, str]) -> dict[str, str]:
    """Return path -> text of all filled templates, and of the functions.

    Adds the lists of sources to the values.
    """
    names = (*_TEMPLATES, *(_PREPROCESS if values["preprocess"]["raw"] else ()), "Makefile")
    names += _FLOATS if values["floats"] else ()
    names += ("weights.c",) if values["blob"] else ()
    contents = {path: render(path, values) for path in names}
    contents.update(_make_headers(values))
    contents.update(functions)
    contents["boards/startup.c"] = load_template("startup.c")
    contents["boards/library.sh"] = load_template("library.sh")
    contents["boards/report.c"] = render("report.c", values)
    for board in BOARDS.values():
        contents[f"boards/{board.script}"] = render("board.ld", {"board": board})
    contents.update({path: load_template(name) for path, name in link.FILES.items()})
    values.update(builds.list_sources(contents))
    contents.update(builds.make_files(values["build"], values, lambda name: render(name, values)))
    for path in ("link/link_network.c", "link/link.mk"):
        contents[path] = render(path.partition("/")[2], values)
    return contents


def _make_headers(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the network's header, and network.h that includes it for programs of one network."""
    name = values["name"]
    headers = {f"{name}.h": render("network.h", values)}
    headers[f"{name}.hpp"] = render("network.hpp", values)
    if name.lower() != DEFAULT_NAME:
        headers["network.h"] = f'#include "{name}.h"\n'
    return headers


def check_name(name: object) -> str:
    """Return the network's name in C; raise Error if it is not an identifier or another header's
    name.
    """
    if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w{0,31}", name, re.ASCII)):
        raise Error(
            f"name is {name!r}; it must begin with a letter and have up to 31 letters, digits and _"
        )
    if name.lower() in _TAKEN:
        raise Error(
            f"name is {name!r}, which is the name of a header, a folder or a C++ keyword: "
            "choose another"
        )
    return name


def _list_functions(calls: Iterable[MemoryCall], profile: Profile, name: str) -> dict[str, str]:
    """Return the functions that replace Arm's, and those that firmware needs besides CMSIS-NN.

    A network with a name of its own has its own functions, whatever another export computes.
    """
    functions = stand_in.make_stand_ins(calls, profile.cmsis)
    contents: dict[str, str] = {}
    for folder, stem in (("tflm", "tflm"), ("local", "local_NN"), ("kernels", "stand_in")):
        group = [one for one in functions if one.folder == folder]
        if folder != "kernels" and not group:
            continue
        files: dict[str, str] = {}
        for header, content in stand_in.list_headers(group, profile.cmsis).items():
            if folder != "local":
                content["declarations"] = _list_types(content["types"], profile.cmsis)
            files[header] = render("stand_in.h", content)
        kind = {"own": folder == "tflm", "local": folder == "local"}
        values = {**kind, "name": name, **stand_in.make_implementation(group, profile)}
        if group:
            files[f"{stem}.c"] = render("stand_in.c", values)
        for path, text in stand_in.list_sources(group).items():
            there = {f"{other}{path}" for other in _BROUGHT} & contents.keys()
            if not path.endswith(".c") or not there:
                files[path] = text
        contents.update((f"{folder}/{path}", text) for path, text in files.items())
    return (
        contents if name == DEFAULT_NAME else plain_kernels.rename_functions(contents, f"{name}_")
    )


@contextmanager
def replace_earlier(folder: Path, force: bool) -> Iterator[Path]:
    """Yield a fresh folder that replaces `folder`, which may contain an earlier export.

    force: also replace an edited one.
    """
    try:
        with replace_folder(folder, _list_earlier, force) as fresh:
            yield fresh
    except OSError as error:
        raise Error(f"cannot write the firmware to {folder}: {get_reason(error)}") from None


def _list_earlier(folder: Path) -> Listed:
    """Return the files of an earlier export in this folder and of its builds; none for further
    content.
    """
    files = read_earlier_files(folder / MANIFEST, FORMAT)
    return {**dict.fromkeys([MANIFEST, *_list_files(folder, "build")]), **files} if files else {}


def write_manifest(folder: Path, about: About) -> None:
    """Write the list of all files of an export."""
    profile = about.profile
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "qemu_nn": about.version,
        "network": about.network,
        "model": about.model,
        "profile": {
            "core": about.core,
            "path": profile.path,
            "cmsis": profile.cmsis,
            "rounding": profile.rounding,
            **profile.build,
            **profile.espressif,
        },
        "files": [
            {"path": path, "crc32": format_checksum((folder / path).read_bytes())}
            for path in sorted(_list_files(folder, "."))
        ],
    }
    (folder / MANIFEST).write_bytes((json.dumps(manifest, indent=1) + "\n").encode("ascii"))


def _list_files(folder: Path, part: str) -> set[str]:
    """Return all files below a part of the folder, relative to the folder."""
    paths = (folder / part).rglob("*")
    return {path.relative_to(folder).as_posix() for path in paths if path.is_file()}


def render(name: str, values: Mapping[str, Any]) -> str:
    """Return a template filled with values."""
    return _fill(load_template(f"{name}.jinja"), values)


def _fill(template: str, values: Mapping[str, Any]) -> str:
    return str(_compile(template).render(values))


@cache
def _compile(template: str) -> Any:
    jinja2 = require("jinja2", "export", "the export of C")
    options = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    return jinja2.Environment(undefined=jinja2.StrictUndefined, **options).from_string(template)


def load_template(name: str) -> str:
    """Return a template as it is, or a file that has none to fill."""
    return (files(__package__) / "templates" / name).read_text(encoding="ascii")
