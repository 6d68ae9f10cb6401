"""Names the release of CMSIS-NN in a source tree, a header, or a built file."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Optional, Union

from ..errors import Error, Refused, SizeMismatch
from ..io import files
from ..io.stages import announce
from ..ir.graph import Graph, Node
from ..kernels import table as kernels
from ..releases import ALL, BY_NAME, RULES, SDKS, Release, Rule
from ..releases.fingerprints import fingerprints
from ..targets import DEFAULT_CORE, Profile, Target
from .network import FloatNetwork, load

#: Largest files that are read: sources, and built programs or libraries.
_SOURCE, _BUILT = 4 * files.MEGABYTE, 512 * files.MEGABYTE

_FOLDERS = ("Include", "Source")
_REVISION = re.compile(rb"\$Revision:?\s*(\S+)")
_NAME = re.compile(rb"arm_[A-Za-z0-9_]+")


@dataclass(frozen=True)
class CmsisCopy:
    """A copy of CMSIS-NN that was found.

    Attributes
    ----------
    path : str
        The folder with `Include` and `Source`, or the file.
    cmsis : str
        The state that fits best, as `cmsis=` takes it.
    alike : tuple of str
        States that fit equally well.
    how : str
        "code" of files, "symbols" of a built file, or "revision" if no file equals a known one.
    same, of : int
        So many files equal those of the state, of so many; or symbols that the state declares.
    changed : tuple of str
        Files that differ from those of the state.
    revision : str
        `$Revision` of arm_nnfunctions.h; "" without one.
    tag : str
        The tag with the fewest differences.
    differences : tuple of str
        The rules by which state and tag differ.
    layers : tuple of str
        Of a given network: the layers with a difference between state and tag.
    """

    path: str
    cmsis: str
    alike: tuple[str, ...]
    how: str
    same: int
    of: int
    changed: tuple[str, ...] = ()
    revision: str = ""
    tag: str = ""
    differences: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()

    def text(self) -> str:
        """Return lines for a terminal.

        Returns
        -------
        str
            Path, state, how sure, differences from the nearest tag, layers.
        """
        state, what = BY_NAME[self.cmsis], "symbols" if self.how == "symbols" else "files"
        lines = [
            self.path,
            f"  cmsis={self.cmsis!r}: {state}, commit {state.commit} of {state.date}",
            f"  {self.same} of {self.of} {what} fit",
        ]
        if self.how == "revision":
            lines.append(f"  named by the revision in its header alone: {self.revision}")
        if self.alike:
            lines.append(f"  equally well: {', '.join(self.alike)}")
        sdks = [name for name, sdk in SDKS.items() if sdk.state in (self.cmsis, *self.alike)]
        if sdks and self.how == "code":
            lines.append(f"  shipped by: {', '.join(sdks)}")
        if self.changed:
            more = f" and {len(self.changed) - 5} more" if len(self.changed) > 5 else ""
            lines.append(f"  changed: {', '.join(self.changed[:5])}{more}")
        if self.cmsis != self.tag:
            count = len(self.differences) or "no"
            lines.append(f"  nearest tag: {self.tag}, with {count} known differences")
            lines += [f"    {each}" for each in self.differences]
        lines += [f"  differs from {self.tag}: layer {each}" for each in self.layers]
        return "\n".join(lines)


@dataclass(frozen=True)
class CmsisReport:
    """The copies of CMSIS-NN in a place.

    Attributes
    ----------
    copies : tuple of CmsisCopy
        Sorted by path.
    """

    copies: tuple[CmsisCopy, ...]

    @property
    def cmsis(self) -> str:
        """The state, if there is one copy; Error with the paths if there are more."""
        names = {copy.cmsis for copy in self.copies}
        if len(names) > 1:
            found = "; ".join(f"{copy.path}: {copy.cmsis}" for copy in self.copies)
            raise Error(f"there are several copies of CMSIS-NN: name one of them: {found}")
        return names.pop()

    def text(self) -> str:
        """Return lines for a terminal.

        Returns
        -------
        str
            Each copy, its state, and how sure that is.
        """
        return "\n\n".join(copy.text() for copy in self.copies)

    def json(self) -> str:
        """Return the copies as JSON.

        Returns
        -------
        str
            A list of objects with the attributes of CmsisCopy.
        """
        return json.dumps([asdict(copy) for copy in self.copies], indent=2)


def cmsis_of(
    path: Union[str, Path],
    network: Any = None,
    target: Union[str, Target, Profile] = DEFAULT_CORE,
) -> CmsisReport:
    """Name the release of CMSIS-NN in a source tree, a header, or a built file.

    Files are compared with those of 57 states, without comments, includes and white space. In a
    library or program the names of functions narrow the states.

    Parameters
    ----------
    path : str or Path
        A folder, arm_nnfunctions.h, an archive (.a) or an ELF file with symbols.
    network : str, Path or Network, optional
        A quantized network: its layers that differ between the state and the nearest tag.
    target : str, Target or targets.Profile, default "cortex-m4"
        The device of the network.

    Returns
    -------
    CmsisReport
        The copies, with the state of each; `.cmsis` is the name for `cmsis=`.

    Raises
    ------
    Error
        The path has no file of CMSIS-NN, or cannot be read.

    Examples
    --------
    >>> cmsis_of("firmware/CMSIS/NN").cmsis  # doctest: +SKIP
    '5.9.0'
    """
    place = Path(path)
    if not place.exists():
        raise Error(f"{place} does not exist; give a folder, a header, a library or a program")
    announce("reads files")
    copies = tuple(_of_folder(place) if place.is_dir() else _of_file(place))
    if not copies:
        raise Error(
            f"{place} has no file of CMSIS-NN that equals one of a known state, apart from "
            "comments: give the folder that has arm_nnfunctions.h"
        )
    graph = None if network is None else _graph(network)
    return CmsisReport(tuple(_with_tag(copy, graph, target) for copy in copies))


def _graph(network: Any) -> Graph:
    loaded = load(network) if isinstance(network, (str, Path)) else network
    if isinstance(loaded, FloatNetwork) or not hasattr(loaded, "graph"):
        raise Error("the network is not quantized: give a file that a Cortex-M runs")
    graph: Graph = loaded.graph
    return graph


# ---- files ----


def _of_folder(folder: Path) -> Iterator[CmsisCopy]:
    roots: dict[Path, dict[str, bytes]] = defaultdict(dict)
    for parent, _, names in os.walk(folder):
        for name in names:
            known = _known_name(name)
            if known in fingerprints().files:
                path = Path(parent) / name
                roots[_root(path, folder)][known] = files.read_bytes(path, _SOURCE)
    for root, contents in sorted(roots.items()):
        if len(contents) > 2 or "arm_nnfunctions.h" in contents:
            yield from _of_contents(str(root), contents)


def _known_name(name: str) -> str:
    """Return the name of a file as Arm has it: builds for Arduino rename C to C++."""
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}.c" if dot and suffix in ("cc", "cpp") else name


def _root(path: Path, folder: Path) -> Path:
    """Return the folder of a copy: the one that holds Include or Source."""
    parts = path.relative_to(folder).parts[:-1]
    at = [index for index, part in enumerate(parts) if part in _FOLDERS]
    if at:
        return folder.joinpath(*parts[: at[0]])
    return folder.parent if folder.name in _FOLDERS else path.parent


def _of_file(path: Path) -> Iterator[CmsisCopy]:
    if path.suffix in (".h", ".c"):
        if path.name in fingerprints().files:
            yield from _of_contents(str(path), {path.name: files.read_bytes(path, _SOURCE)})
        return
    known = fingerprints().functions
    found = {name.decode() for name in _NAME.findall(files.read_bytes(path, _BUILT))}
    fits = {name: set(range(first, last + 1)) for name, (first, last) in known.items()}
    names = sorted(found & fits.keys())
    if names:
        yield _best(str(path), "symbols", {name: fits[name] for name in names})


def _of_contents(path: str, contents: Mapping[str, bytes]) -> Iterator[CmsisCopy]:
    """Yield the state that most files fit; if none fits, one of Arm's revision of the header."""
    fits = {name: fingerprints().states(name, content) for name, content in contents.items()}
    revision = _REVISION.search(contents.get("arm_nnfunctions.h", b""))
    said = revision[1].decode("latin-1") if revision else ""
    if any(fits.values()):
        yield _best(path, "code", fits, said)
        return
    places = {state.place for state in ALL if state.revision == said}
    if places:
        copy = _best(path, "revision", {said: places}, said)
        yield replace(copy, same=0, of=len(fits), changed=tuple(sorted(fits)))


