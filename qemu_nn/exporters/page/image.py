"""Plans as data for the WebAssembly core: parameters, weights, and addresses in the arena."""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import Any, Optional

import numpy as np

from ...errors import Error
from ...ir.graph import Graph, Tensor
from ...kernels.table import portable_rows, read_bytes
from ...runtime.plan import Plan, plan
from ...runtime.step import Step
from ...targets import Profile

#: Every section of the memory starts at a multiple of this many bytes.
_ALIGNMENT = 64


class Sections:
    """Bytes that plans share: each content once."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._parts: list[bytes] = []
        self.size = 0

    def add(self, content: Optional[bytes]) -> Optional[int]:
        """Return the offset of a content; None of nothing."""
        if not content:
            return None
        key = hashlib.sha256(content).digest()
        if key not in self._places:
            self._places[key] = self.size
            self._parts.append(content + bytes(-len(content) % _ALIGNMENT))
            self.size += len(self._parts[-1])
        return self._places[key]

    def compress(self) -> str:
        """Return all contents, deflated, in base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode()


def make_image(graph: Graph, profile: Profile, sections: Sections) -> dict[str, Any]:
    """Return the plan of a network as JSON has it; its bytes go to the sections.

    Every layer's output can be read after its step. Raises Error if the network has loops.
    """
    if graph.loops:
        raise Error(f"{graph.name} has loops, which a page cannot run; qemu-nn run can")
    with portable_rows():
        planned = plan(graph, profile, trace=True)
        return {
            "name": graph.name,
            "profile": str(profile),
            "arena": planned.arena_bytes,
            "cleared": planned.cleared,
            "inputs": [
                {**_describe(tensor), "address": address}
                for tensor, address in zip(graph.inputs, planned.inputs)
            ],
            "states": _list_states(planned, sections),
            "constants": [
                {"address": each.address, **_place(each.array, sections)}
                for each in planned.constants
            ],
            "steps": [_make_step(planned, step, sections) for step in planned.steps],
            "outputs": list(graph.outputs),
            "classes": list(graph.classes),
            "warnings": list(planned.warnings),
        }


def _describe(tensor: Tensor) -> dict[str, Any]:
    """Return a tensor's name, shape, type, and scale and zero point, if it has them."""
    scale = 2.0**-tensor.frac if tensor.frac is not None else tensor.scale
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "scale": scale,
        "zero_point": tensor.zero_point or 0,
        "affine": tensor.frac is None,
    }


def _place(array: np.ndarray, sections: Sections) -> dict[str, Any]:
    content = np.ascontiguousarray(array).tobytes()
    return {"at": sections.add(content), "bytes": len(content)}


def _list_states(planned: Plan, sections: Sections) -> list[dict[str, Any]]:
    """Return each state: where it is before a run and after it, and its bytes after reset."""
    after = {store.tensor.name: store.address for store in planned.stores}
    states = []
    for tensor, address in zip(planned.graph.states, planned.states):
        reset = planned.graph.arrays.get(tensor.name)
        begin = {"at": None, "bytes": tensor.nbytes} if reset is None else _place(reset, sections)
        states.append({"address": address, "after": after[tensor.name], **begin})
    return states


def _make_step(planned: Plan, step: Step, sections: Sections) -> dict[str, Any]:
    arrays = planned.graph.arrays
    weights, bias = (
        None if name is None else np.require(arrays[name], requirements=["C", "A"])
        for name in (step.node.weights, step.node.bias)
    )
    packed = step.row.pack(step.params, weights, bias)

    def place(array: Optional[np.ndarray]) -> Optional[int]:
        return None if array is None else sections.add(array.tobytes())

    return {
        "layer": step.node.name,
        "function": step.node.function.name,
        "row": [step.row.op.name, step.row.op.type, step.row.symbol],
        "params": sections.add(read_bytes(step.params)),
        "weights": place(weights),
        "bias": place(bias),
        "weight_bytes": sum(0 if array is None else array.nbytes for array in (weights, bias)),
        "packed": place(packed),
        "inputs": list(step.inputs),
        "reads": list(step.node.inputs),
        "scratch": step.scratch,
        "spare": step.spare,
        "spare_bytes": 0 if step.spare is None else step.sizes.inputs[0],
        "sign_flipped": step.sign_flipped,
        "output": {**_describe(step.node.output), "address": step.output},
    }
