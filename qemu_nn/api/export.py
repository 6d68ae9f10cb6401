"""Exports a network as a firmware project with its goldens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Union

import numpy as np

from ..errors import Error, ModelError
from ..firmware import project
from ..firmware.builds import SYSTEMS
from ..firmware.golden import name_stems
from ..firmware.project import Firmware
from ..firmware.symbols import DEFAULT_NAME
from ..io.arguments import as_flag, as_path, have
from ..io.files import read_bytes
from ..io.stages import announce
from ..ir.builds import find_target
from ..ir.graph import Graph
from ..runtime.inputs import arrange_by_name
from ..runtime.npu import list_programs
from ..runtime.session import Session, draw_inputs
from ..targets import DEFAULT_CORE, Target
from .data import Dataset, coded
from .golden import about, write_goldens
from .network import Network, quantized

#: Forms of weights in an export.
_WEIGHTS = ("c", "blob")

#: Random inputs of the self-test where the caller has no data.
_SAMPLES = 2


def export(
    network: Union[Network, str, Path],
    folder: Union[str, Path],
    *,
    target: Union[str, Target] = DEFAULT_CORE,
    data: Any = None,
    one_header: bool = False,
    force: bool = False,
    name: str = DEFAULT_NAME,
    build: Union[str, Iterable[str], None] = None,
    weights: str = "c",
) -> Firmware:
    """Write the network as C that calls CMSIS-NN, with a self-test on the goldens of `data`.

    A preprocessing becomes network_preprocess(), whose integers are those of Network.predict(). For
    a chip of the ESP32 family, write an ESP-IDF project instead: the network's file as a component,
    .tflite in esp-tflite-micro and .espdl in ESP-DL, a self-test of its outputs, and a project with
    the link of validate(). Of a file that vela compiled for an Ethos-U, write that file for
    TensorFlow Lite Micro and the NPU's driver, and a self-test of results between its operators.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file. A network with programs of an Ethos-U must be a file; of
        a network of ESP-DL without its file, one is written for the chip.
    folder : str or Path
        New, empty, or an earlier export, which is replaced.
    target : str or Target, default "cortex-m4"
        The device, as Network.session() takes it.
    data : Dataset or source, optional
        Inputs of the self-test, as a Dataset or its source: the input's integers (N, *input
        shape), of a recurrent network (N, T, *input shape), or floats. Default: two random inputs,
        always the same.
    one_header : bool, default False
        Write layers.h, too, which has everything as plain macros.
    force : bool, default False
        Replace an earlier export even where its files were edited.
    name : str, default "network"
        What all public names of the C begin with: functions, types and macros. Networks of
        different names link together.
    build : str or iterable of str, optional
        Build systems that the export has files for: "cmake", "meson", "zephyr", "cmsis-toolbox",
        "cmsis-pack", "arduino", "platformio", separated by commas; "none" for the Makefile alone.
        Default: all.
    weights : {"c", "blob"}, default "c"
        "blob": weights and quantization are in weights.bin, which NAME_load() takes at run time. A
        model with the same calls and shapes replaces it without new code.

    Returns
    -------
    Firmware
        Bytes of static memory (ram), and of weights and biases (flash); of an ESP-IDF project those
        of the arena and of the .tflite file.

    Raises
    ------
    Error
        The device could not run the network, the inputs do not fit, jinja2 is missing, or the
        folder holds something else or cannot be written; then nothing is left after.

    Examples
    --------
    >>> export("net.qnz", "firmware", target="cortex-m4")
    """
    given = network
    network, folder = quantized(network), as_path(folder, "the folder of an export").resolve()
    options = project.Options(
        project.check_name(name),
        _parse_build(build),
        as_flag(one_header, "one_header"),
        _parse_weights(weights) == "blob",
    )
    announce("writes C")
    wanted = network.profile(target)
    programs = list_programs(network.graph)
    if (wanted.espressif or programs) and (options.one_header or options.blob):
        device = "an Ethos-U" if programs else wanted.path
        raise Error(
            f"one_header and weights='blob' need C that calls CMSIS-NN, but {device} runs a "
            "file of another tool; leave them out"
        )
    if programs:
        from .export_npu import export_program

        if isinstance(given, Network):
            raise Error(
                f"{network.graph.name} has programs of an Ethos-U, whose file is exported; give "
                "export() the path of the file instead of the network"
            )
        path = as_path(given, "network")
        flag = as_flag(force, "force")
        return export_program(path, network, folder, Target.of(target), data, options.name, flag)
    if wanted.espressif:
        part = (find_target(network.graph, target), data, options.name, as_flag(force, "force"))
        if wanted.esp_dl:
            return _export_esp_dl(given, network, folder, *part)
        return _export_component(network, folder, *part)
    session = Session(network.graph, wanted, trace=True, host=network.host)
    said = about(session, target)
    graph = session.graph
    data = Dataset.of(data)
    count = data.draw_count(_SAMPLES)
    x = arrange_by_name(graph, draw_inputs(graph, count) if count else coded(session.host, data))
    with project.replace_earlier(folder, as_flag(force, "force")) as fresh:
        goldens = write_goldens(session, said, x, fresh / project.GOLDENS)
        steps = x[graph.input.name].shape[1] if graph.states else 1
        return project.write(fresh, session.plan, said, goldens, steps, network.host, options)


def _parse_weights(weights: object) -> str:
    """Return the form of the weights. Raises Error for an unknown one."""
    if weights not in _WEIGHTS:
        raise Error(f"weights is {weights!r}; {have(_WEIGHTS, weights)}")
    return str(weights)


def _export_component(
    network: Network, folder: Path, target: Target, data: Any, name: str, force: bool
) -> Firmware:
    """Write an ESP-IDF project that runs a .tflite file in esp-tflite-micro."""
    from ..firmware import esp_idf
    from ..firmware.tflm import Common
    from ..importers.tflite.parser import parse
    from ..runtime.arena import plan_tflm_memory
    from .export_npu import list_results
    from .golden import load
    from .tflite_file import as_tflite

    network.session(target)  # says what esp-tflite-micro does not run
    path = folder / f"{name}.tflite"
    file = as_tflite(network.graph, path, network.preprocessing)
    named = network.graph.name
    network, model = quantized(load(file)), parse(path, file)
    network = replace(network, graph=replace(network.graph, name=named))
    session, x, ends = _start(network, target, data)
    graph = session.graph
    assert network.tflm_figures is not None
    memory = plan_tflm_memory(session.plan.graph, session.profile, network.tflm_figures)
    graphs = [model, *(model.subgraph(number) for number in range(1, model.graphs))]
    operators = [each.name for own in graphs for each in own.operators]
    variables = operators.count("VAR_HANDLE")
    said = about(session, target)
    with project.replace_earlier(folder, force) as fresh:
        goldens = write_goldens(session, said, x, fresh / project.GOLDENS, layers=ends)
        steps = x[graph.input.name].shape[1] if graph.states else 1
        common = Common(session.plan, said, goldens, steps, name)
        watched = list(list_results(model, graph))
        content = esp_idf.TfliteFile(file, operators, variables, memory, watched)
        return esp_idf.write_tflite(fresh, common, content)


def _start(
    network: Network, target: Target, data: Any
) -> tuple[Session, dict[str, np.ndarray], set[str]]:
    """Return a traced session, the inputs of the self-test, and the layers that it compares."""
    session = Session(network.graph, network.profile(target), trace=True, host=network.host)
    data, graph = Dataset.of(data), session.graph
    count = data.draw_count(_SAMPLES)
    x = arrange_by_name(graph, draw_inputs(graph, count) if count else coded(session.host, data))
    return session, x, {*(tensor.name for tensor in graph.inputs), *graph.outputs}


def _export_esp_dl(
    given: Any,
    network: Network,
    folder: Path,
    target: Target,
    data: Any,
    name: str,
    force: bool,
) -> Firmware:
    """Write an ESP-IDF project that runs an .espdl file in ESP-DL."""
    from ..firmware import esp_idf
    from ..firmware.tflm import Common
    from ..importers.espdl import FILE_LIMIT, list_results, read_for_chip

    session, x, ends = _start(network, target, data)
    graph, said = session.graph, about(session, target)
    path = None if isinstance(given, Network) else as_path(given, "network")
    if path is not None and path.suffix.lower() == ".espdl":
        file = read_bytes(path, FILE_LIMIT)
    else:
        file = _write_espdl(session.plan.graph)
    values, model = read_for_chip(path.name if path else graph.name, file, target.core)
    stems = name_stems(graph, [node.name for node in graph.nodes])
    layers = [(tensor, stems[tensor], size) for tensor, size in list_results(model, values, graph)]
    with project.replace_earlier(folder, force) as fresh:
        goldens = write_goldens(session, said, x, fresh / project.GOLDENS, layers=ends)
        steps = x[graph.input.name].shape[1] if graph.states else 1
        common = Common(session.plan, said, goldens, steps, name)
        return esp_idf.write_esp_dl(fresh, common, esp_idf.EspDlFile(file, layers))


def _write_espdl(graph: Graph) -> bytes:
    """Return the file of a network without one, for the chip of its calls."""
    from .espdl_file import as_espdl

    try:
        return as_espdl(graph)
    except ModelError as error:
        raise ModelError(
            f"{error}; if the network is that of an .espdl file, give export() the path of it"
        ) from None


def _parse_build(build: Union[str, Iterable[str], None]) -> tuple[str, ...]:
    """Return the build systems of an export. Raises Error for an unknown one."""
    if build is None:
        return tuple(SYSTEMS)
    words = build.split(",") if isinstance(build, str) else list(build)
    names = [str(word).strip() for word in words]
    if names == ["none"]:
        return ()
    for name in names:
        if name not in SYSTEMS:
            raise Error(f"build is {name!r}; {have((*SYSTEMS, 'none'), name)}")
    return tuple(names)
