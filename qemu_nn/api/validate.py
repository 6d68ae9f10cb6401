"""Holds a device against the emulator: inputs out, every layer's output back, byte by byte."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Optional, Union

import numpy as np

from ..analysis.validation import Validation
from ..chips import find_named
from ..device import client, emulator
from ..device.client import Described, Device, Restarted
from ..device.transports import connect
from ..errors import Error
from ..firmware.boards import BOARDS
from ..io.arguments import as_callable, as_flag, as_number, format_value, have
from ..io.stages import announce
from ..ir.graph import Graph
from ..qnz.package import model_hash
from ..runtime.inputs import arrange_by_name
from ..runtime.session import Session, draw_inputs
from ..targets import Profile, Target, core_path, resolve
from .data import Dataset, coded
from .export import export
from .network import Network, quantized
from .validate_layers import Findings

#: Resets of the device during one sample until it is given up.
_RESETS = 3

#: Seconds for an answer of QEMU, which takes its time, and says when it ends.
_EMULATED = 600.0

#: Random samples, and time steps of each, where the caller has no data.
_SAMPLES, _STEPS = 4, 3


def validate(
    network: Union[Network, str, Path],
    data: Any = None,
    on: str = "qemu:m4",
    *,
    target: Union[str, Target, None] = None,
    layers: bool = True,
    timeout: Optional[float] = None,
    make: Sequence[str] = (),
    progress: Optional[Callable[[Iterable[Any]], Iterable[Any]]] = None,
) -> Validation:
    """Send inputs to a device that runs the network, and compare the result of each layer.

    A layer that differs does not affect later layers: its result is replaced on the device by
    the right one.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    data : Dataset or source, optional
        Inputs, as a Dataset or its source: the input's integers (N, *input shape), of a recurrent
        network (N, T, *input shape), or floats. Default: four random inputs, always the same;
        Dataset(None, limit=9) is nine.
    on : str, default "qemu:m4"
        Where the device is. "qemu:BOARD" exports the network, builds it and runs it on an emulated
        board of firmware.boards.BOARDS; "serial:PORT@BAUD", "tcp:HOST:PORT" and
        "command:PROGRAM ARGUMENTS" reach one that has an export with link/ in its firmware.
    target : str or Target, optional
        The device, as Network.session() takes it; default: the board's core, or what the device
        says that its network was exported for.
    layers : bool, default True
        Compare every layer; otherwise the outputs alone, which is faster.
    timeout : float, optional
        Seconds that the device may take for an answer, the time of its slowest layer among them;
        default: 10, and 600 where QEMU is the device.
    make : sequence of str, optional
        Of an emulated board: variables for make, such as "CFLAGS=-Os", or what an export's Makefile
        takes to build Arm's own functions in.
    progress : callable, optional
        Wraps the iteration over samples, as tqdm does.

    Returns
    -------
    Validation
        Verdict, layers with their first differences and likely causes, and what the device
        counted next to the estimate; print it to read it.

    Raises
    ------
    Error
        There is no device, it does not answer, or has another network; a tool is missing; the data
        do not fit.

    Examples
    --------
    >>> print(validate("net.qnz", "test.npz", on="serial:/dev/ttyACM0@921600"))
    """
    network, progress = quantized(network), as_callable(progress, "progress")
    if not isinstance(on, str):
        raise Error(
            f"on is {format_value(on)}, but must be a text, such as 'qemu:m4' or "
            "'serial:/dev/ttyACM0@921600'"
        )
    layers = as_flag(layers, "layers")
    wait = patience(on, timeout)
    wanted = None if target is None else Target.of(target)
    if wanted is not None and on.startswith("qemu:"):
        core = board_core(on)
        if core_path(core) != core_path(wanted.device):
            raise Error(f"{on} is a {core}, not {wanted.device}: give Target({core!r}, ...)")
    given = {} if wanted is None else {"target": wanted}
    data = Dataset.of(data)
    count = data.draw_count(_SAMPLES)
    with reached(network, on, given, wait, make_variables(on, make)) as device:
        device.begin_session()
        try:
            profile = _profile(network, device.network, wanted)
            session = Session(network.graph, profile, trace=True, host=network.host)
        except Error:
            _check_model(device, network.graph)  # whose reason comes first
            raise
        graph = session.graph
        if count:
            x = arrange_by_name(graph, draw_inputs(graph, count, _STEPS if graph.states else 1))
        else:
            x = arrange_by_name(graph, coded(session.host, data))
        return _validated(device, session, x, on, layers, progress)


def patience(on: str, timeout: Optional[float]) -> float:
    """Return the seconds that a device may take for an answer."""
    usual = _EMULATED if on.startswith("qemu:") else client.TIMEOUT
    wait = usual if timeout is None else as_number(timeout, "timeout")
    if not 0 < wait < 1e6:
        raise Error(f"timeout is {timeout!r}, but must be seconds above 0")
    return wait


@contextmanager
def reached(
    network: Optional[Network], on: str, given: dict[str, Any], wait: float, make: Sequence[str]
) -> Iterator[Device]:
    """Yield the device; the export of an emulated one is deleted when it is closed.

    network, given: what an emulated board runs, and the arguments of its export().
    """
    kind, _, name = on.partition(":")
    if kind != "qemu":
        device = Device(connect(on), on, wait)
        try:
            yield device
        finally:
            device.close()
        return
    name = board_name(name)
    with TemporaryDirectory(prefix="qemu_nn_validate_") as folder:
        program = Path(folder) / "export"
        build: dict[str, Any] = {"target": BOARDS[name].core, **given}
        assert network is not None
        export(network, program, **build)
        built = emulator.build(program, name, make)
        device = Device(emulator.Emulator(built, BOARDS[name].emulator), on, wait)
        try:
            yield device
        finally:
            device.close()


def board_core(on: str) -> str:
    """Return the core of an emulated board, "qemu:BOARD"."""
    return BOARDS[board_name(on.partition(":")[2])].core


def board_name(name: str) -> str:
    """Return an emulated board by its name or that of its core, as people write it: "Cortex-M4"."""
    if find_named(name) is None:  # a chip is none that QEMU emulates
        with suppress(Error):
            core = resolve(name)
            name = next((board.name for board in BOARDS.values() if board.core == core), name)
    if name not in BOARDS:
        raise Error(f"no emulated board {format_value(name)}; {have(BOARDS, name)}")
    return name


def make_variables(on: str, make: Sequence[str]) -> list[str]:
    """Return the variables for make; paths are absolute, as make runs in the export."""
    if isinstance(make, str) or not isinstance(make, Sequence):
        raise Error(
            f"make is {format_value(make)}, but must be a list of texts such as 'CFLAGS=-Os'"
        )
    for each in make:
        if not isinstance(each, str) or "=" not in each[1:] or "\0" in each:
            raise Error(f"make= contains {each!r}, but must contain NAME=VALUE such as CFLAGS=-Os")
    if make and not on.startswith("qemu:"):
        raise Error(f"make= builds for qemu:BOARD only, but {on} is built already: leave it out")
    pairs = [each.partition("=") for each in make]
    return [f"{name}={Path(v).resolve() if os.path.exists(v) else v}" for name, _, v in pairs]


def _profile(network: Network, said: Described, target: Optional[Target]) -> Profile:
    """Return whose bits the device has; Error where the caller named another profile."""
    if said.esp_nn or said.esp_dl:
        own = Target(said.path, tflm=said.tflm, esp_nn=said.esp_nn or None)
    else:
        own = Target(said.path, said.cmsis, said.rounding, said.kernels, said.tflm)
    profile = network.profile(own)
    if said.esp_dl not in ("", profile.esp_dl):
        raise Error(
            f"the device has ESP-DL {said.esp_dl}, and {profile} is computed here; export the "
            "network again and flash it"
        )
    if target is None:
        return profile
    if target.cmsis is None:
        target = replace(target, cmsis=own.cmsis)
    if target.rounding is None:
        target = replace(target, rounding=own.rounding)
    wanted = network.profile(target)
    if wanted != profile:
        raise Error(
            f"the device's network was exported for {profile}, but the target is {wanted}: "
            "leave the target out, or flash an export for it"
        )
    return profile


def _check_model(device: Device, graph: Graph) -> None:
    """Error where another network is on the device, or the same with other weights."""
    said = device.network
    if said.model != model_hash(graph):
        raise Error(
            f"the device runs another network: {said.network!r} with the hash "
            f"{said.model[:12]}, but {graph.name!r} has {model_hash(graph)[:12]}: export it "
            "again and flash it"
        )


def _check_network(device: Device, session: Session) -> None:
    """Error where another network is on the device, or one of other inputs or outputs."""
    graph, said = session.graph, device.network
    _check_model(device, graph)
    inputs = [tensor.nbytes for tensor in graph.inputs]
    outputs = [graph.tensors[name].nbytes for name in graph.outputs]
    sizes = [[size for _, size in found] for found in (said.inputs, said.outputs)]
    if sizes != [inputs, outputs]:
        raise Error(
            f"the device's inputs or outputs are not those of {graph.name!r}: export it again "
            "and flash it"
        )


def _validated(
    device: Device,
    session: Session,
    x: dict[str, np.ndarray],
    on: str,
    layers: bool,
    progress: Optional[Callable[[Iterable[Any]], Iterable[Any]]],
) -> Validation:
    _check_network(device, session)
    graph = session.graph
    first = x[graph.input.name]
    samples, steps = len(first), first.shape[1] if graph.states else 1
    findings = Findings(session, layers, device.hello.counts, device.network.layers)
    resets = 0
    turns = range(samples)
    announce("compares samples")
    for sample in progress(turns) if progress else turns:
        own = {name: values[sample : sample + 1] for name, values in x.items()}
        for _ in range(_RESETS):
            try:
                findings.take(device, sample, own)
                break
            except Restarted:
                resets += 1
                _meet_again(device, session, on)
        else:
            raise Error(
                f"{on}: the device was reset {_RESETS} times in sample {sample}: check its "
                "power supply and its stack"
            )
    return Validation(
        network=graph.name,
        profile=str(session.profile),
        device=on,
        functions=device.network.functions,
        samples=samples,
        steps=steps,
        layers=findings.layers(device.network.core),
        counts=device.hello.counts,
        clock=device.hello.clock,
        repeated=device.repeated,
        restarts=resets,
    )


def _meet_again(device: Device, session: Session, on: str) -> None:
    """Begin a new session with a device that was reset; it may be so again meanwhile."""
    for _ in range(_RESETS):
        try:
            device.begin_session()
            _check_network(device, session)
            return
        except Restarted:
            continue
    raise Error(f"{on}: the device is reset again and again: check its power supply and its stack")
