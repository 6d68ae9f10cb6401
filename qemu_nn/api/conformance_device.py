"""Runs the conformance set on a device: exports of many cases each, whose outputs come back."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Optional

import numpy as np

from ..device.client import Device, LayerRefused, Restarted
from ..errors import DeviceWarning, Error
from ..io import files
from ..io.stages import announce
from ..ir.graph import Graph, Node, Tensor
from ..qnz.package import model_hash
from ..targets import AFFINE_CMSIS, LEGACY_CMSIS, Profile, Target
from ..testing.conformance import cases as conformance
from ..testing.conformance.cases import Case
from .conformance import Conformance, Difference, Place, Progress
from .export import export
from .network import Network
from .validate import board_core, make_variables, patience, reached

#: Most inputs of a part (the link counts them in a byte), and bytes of inputs and outputs, which
#: take RAM, and of arrays, which take flash.
_INPUTS, _RAM, _FLASH = 200, 48 << 10, 192 << 10

#: Resets of the device during a part until it is given up.
_RESETS = 3


def run_on_device(
    cases: Sequence[Case],
    on: str,
    target: Optional[Target] = None,
    make: Sequence[str] = (),
    timeout: Optional[float] = None,
    progress: Optional[Progress] = None,
) -> Conformance:
    """Run cases on a device, and compare the digests of its outputs with the set.

    Parameters
    ----------
    cases : sequence of Case
        Cases of the set.
    on : str
        The device, as validate() takes it. An emulated board runs all parts of the set, each built
        for it; another device runs the part that it was flashed with (export_parts()).
    target : Target, optional
        The release and the rounding of an emulated board, whose core counts; default: 5.9.0 and
        7.0.0 as Arm ships them. Another device says which profile it has.
    make : sequence of str, optional
        Variables for make, as validate() takes them.
    timeout : float, optional
        Seconds that the device may take for an answer.
    progress : callable, optional
        Wraps the iteration over parts, as tqdm does.

    Returns
    -------
    Conformance
        A place for each profile.

    Raises
    ------
    Error
        There is no device, it does not answer, refuses a call, or has another network; a tool is
        missing.
    """
    variables, wait = make_variables(on, make), patience(on, timeout)
    if not on.startswith("qemu:"):
        if target is not None:
            raise Error(f"{on} has a profile of its own: leave --cmsis and --rounding out")
        return Conformance((_on_board(cases, on, wait),))
    core = board_core(on)
    wanted = _profiles(replace(target or Target(), device=core))
    turns = [(own, part) for own in wanted for part in parts(cases, own)]
    found: dict[Profile, list[Difference]] = {own: [] for own in wanted}
    functions = ""
    announce("runs cases on the device")
    for own, part in progress(turns) if progress else turns:

        def board(piece: Sequence[Case], own: Profile = own) -> AbstractContextManager[Device]:
            given = {"target": Target(core, own.cmsis, own.rounding), "data": inputs(piece)}
            return reached(Network(joined(piece)), on, given, wait, variables)

        functions, wrong = _run_on_emulated(board, part, own)
        found[own] += wrong
    return Conformance(
        tuple(
            _place(f"{on}, {conformance.name_profile(own)}", functions, cases, own, wrong)
            for own, wrong in found.items()
        )
    )


def export_parts(
    cases: Sequence[Case],
    folder: Path,
    target: Target,
) -> list[Path]:
    """Write an export for each part of the set, to flash one after the other; return the folders.

    Parameters
    ----------
    cases : sequence of Case
        Cases of the set.
    folder : Path
        The folder of all exports.
    target : Target
        The device, as export() takes it; without a release 5.9.0 and 7.0.0 as Arm ships them.

    Returns
    -------
    list of Path
        A folder for each part, named after profile and number.

    Raises
    ------
    Error
        A name is unknown, or a folder holds something else.
    """
    written = []
    files.make_folder(folder)
    for own in _profiles(target):
        for number, part in enumerate(parts(cases, own), 1):
            path = folder / f"{own.cmsis}-{own.rounding}-{number:02}"
            device = Target(target.device, own.cmsis, own.rounding)
            with _quiet():
                export(Network(joined(part)), path, target=device, data=inputs(part))
            written.append(path)
    return written


def _profiles(target: Target) -> list[Profile]:
    if target.cmsis or target.rounding:
        return [target.profile()]
    return [replace(target, cmsis=release).profile() for release in (LEGACY_CMSIS, AFFINE_CMSIS)]


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop the warnings of what a device does in some calls of the set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        yield


# ---- parts: many cases as one network ----


def parts(cases: Sequence[Case], own: Profile) -> Iterator[tuple[Case, ...]]:
    """Yield the cases of a profile that firmware can call, as many at a time as a board holds.

    All cases of a part have the same time steps.
    """
    most = np.array((_INPUTS, _RAM, _FLASH))
    for steps in sorted({case.steps for case in cases}):
        part: list[Case] = []
        filled = np.zeros(3, int)
        for case in cases:
            if case.steps == steps and _is_callable(case, own):
                needed = _needed(case)
                if part and (filled + needed > most).any():
                    yield tuple(part)
                    part, filled = [], np.zeros(3, int)
                part.append(case)
                filled = filled + needed
        if part:
            yield tuple(part)


def _is_callable(case: Case, own: Profile) -> bool:
    """True if the profile has the case, and firmware can call all its functions."""
    callable_ = not any(call.declared.not_called for call in case.calls)
    return callable_ and case.get_expected(own) is not None


def _needed(case: Case) -> np.ndarray:
    """Return the inputs of a case, and its bytes of RAM and of flash."""
    graph = conformance.graph(case)
    ram = sum(tensor.nbytes for tensor in graph.tensors.values())
    flash = sum(array.nbytes for array in graph.arrays.values())
    return np.array((len(graph.inputs), ram, flash))


def joined(part: Sequence[Case]) -> Graph:
    """Return cases as one network, whose tensors are named after the case."""
    graphs = [_prefixed(conformance.graph(case), case.name) for case in part]
    return Graph(
        f"{part[0].name} to {part[-1].name}",
        tuple(tensor for graph in graphs for tensor in graph.inputs),
        tuple(node for graph in graphs for node in graph.nodes),
        tuple(name for graph in graphs for name in graph.outputs),
        {name: array for graph in graphs for name, array in graph.arrays.items()},
        states=tuple(tensor for graph in graphs for tensor in graph.states),
    )


def _prefixed(graph: Graph, prefix: str) -> Graph:
    def named(name: str) -> str:
        return f"{prefix}.{name}"

    def tensor(one: Tensor) -> Tensor:
        return replace(one, name=named(one.name))

    def node(one: Node) -> Node:
        weights, bias = (name and named(name) for name in (one.weights, one.bias))
        reads = tuple(map(named, one.inputs))
        return replace(one, inputs=reads, output=tensor(one.output), weights=weights, bias=bias)

    return replace(
        graph,
        inputs=tuple(map(tensor, graph.inputs)),
        nodes=tuple(map(node, graph.nodes)),
        outputs=tuple(map(named, graph.outputs)),
        arrays={named(name): array for name, array in graph.arrays.items()},
        states=tuple(map(tensor, graph.states)),
    )


def inputs(part: Sequence[Case]) -> dict[str, np.ndarray]:
    """Return the inputs of joined(): [1, ...], or [1, steps, ...]."""
    return {
        f"{case.name}.{name}": values
        for case in part
        for name, values in conformance.inputs(case).items()
    }


# ---- runs ----


def _run_on_emulated(
    board: Callable[[Sequence[Case]], AbstractContextManager[Device]],
    part: Sequence[Case],
    own: Profile,
) -> tuple[str, list[Difference]]:
    """Build a part for a board and run it; return the board's functions and what differs.

    A function that returns an error ends the run of the whole part: its halves then run apart.
    """
    try:
        with _quiet(), board(part) as device:
            device.begin_session()
            functions = device.network.functions
            return functions, _differences(device, part, own)
    except LayerRefused:
        if len(part) == 1:
            return functions, [Difference(part[0].name, conformance.name_profile(own))]
    half = len(part) // 2
    pieces = (_run_on_emulated(board, piece, own) for piece in (part[:half], part[half:]))
    return functions, [one for _, wrong in pieces for one in wrong]


def _on_board(cases: Sequence[Case], on: str, wait: float) -> Place:
    """Run the part that a device was flashed with."""
    with reached(None, on, {}, wait, ()) as device:
        device.begin_session()
        said = device.network
        own = Profile(said.cmsis, said.path, said.rounding)
        known = own in conformance.PROFILES
        for part in parts(cases, own) if known else ():
            if model_hash(joined(part)) == said.model:
                wrong = _differences(device, part, own)
                where = f"{on}, {conformance.name_profile(own)}"
                return _place(where, said.functions, part, own, wrong)
    raise Error(
        f"the device runs the network {said.network!r}, which is not among these cases for "
        f"{own}: flash an export of conformance --export, and name the same cases"
    )


def _place(
    where: str,
    functions: str,
    cases: Sequence[Case],
    own: Profile,
    wrong: Sequence[Difference],
) -> Place:
    has = [case for case in cases if case.get_expected(own) is not None]
    runs = sum(_is_callable(case, own) for case in has)
    return Place(where, functions, len(has), runs, len(has) - runs, tuple(wrong))


def _differences(device: Device, part: Sequence[Case], own: Profile) -> list[Difference]:
    """Run a part on a device that has it; return what differs from the set."""
    for _ in range(_RESETS):
        try:
            return _compared(device, part, own)
        except Restarted:
            device.begin_session()
    raise Error(
        f"the device was reset {_RESETS} times during a part of the set: check its power supply"
    )


def _compared(device: Device, part: Sequence[Case], own: Profile) -> list[Difference]:
    digests = [hashlib.sha256() for _ in part]
    given = inputs(part)
    for step in range(part[0].steps):
        at = (0, step) if part[0].states else 0
        content = [_bytes(values[at]) for values in given.values()]
        _, outputs = device.run(content, step == 0, {}, None)
        each = iter(outputs)
        for case, digest in zip(part, digests):
            for _ in case.outputs:
                digest.update(next(each))
    found = []
    for case, digest in zip(part, digests):
        if digest.hexdigest() != case.get_expected(own):
            found.append(Difference(case.name, conformance.name_profile(own)))
    return found


def _bytes(values: np.ndarray) -> bytes:
    return values.astype(values.dtype.newbyteorder("<")).tobytes()
