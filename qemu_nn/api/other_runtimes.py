"""Other runtimes on a PC, each with a model file loaded: LiteRT, TensorFlow Lite Micro, ONNX
Runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable

import numpy as np

from ..errors import Error
from ..importers.tflite.parser import TfliteModel
from ..importers.tflite.parser import read as read_tflite
from ..io.files import read_bytes
from ..io.optional_deps import require

#: Extra of this package with these runtimes; most bytes of a model.
_EXTRA, _LIMIT = "peers", 2**31


@dataclass(frozen=True)
class OtherRuntime:
    """A runtime with a file loaded.

    inputs: shape and type of each input. step: computes one sample, of a recurrent network one time
    step, and returns tensors by their names in the file. reset: forgets what a network remembers.
    """

    inputs: tuple[tuple[tuple[int, ...], Any], ...]
    step: Callable[[Sequence[np.ndarray]], Mapping[str, np.ndarray]]
    reset: Callable[[], object]


def litert(path: Path, wanted: Iterable[str]) -> OtherRuntime:
    """Load a file into LiteRT's own kernels, without a delegate; wanted: tensors to return."""
    module = require("ai_edge_litert.interpreter", _EXTRA, "LiteRT")
    plain = module.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    how = {"experimental_op_resolver_type": plain, "experimental_preserve_all_tensors": True}
    make = partial(module.Interpreter, model_content=read_bytes(path, _LIMIT), **how)
    return _interpreted(make, read_tflite(path), wanted)


def xnnpack(path: Path, wanted: Iterable[str]) -> OtherRuntime:
    """Load a file into LiteRT as it is by default, with XNNPACK, which shows outputs only."""
    module = require("ai_edge_litert.interpreter", _EXTRA, "LiteRT")
    model = read_tflite(path)
    shown = {_name(model, index) for index in model.outputs}
    make = partial(module.Interpreter, model_content=read_bytes(path, _LIMIT))
    return _interpreted(make, model, shown.intersection(wanted))


def _interpreted(
    make: Callable[[], Any], model: TfliteModel, wanted: Iterable[str]
) -> OtherRuntime:
    """Return LiteRT; make: makes an interpreter, as only a new one forgets variables."""
    indices = _indices(model, wanted)
    remembers = any(operator.name == "VAR_HANDLE" for operator in model.operators)
    interpreter = make()
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()

    def reset() -> None:
        nonlocal interpreter
        if not remembers:
            interpreter.reset_all_variables()
            return
        interpreter = make()
        interpreter.allocate_tensors()

    def step(inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        for detail, values in zip(details, inputs):
            interpreter.set_tensor(detail["index"], values)
        interpreter.invoke()
        found = {}
        for name, index in indices.items():
            with suppress(ValueError):  # a tensor that no operator has written
                found[name] = np.array(interpreter.get_tensor(index))
        return found

    shapes = tuple((tuple(map(int, each["shape"])), each["dtype"]) for each in details)
    return OtherRuntime(shapes, step, reset)


def tflm(path: Path, wanted: Iterable[str]) -> OtherRuntime:
    """Load a file into TensorFlow Lite Micro's wheel: its reference kernels, without CMSIS-NN."""
    module = require("tflite_micro.python.tflite_micro.runtime", _EXTRA, "TensorFlow Lite Micro")
    data, model = read_bytes(path, _LIMIT), read_tflite(path)
    preserving = module.InterpreterConfig.kPreserveAllTensors
    interpreter = module.Interpreter.from_bytes(
        data, arena_size=10 * len(data) + _arena(model), intrepreter_config=preserving
    )
    indices = _indices(model, wanted)
    tensors = [model.tensor(index) for index in model.inputs]

    def step(inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        for number, values in enumerate(inputs):
            interpreter.set_input(values, number)
        interpreter.invoke()
        found = {name: interpreter.GetTensor(index, 0) for name, index in indices.items()}
        return {name: each["tensor_data"] for name, each in found.items()}

    shapes = tuple((tensor.shape, np.dtype(tensor.dtype)) for tensor in tensors)
    return OtherRuntime(shapes, step, interpreter.reset)


def _arena(model: TfliteModel) -> int:
    """Return bytes that hold every tensor of a file at once."""
    shapes = [model.tensor(index).shape for index in range(model.tensors)]
    return 2**20 + sum(8 * int(np.prod(shape)) for shape in shapes)


def _indices(model: TfliteModel, wanted: Iterable[str]) -> dict[str, int]:
    """Return the index of each wanted tensor that an operator of the first graph computes."""
    names = set(wanted)
    made = (index for operator in model.operators for index in operator.outputs)
    return {_name(model, index): index for index in made if _name(model, index) in names}


def _name(model: TfliteModel, index: int) -> str:
    """Return what the network calls a tensor of the file."""
    return model.tensor(index).name or f"tensor{index}"


def onnx_runtime(path: Path, wanted: Iterable[str]) -> OtherRuntime:
    """Load a file into ONNX Runtime on the CPU; the wanted tensors become outputs of its graph."""
    onnx = require("onnx", "onnx", "ONNX Runtime")
    module = require("onnxruntime", _EXTRA, "ONNX Runtime")
    model = onnx.load(str(path))
    made = {name for node in model.graph.node for name in node.output}
    have = {output.name for output in model.graph.output}
    names = [name for name in wanted if name in made]
    for name in names:
        if name not in have:
            model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = module.SessionOptions()
    options.log_severity_level = 3
    session = module.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    inputs = session.get_inputs()

    def step(values: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        given = {each.name: value for each, value in zip(inputs, values)}
        return dict(zip(names, session.run(names, given)))

    return OtherRuntime(tuple(map(_onnx_input, inputs)), step, lambda: None)


#: ONNX Runtime's name of a type -> numpy's.
_ONNX_TYPES = {"float": "float32", "double": "float64"}


def _onnx_input(value: Any) -> tuple[tuple[int, ...], Any]:
    """Return shape and type of an input; an axis without a size is one sample."""
    name = value.type[len("tensor(") : -1]
    shape = tuple(axis if isinstance(axis, int) else 1 for axis in value.shape)
    return shape, np.dtype(_ONNX_TYPES.get(name, name))


#: Name -> suffix of the files that it runs, and what loads one.
RUNTIMES: Mapping[str, tuple[str, Callable[[Path, Iterable[str]], OtherRuntime]]] = {
    "litert": (".tflite", litert),
    "xnnpack": (".tflite", xnnpack),
    "tflm": (".tflite", tflm),
    "onnxruntime": (".onnx", onnx_runtime),
}


def load_into(runtime: str, path: Path, wanted: Iterable[str]) -> OtherRuntime:
    """Return a runtime with a file; Error where it cannot load it."""
    suffix, load = RUNTIMES[runtime]
    if path.suffix.lower() != suffix:
        raise Error(f"{path} is no {suffix} file, which {runtime} needs")
    try:
        return load(path, wanted)
    except Error:
        raise
    except Exception as error:  # a runtime raises what it likes
        raise Error(f"{runtime} cannot load {path}: {str(error).splitlines()[0]}") from None
