"""A network under the names of LiteRT's interpreter, for code that was written for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn, Optional, Union

import numpy as np

from ..errors import Error
from ..io.arguments import as_array
from ..ir.tensors import Tensor
from ..runtime.stream import Stream
from ..targets import DEFAULT_CORE, Target
from .network import Network, quantized


class Interpreter:
    """A network that runs one sample at a time, in place of LiteRT's Interpreter.

    Outputs are the bytes of the device. A network with states keeps them from one invoke() to the
    next, as a device does; reset_all_variables() clears them.

    Parameters
    ----------
    model_path : str or Path, optional
        A file as load() reads it.
    model_content : bytes or Network, optional
        The content of such a file, or a network, instead.
    target : str or Target, default "cortex-m4"
        The device, as Network.session() takes it.
    num_threads : int, default 1
        Threads that share the large layers.

    Raises
    ------
    Error
        No model or two are given, it is a float network, or the device could not run it.

    Examples
    --------
    >>> interpreter = qemu_nn.Interpreter(model_path="net.tflite")
    >>> interpreter.allocate_tensors()
    >>> interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image)
    >>> interpreter.invoke()
    >>> interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    """

    def __init__(
        self,
        model_path: Union[str, Path, None] = None,
        model_content: Union[bytes, Network, None] = None,
        *,
        target: Union[str, Target] = DEFAULT_CORE,
        num_threads: Optional[int] = None,
    ) -> None:
        if (model_path is None) == (model_content is None):
            raise Error(
                "both or none of model_path= and model_content= are given: give one of them"
            )
        given: Any = model_path if model_content is None else model_content
        network = quantized(given)
        if network.before is not None or network.after is not None:
            name = network.graph.name
            raise Error(f"{name} has float steps of the host around the device's: use predict()")
        self._session = network.session(target, threads=num_threads or 1)
        graph = self._session.graph
        self._inputs: list[Tensor] = list(graph.inputs)
        self._outputs = [graph.tensors[name] for name in graph.outputs]
        self._values: dict[int, np.ndarray] = {}
        self._live: Optional[Stream] = self._session.stream() if graph.states else None

    def allocate_tensors(self) -> None:
        """Set all inputs to zeros, where no value is set."""
        for index, tensor in enumerate(self._inputs):
            self._values.setdefault(index, np.zeros((1, *tensor.logical), tensor.dtype))

    def get_input_details(self) -> list[dict[str, Any]]:
        """Return what the inputs are, in the order of the file.

        Returns
        -------
        list of dict
            For each "name", "index", "shape" with an axis of one sample, "dtype" and
            "quantization", under LiteRT's keys.
        """
        return [_details(tensor, index) for index, tensor in enumerate(self._inputs)]

    def get_output_details(self) -> list[dict[str, Any]]:
        """Return what the outputs are, as get_input_details().

        Returns
        -------
        list of dict
            The same keys for each output.
        """
        first = len(self._inputs)
        return [_details(tensor, first + at) for at, tensor in enumerate(self._outputs)]

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        """Set an input.

        Parameters
        ----------
        tensor_index : int
            The "index" of its details.
        value : array_like of the input's type, shape (1, *input shape)
            One sample.

        Raises
        ------
        Error
            There is no such input, or the value has another type or shape.
        """
        tensor = self._inputs[self._checked(tensor_index, range(len(self._inputs)), "input")]
        values = as_array(value, f"the tensor {tensor.name!r}")
        wanted = (1, *tensor.logical)
        if values.dtype != tensor.dtype or values.shape != wanted:
            raise Error(
                f"the tensor {tensor.name!r} is given as {values.dtype} "
                f"{list(values.shape)}, but must be {tensor.dtype} {list(wanted)}"
            )
        self._values[tensor_index] = values.copy()

    def invoke(self) -> None:
        """Compute the outputs of the inputs that are set.

        Raises
        ------
        Error
            allocate_tensors() was not called, or the device stops at this input.
        """
        if len(self._values) < len(self._inputs):
            raise Error("tensors have no memory yet: call allocate_tensors() before invoke()")
        given = {
            tensor.name: np.ascontiguousarray(tensor.to_memory(self._values[index]))
            for index, tensor in enumerate(self._inputs)
        }
        if self._live is None:
            results = self._session.run(given)
        else:
            step = self._live.step({name: values[0] for name, values in given.items()})
            results = {name: values[None] for name, values in step.items()}
        for at, tensor in enumerate(self._outputs, len(self._inputs)):
            self._values[at] = tensor.from_memory(results[tensor.name])

    def get_tensor(self, tensor_index: int) -> np.ndarray:
        """Return a copy of an input or of an output.

        Parameters
        ----------
        tensor_index : int
            The "index" of its details.

        Returns
        -------
        ndarray, shape (1, *shape)
            The value of the last invoke(), or that was set.

        Raises
        ------
        Error
            There is no such tensor, or invoke() was not called.
        """
        every = range(len(self._inputs) + len(self._outputs))
        index = self._checked(tensor_index, every, "input or output")
        if index not in self._values:
            raise Error("the tensor has no value yet: call invoke() before get_tensor()")
        value: np.ndarray = self._values[index].copy()
        return value

    def reset_all_variables(self) -> None:
        """Set the states of the network to what they are after reset."""
        if self._live is not None:
            self._live = self._session.stream()

    def resize_tensor_input(self, input_index: int, tensor_size: Any, strict: bool = False) -> None:
        """Raise Error: the device plans its memory for the shapes of the file.

        Parameters
        ----------
        input_index, tensor_size, strict
            As LiteRT's interpreter takes them.

        Raises
        ------
        Error
            Always; the sentence says how to run batches.
        """
        self._refuse_resizing()

    def _refuse_resizing(self) -> NoReturn:
        raise Error(
            "inputs have the shapes of the file, as the device plans its memory for them: "
            "for a batch use load(...).session().run(x)"
        )

    def _checked(self, index: Any, known: range, what: str) -> int:
        if not isinstance(index, (int, np.integer)) or index not in known:
            raise Error(f"there is no {what} with the index {index!r}; have: {[*known]}")
        return int(index)


def _details(tensor: Tensor, index: int) -> dict[str, Any]:
    """Return a tensor under LiteRT's keys."""
    scaled = tensor.scale is not None or tensor.frac is not None
    held = tensor.format
    shape = np.array([1, *tensor.logical], np.int32)
    return {
        "name": tensor.name,
        "index": index,
        "shape": shape,
        "shape_signature": shape.copy(),
        "dtype": np.dtype(tensor.dtype).type,
        "quantization": (held.scale, held.zero_point) if scaled else (0.0, 0),
        "quantization_parameters": {
            "scales": np.array([held.scale] if scaled else [], np.float32),
            "zero_points": np.array([held.zero_point] if scaled else [], np.int32),
            "quantized_dimension": 0,
        },
        "sparsity_parameters": {},
    }
