"""Table of .tflite operators, from files that the importer reads: writes docs/operators.md."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from qemu_nn.errors import Error
from qemu_nn.exporters.tflite.network import CONVERTERS as EXPORTED
from qemu_nn.functions import FUNCTIONS
from qemu_nn.importers.tflite import parser
from qemu_nn.importers.tflite.control import CONTROL
from qemu_nn.importers.tflite.ethosu import ETHOSU
from qemu_nn.importers.tflite.float32 import REAL
from qemu_nn.importers.tflite.network import CONVERTERS, convert

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

#: Columns of the table: TensorFlow Lite's name of a type, and the ending of its functions.
TYPES = {"INT8": "s8", "INT16": "s16", "FLOAT32": "f32", "INT32": "s32"}

#: Operators that surround the tested one in many files.
AROUND = {"QUANTIZE", "DEQUANTIZE", "RESHAPE", "CAST"}

#: Beginnings of functions that prepare operands of others.
HELPERS = ("tflm_constant_", "tflm_broadcast_", "tflm_read_variable_", "tflm_assign_variable_")

HEAD = """\
# Operators of .tflite files

The operators that the reader of `.tflite` files accepts, by the type of their data. *Functions* are
the calls that an operator becomes, without calls that copy or broadcast operands; `_*` stands for
the type. *Written*: `network.save("net.tflite")` writes such a call as an operator.
[Model files](importing.md#quantized-networks-tflite) has rules and exceptions, such as the types of
variables and of conditions. Signal operators also have unsigned types.

`docs/operators.py` makes this page from the reader's tables and from every `.tflite` file of the
tests.

| operator | int8 | int16 | float32 | int32 | functions | written |
|---|---|---|---|---|---|---|
"""


def read_files() -> Iterator[bytes]:
    """Yield the .tflite files of the tests."""
    from tflite_cases import CASES

    for make in CASES.values():
        yield make().bytes()
    for archive in sorted((ROOT / "tests" / "golden").rglob("*.npz")):
        with np.load(archive) as arrays:
            for name in sorted(arrays.files):
                values = arrays[name]
                if values.dtype == np.uint8 and values.tobytes()[4:8] == b"TFL3":
                    yield values.tobytes()


def data_type(model: parser.Model, operator: parser.Operator) -> str:
    """Return the type of the first input without constant data, or else of the first output."""
    inputs = [model.tensor(index) for index in operator.inputs if index >= 0]
    outputs = [model.tensor(index) for index in operator.outputs]
    given = [tensor for tensor in inputs if tensor.data is None]
    return (given or outputs)[0].type if given or outputs else ""


def table() -> str:
    """Return the page."""
    types: dict[str, set[str]] = defaultdict(set)
    functions: dict[str, set[str]] = defaultdict(set)
    for data in read_files():
        try:
            model = parser.parse(Path("net.tflite"), data)
            graph = convert(model)
        except Error:
            continue
        names = {operator.name for operator in model.operators}
        for operator in model.operators:
            types[operator.name].add(data_type(model, operator))
        if len(names - AROUND or names) == 1:
            [name] = names - AROUND or names
            functions[name].update(node.function.name for node in graph.nodes)
    listed_names = [name for name in CONVERTERS if name not in ETHOSU]
    for name in listed_names:
        listed = {kind for kind, end in TYPES.items() if _function(name, end) in FUNCTIONS}
        types[name] |= listed | ({"FLOAT32"} if name in REAL else set())
        functions[name] |= {_function(name, TYPES[kind]) for kind in listed}
    rows = (_row(name, types[name], functions[name]) for name in sorted(listed_names))
    return HEAD + "".join(rows)


def _function(operator: str, end: str) -> str:
    """Return the name that TensorFlow Lite Micro's function of an operator and a type has here."""
    return f"tflm_{operator.lower()}_{end}"


def _row(name: str, types: set[str], functions: set[str]) -> str:
    """Return the row of an operator."""
    marks = " | ".join("x" if kind in types else "" for kind in TYPES)
    calls = {call for call in functions if not call.startswith(HELPERS)}
    calls = calls or {call for call in functions if "variable" not in call}
    calls = set() if name in CONTROL else calls
    stems = sorted({_stem(call) for call in calls})
    written = "yes" if calls & set(EXPORTED) else ""
    return f"| `{name}` | {marks} | {', '.join(f'`{stem}`' for stem in stems)} | {written} |\n"


def _stem(function: str) -> str:
    """Return the name of a function without its types."""
    parts = function.split("_")
    while parts[-1] in ("s4", "s8", "s16", "s32", "s64", "u8", "u32", "f32", "b8"):
        parts.pop()
    return "_".join(parts) if parts == function.split("_") else "_".join([*parts, "*"])


if __name__ == "__main__":
    (ROOT / "docs" / "operators.md").write_text(table(), encoding="utf-8")