def _best(path: str, how: str, fits: Mapping[str, set[int]], revision: str = "") -> CmsisCopy:
    """Return the state that most files or symbols fit: of several a tag, or else the newest."""
    counts = [sum(place in states for states in fits.values()) for place in range(len(ALL))]
    best = [state for state in ALL if counts[state.place] == max(counts)]
    chosen = next((state for state in reversed(best) if state.is_tag), best[-1])
    return CmsisCopy(
        path,
        chosen.name,
        tuple(state.name for state in best if state is not chosen),
        how,
        max(counts),
        len(fits),
        tuple(sorted(name for name, states in fits.items() if chosen.place not in states)),
        revision,
    )


# ---- differences ----


def _with_tag(
    copy: CmsisCopy, graph: Optional[Graph], target: Union[str, Target, Profile]
) -> CmsisCopy:
    state = BY_NAME[copy.cmsis]
    tag = min(
        (each for each in ALL if each.is_tag and each.library == state.library),
        key=lambda each: (len(_between(state, each)), abs(each.place - state.place)),
    )
    words = tuple(_sentence(rule, state) for rule in _between(state, tag))
    layers = () if graph is None else tuple(_touched(graph, state, tag, target))
    values = {**asdict(copy), "tag": tag.name, "differences": words, "layers": layers}
    return CmsisCopy(**values)


