"""Says of files of networks whether a device runs them, and why not."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Optional, Union

from ..analysis.checks import Checks, ModelCheck, OperatorTable
from ..analysis.table import Cell
from ..errors import DeviceWarning, Error
from ..io import files
from ..io.arguments import as_callable, as_path
from ..io.stages import announce
from ..kernels.devices import profile_for
from ..runtime.plan import plan
from ..runtime.release_runs import find_runs, remove_name
from ..targets import DEFAULT_CORE, Profile, Target
from .golden import describe
from .network import Network, load_quantized
from .vela import compile_for_check

PathLike = Union[str, Path]

#: Suffixes of model files in folders.
_TFLITE = (".tflite", ".lite")
_ENDINGS = (*_TFLITE, ".pte", ".espdl", ".qnz")
_DESCRIBED = "network.json"


def operators(path: PathLike, signature: Optional[str] = None) -> Optional[OperatorTable]:
    """Return the operators of a .tflite file that cannot be loaded; None of every other file.

    signature: as load() takes it.

    Raises ModelError where a .tflite file is damaged.
    """
    path = as_path(path, "a model")
    if path.suffix.lower() not in _TFLITE or not path.is_file():
        return None
    from ..importers.tflite import examine

    found = examine(path, signature)
    return None if found.graph is not None or found.floats else OperatorTable(found)


def check(
    paths: Union[PathLike, Iterable[PathLike]],
    target: Union[str, Target] = DEFAULT_CORE,
    progress: Optional[Callable[[Iterable[Any]], Iterable[Any]]] = None,
    releases: bool = False,
) -> Checks:
    """Say of each network whether a device runs it, and why not.

    Parameters
    ----------
    paths : str or Path, or several
        Files as load() reads them, and folders, in which .tflite, .lite, .pte, .espdl and .qnz
        files and network.json are looked for.
    target : str or Target, default "cortex-m4"
        The device, as Network.session() takes it.
    progress : callable, optional
        Wraps the iteration over files, as tqdm does.
    releases : bool, default False
        Check each file for all known states of CMSIS-NN: neighboring states with the same result
        share a line, which names them after the file.

    Returns
    -------
    Checks
        For each file whether it runs, the reasons, the device's warnings, and bytes of memory. If
        the target is an Ethos-U, the installed vela compiles .tflite files, and says which
        operators stay on the core.

    Raises
    ------
    Error
        A name is unknown, a path does not exist, or a folder holds no networks.

    Examples
    --------
    >>> print(check("models", target="cortex-m55").text())
    """
    progress = as_callable(progress, "progress")
    wanted = Target.of(target)
    wanted.profile()  # says what is wrong with the device's names
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, Iterable):
        raise Error("paths must be a path of a file or folder, or a list of paths")
    found = [file for path in given for file in _files(as_path(path, "a model"))]
    if not found:
        raise Error("there is nothing to check: give files or folders")
    announce("checks files")
    each = progress(found) if progress else found
    if releases:
        return Checks(tuple(one for file in each for one in _checked_releases(file, wanted)))
    return Checks(tuple(_checked(file, wanted) for file in each))


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or the networks of a folder, sorted."""
    if not path.exists():
        raise Error(f"there is no file {path}")
    if not path.is_dir() or (path / _DESCRIBED).is_file():
        yield path
        return
    found = [p for p in path.rglob("*") if p.suffix.lower() in _ENDINGS or p.name == _DESCRIBED]
    if not found:
        raise Error(
            f"{path} contains no networks: no {', '.join(_ENDINGS)} or {_DESCRIBED}; "
            "quantized .onnx files are named one by one"
        )
    yield from sorted(found)


def _checked(file: Path, target: Target) -> ModelCheck:
    """Return one file; whatever it raises as an error of the input is a reason."""
    count: Optional[int] = None
    facts: Mapping[str, Cell] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeviceWarning)
        try:
            if _is_for_vela(file, target):
                return _checked_by_vela(file, target)
            network, count, reasons = _loaded(file)
            facts = describe(network, target).facts if network else {}
        except (OSError, MemoryError) as error:
            reasons = (files.get_reason(error) or "out of memory",)
        except Error as error:
            reasons = (str(error),)
    said = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, DeviceWarning))
    arena = _size(facts, "tflm_arena_bytes", "tflm_head_bytes", "activation_bytes")
    return ModelCheck(str(file), count, reasons, tuple(said), arena, _size(facts, "weight_bytes"))


def _is_for_vela(file: Path, target: Target) -> bool:
    """True for a .tflite file without a command stream, if the device is an Ethos-U."""
    if target.npu is None or file.suffix.lower() not in _TFLITE:
        return False
    from ..importers.tflite.parser import read

    return all(operator.name != "ethos-u" for operator in read(file).operators)


def _checked_by_vela(file: Path, target: Target) -> ModelCheck:
    """Return one file, compiled by the installed vela: what stays on the core, and why."""
    with TemporaryDirectory() as folder:
        network, core = compile_for_check(file, target.npu or "", Path(folder))
    count = None if network.original is None else len(network.original.operators)
    said = tuple(
        f"{each.operator} {each.layer!r}{f': {each.reason}' if each.reason else ''}"
        for each in core
    )
    if network.original is None:
        why = "vela leaves all of its operators on the core"
        return ModelCheck(str(file), count, (why,), on_core=said)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeviceWarning)
        facts = describe(network, target).facts
    warned = tuple(dict.fromkeys(str(w.message) for w in caught))
    sizes = (_size(facts, "activation_bytes"), _size(facts, "weight_bytes"))
    return ModelCheck(str(file), count, (), warned, *sizes, said)


def _checked_releases(file: Path, target: Target) -> Iterator[ModelCheck]:
    """Yield a file for each run of states with the same result."""
    try:
        network, count, reasons = _loaded(file)
    except (OSError, Error):
        network = None
    if network is None:
        yield _checked(file, target)
        return
    graph = network.graph

    def planned(profile: Profile) -> tuple[str, tuple[str, ...]]:
        try:
            found = plan(graph, profile)
        except Error as error:
            return remove_name(str(error), profile), ()
        return "", tuple(remove_name(each, profile) for each in found.warnings)

    for run, (reason, said) in find_runs(graph, profile_for(graph.ops, target), planned):
        reasons = (reason,) if reason else ()
        yield ModelCheck(f"{file} [{run}]", count, reasons, said)


def _size(facts: Mapping[str, Cell], *names: str) -> Optional[int]:
    """Return the first of these facts that there is."""
    sizes = (facts[name] for name in names if name in facts)
    return next((size for size in sizes if isinstance(size, int)), None)


def _loaded(file: Path) -> tuple[Optional[Network], Optional[int], tuple[str, ...]]:
    """Return a network, how many operators it has, and why it cannot be loaded."""
    if file.suffix.lower() in _TFLITE:
        from ..importers.tflite import examine

        found = examine(file)
        network = None
        if found.graph is not None:
            network = Network(found.graph, tflm_figures=found.tflm_figures)
        return network, len(found.findings), found.reasons
    network = load_quantized(file)
    return network, len(network.graph.nodes), ()
