"""A network as a firmware project: C that calls CMSIS-NN, and its self-test for PC and board."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import Error
from ..functions.prototypes import is_own
from ..io.extras import require
from ..io.files import reason
from ..runtime.host import Host
from ..runtime.plan import Plan
from ..targets import Profile
from . import link, stand_in
from .boards import BOARDS
from .context import context
from .folder import Listed, checksum, earlier_files, replacing
from .golden import About, GoldenSet
from .memory import Call, layout
from .one_header import one_header
from .preprocess import preprocess
from .symbols import symbols

FORMAT = "qemu_nn firmware"
VERSION = 2
MANIFEST = "manifest.json"

#: The golden set's folder inside of the project's.
GOLDENS = "goldens"

_TEMPLATES = ("network.h", "network.c", "parameter.h", "weights.h", "main.c")
_PREPROCESS = ("preprocess.h", "preprocess.c")


@dataclass(frozen=True)
class Firmware:
    """What export() wrote.

    Attributes
    ----------
    ram : int
        Bytes of static memory.
    flash : int
        Bytes of weights and biases.
    """

    ram: int
    flash: int


def write(
    folder: Path,
    plan: Plan,
    about: About,
    goldens: GoldenSet,
    steps: int,
    one: bool,
    host: Host,
) -> Firmware:
    """Write the project into a folder that has the golden set already, for the same profile.

    plan: traced; steps: time steps of each golden input, 1 if the network is not recurrent; one:
    write layers.h, one header of plain macros, too; host: prepares the network's inputs. Raises
    Error where the network cannot run on a device as it is, or jinja2 is missing.
    """
    graph, memory = plan.graph, layout(plan)
    named = symbols(graph, goldens.stems)
    values = context(graph, memory, named, about)
    values.update(profile=str(plan.profile), samples=goldens.inputs, steps=steps)
    arms = stand_in.arms_headers(values["headers"], plan.profile.cmsis)
    guards = [f"defined({stand_in.guard(header)})" for header in arms]
    values["mixed"] = " || \\\n    ".join(
        f"{guard} != defined(NETWORK_STAND_IN)" for guard in guards
    )
    values["preprocess"] = preprocess(host)
    values["boards"] = list(BOARDS.values())
    values["own"] = any(is_own(call.step.node.function) for call in memory.calls)
    names = (*_TEMPLATES, *(_PREPROCESS if values["preprocess"]["raw"] else ()), "Makefile")
    contents = {name: _rendered(name, values) for name in names}
    contents.update(_functions(memory.calls, plan.profile))
    contents["boards/startup.c"] = _template("startup.c")
    for board in BOARDS.values():
        contents[f"boards/{board.script}"] = _rendered("board.ld", {"board": board})
    contents.update({path: _template(name) for path, name in link.FILES.items()})
    values["link"] = link.values(graph, about)
    for path in ("link/link_network.c", "link/link.mk"):
        contents[path] = _rendered(path.partition("/")[2], values)
    if one:
        contents["layers.h"] = one_header(graph, named)
    for path, text in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode("utf-8"))
    _write_manifest(folder, about)
    return Firmware(values["ram"], values["flash"])


def _functions(calls: Iterable[Call], profile: Profile) -> dict[str, str]:
    """The functions of CMSIS-NN that stand in for Arm's, and those that are the network's own."""
    functions = stand_in.stand_ins(calls)
    groups = {own: [one for one in functions if one.own == own] for own in (True, False)}
    contents: dict[str, str] = {}
    for own, group in groups.items():
        if own and not group:
            continue
        folder, name = ("tflm", "tflm") if own else ("kernels", "stand_in")
        for header, content in stand_in.headers(group, profile.cmsis).items():
            types = _filled(_template(content["types"]), {"cmsis": profile.cmsis})
            content["declarations"] = types.rstrip()
            contents[f"{folder}/{header}"] = _rendered("stand_in.h", content)
        values = {"own": own, **stand_in.implementation(group, profile)}
        contents[f"{folder}/{name}.c"] = _rendered("stand_in.c", values)
        for path, text in stand_in.sources(group).items():
            if not path.endswith(".c") or f"tflm/{path}" not in contents:
                contents[f"{folder}/{path}"] = text
    return contents


@contextmanager
def replacing_earlier(folder: Path, force: bool) -> Iterator[Path]:
    """A fresh folder that replaces `folder`, which may hold an earlier export.

    force: also one that was edited since.
    """
    try:
        with replacing(folder, _listed, force) as fresh:
            yield fresh
    except OSError as error:
        raise Error(f"cannot write the firmware to {folder}: {reason(error)}") from None


def _listed(folder: Path) -> Listed:
    """The files of an earlier export in this folder and of its builds; none if it is no such."""
    files = earlier_files(folder / MANIFEST, FORMAT)
    return {**dict.fromkeys([MANIFEST, *_files(folder, "build")]), **files} if files else {}


def _write_manifest(folder: Path, about: About) -> None:
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
        },
        "files": [
            {"path": path, "crc32": checksum((folder / path).read_bytes())}
            for path in sorted(_files(folder, "."))
        ],
    }
    (folder / MANIFEST).write_bytes((json.dumps(manifest, indent=1) + "\n").encode("ascii"))


def _files(folder: Path, part: str) -> set[str]:
    """All files below a part of the folder, relative to the folder."""
    paths = (folder / part).rglob("*")
    return {path.relative_to(folder).as_posix() for path in paths if path.is_file()}


def _rendered(name: str, values: Mapping[str, Any]) -> str:
    return _filled(_template(f"{name}.jinja"), values)


def _filled(template: str, values: Mapping[str, Any]) -> str:
    jinja2 = require("jinja2", "export", "the export of C")
    options = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, **options)
    return str(environment.from_string(template).render(values))


def _template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="ascii")