def _between(one: Release, other: Release) -> list[Rule]:
    """Return the rules that hold for one of two states."""
    return [rule for rule in RULES if rule.holds_for(one) != rule.holds_for(other)]


def _sentence(rule: Rule, state: Release) -> str:
    which = "in this state" if rule.holds_for(state) else "in the tag alone"
    return f"{', '.join(rule.ops) or 'all functions'}, {which}: {rule.words()}"


def _touched(
    graph: Graph, state: Release, tag: Release, target: Union[str, Target, Profile]
) -> Iterable[str]:
    """Yield the layers whose calls the two states compute differently."""
    wanted = Target.of(target)
    for node in graph.nodes:
        one, other = (_computed(node, each, wanted) for each in (state, tag))
        if one != other:
            yield f"{node.name} ({node.function.name})"


def _computed(node: Node, state: Release, wanted: Target) -> object:
    """Return what decides the bits of a call: the plain row, the fields, or the refusal."""
    rows = kernels.list_rows(node.function.op, node.function.type)
    for rounding in (wanted.rounding, "double"):
        try:
            device = Target(wanted.device, state.name, rounding).profile()
            call = kernels.apply_rules(rows[0].op, device, node.function.struct_values(node.params))
        except (Refused, SizeMismatch) as error:
            return str(error).partition(": ")[2]
        except Error as error:
            return str(error)
        plain = [row for row in rows if row.kind == "plain" and row.profiles >> call.bit & 1]
        if plain:
            fields = dict(call.fields or {})
            term = call.release if fields.get("out_shift") == 31 else ""
            return plain[0].symbol, call.path, fields, call.warnings, term
    return f"no {node.function.name}"
