"""Small .tflite files, written field by field, right or wrong in one place."""

import importlib

import flatbuffers
import numpy as np

_DTYPES = {"INT8": "int8", "UINT8": "uint8", "INT16": "int16", "INT32": "int32", "INT64": "int64"}
_DTYPES |= {"UINT32": "uint32", "UINT64": "uint64", "FLOAT32": "float32", "FLOAT16": "float16"}
_DTYPES |= {"BOOL": "bool"}


def enumerator(kind, name):
    return getattr(getattr(importlib.import_module(f"tflite.{kind}"), kind), name)


class File:
    """A model under construction: tensors by index, operators in order."""

    def __init__(self):
        self.tensors, self.operators, self.buffers = [], [], [b""]
        self.inputs, self.outputs = [], []
        self.graphs = []
        self.metadata = []
        self.signatures = []  # (key, number of a graph)
        self.changes = {"version": 3, "subgraphs": 1}

    def graph(self):
        """Another graph of the file: of the first run, or a branch."""
        self.graphs.append(File())
        self.graphs[-1].buffers = self.buffers
        return self.graphs[-1]

    def tensor(self, shape, type="INT8", scale=None, zero=0, data=None, name=None, **more):
        """Add a tensor, by default not quantized; its data is a new buffer. Returns its index."""
        entry = {"shape": list(shape), "type": type, "name": name, "buffer": 0, **more}
        if scale is not None:
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            zeros = np.broadcast_to(np.asarray(zero, np.int64), scales.shape)
            entry |= {"scales": scales, "zeros": zeros}
        if data is not None:
            entry["buffer"] = len(self.buffers)
            dtype = _DTYPES.get(type)
            self.buffers.append(bytes(data) if dtype is None else np.asarray(data, dtype).tobytes())
        if entry["name"] is None:
            entry["name"] = f"t{len(self.tensors)}"
        self.tensors.append(entry)
        return len(self.tensors) - 1

    def input(self, shape, scale=0.5, zero=0, type="INT8", **more):
        self.inputs.append(self.tensor(shape, type, scale, zero, name="input", **more))
        return self.inputs[-1]

    def output(self, shape, scale=0.5, zero=0, type="INT8", **more):
        self.outputs.append(self.tensor(shape, type, scale, zero, name="output", **more))
        return self.outputs[-1]

    def operator(self, name, inputs, outputs, options=None, **fields):
        """Add an operator; options: the name of its table, whose fields follow."""
        self.operators.append((name, list(inputs), list(outputs), options, fields))

    def bytes(self):
        return _Writer(self).model()

    def save(self, folder, name="net.tflite"):
        path = folder / name
        path.write_bytes(self.bytes())
        return path


_ENUMERATORS = {
    "Padding": "Padding",
    "FusedActivationFunction": "ActivationFunctionType",
    "WeightsFormat": "FullyConnectedOptionsWeightsFormat",
    "Mode": "MirrorPadMode",
}


_TEXTS = ("Container", "SharedName")


class _Writer:
    def __init__(self, file):
        self.file, self.builder = file, flatbuffers.Builder(1024)

    def table(self, kind, **fields):
        module = importlib.import_module(f"tflite.{kind}")
        fields = {name: value for name, value in fields.items() if value is not None}
        getattr(module, f"{kind}Start")(self.builder)
        for name, value in fields.items():
            getattr(module, f"{kind}Add{name}")(self.builder, value)
        return getattr(module, f"{kind}End")(self.builder)

    def tables(self, offsets):
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return self.builder.EndVector()

    def numbers(self, values, dtype):
        return self.builder.CreateNumpyVector(np.asarray(values, dtype))

    def model(self):
        file = self.file
        buffers = [
            self.table("Buffer", Data=self.numbers(np.frombuffer(data, np.uint8), np.uint8))
            if data
            else self.table("Buffer")
            for data in file.buffers
        ]
        each = [file, *file.graphs] * file.changes["subgraphs"]
        names = list(dict.fromkeys(name for graph in each for name, *_ in graph.operators))
        codes = [self.code(name) for name in names]
        graphs = [self.graph(names, graph) for graph in each]
        parts = [self.tables(part) for part in (codes, graphs, buffers)]
        entries = [
            self.table("Metadata", Name=self.builder.CreateString(name), Buffer=buffer)
            for name, buffer in file.metadata
        ]
        root = self.table(
            "Model",
            Metadata=self.tables(entries) if entries else None,
            SignatureDefs=self.signatures(),
            Version=file.changes["version"],
            OperatorCodes=parts[0],
            Subgraphs=parts[1],
            Buffers=parts[2],
        )
        self.builder.Finish(root, b"TFL3")
        return bytes(self.builder.Output())

    def signatures(self):
        """Return the vector of signatures, None without one."""
        keys = [(self.builder.CreateString(key), graph) for key, graph in self.file.signatures]
        tables = [self.table("SignatureDef", SignatureKey=k, SubgraphIndex=g) for k, g in keys]
        return self.tables(tables) if tables else None

    def details(self, kind, scales, block):
        """Return a table of quantization details: scales in a tensor, for blocks of elements."""
        self.builder.StartObject(3)
        self.builder.PrependInt32Slot(0, scales, 0)
        self.builder.PrependInt32Slot(2, block, 0)
        return self.builder.EndObject()

    def code(self, name):
        if name.startswith("CUSTOM:"):
            custom = self.builder.CreateString(name[7:])
            number = enumerator("BuiltinOperator", "CUSTOM")
            return self.table(
                "OperatorCode", BuiltinCode=number, DeprecatedBuiltinCode=number, CustomCode=custom
            )
        number = enumerator("BuiltinOperator", name)
        old = min(number, enumerator("BuiltinOperator", "PLACEHOLDER_FOR_GREATER_OP_CODES"))
        if self.file.changes.get("new_code_only"):
            old = 0
        version = self.file.changes.get("operators", 5)
        return self.table(
            "OperatorCode", BuiltinCode=number, DeprecatedBuiltinCode=old, Version=version
        )

    def graph(self, names, file):
        tensors = self.tables([self.tensor(entry) for entry in file.tensors])
        operators = self.tables([self.operator(names, *each) for each in file.operators])
        inputs, outputs = (self.numbers(each, np.int32) for each in (file.inputs, file.outputs))
        return self.table(
            "SubGraph", Tensors=tensors, Inputs=inputs, Outputs=outputs, Operators=operators
        )

    def tensor(self, entry):
        quantization = signature = None
        if "scales" in entry:
            scales = self.numbers(entry["scales"], np.float32)
            zeros = self.numbers(entry["zeros"], np.int64)
            quantization = self.table(
                "QuantizationParameters",
                Scale=scales,
                ZeroPoint=zeros,
                QuantizedDimension=entry.get("axis"),
            )
        if "details" in entry:
            kind = entry["details"][0]
            details = self.details(*entry["details"])
            quantization = self.table("QuantizationParameters", DetailsType=kind, Details=details)
        if "signature" in entry:
            signature = self.numbers(entry["signature"], np.int32)
        name = self.builder.CreateString(entry["name"])
        shape = self.numbers(entry["shape"], np.int32)
        return self.table(
            "Tensor",
            Shape=shape,
            Type=entry["type"]
            if isinstance(entry["type"], int)
            else enumerator("TensorType", entry["type"]),
            Buffer=entry["buffer"],
            Name=name,
            Quantization=quantization,
            IsVariable=entry.get("variable"),
            ShapeSignature=signature,
        )

    def operator(self, names, name, inputs, outputs, options, fields):
        table = kind = custom = None
        if "custom" in fields:
            custom = self.numbers(list(fields["custom"]), np.uint8)
        if options is not None:
            values = {
                key: self.builder.CreateString(value)
                if key in _TEXTS
                else enumerator(_ENUMERATORS[key], value)
                if isinstance(value, str)
                else self.numbers(value, np.int32)
                if isinstance(value, (list, tuple))
                else value
                for key, value in fields.items()
            }
            table = self.table(options, **values)
            kind = enumerator("BuiltinOptions", options)
        ends = [self.numbers(each, np.int32) for each in (inputs, outputs)]
        return self.table(
            "Operator",
            OpcodeIndex=names.index(name),
            Inputs=ends[0],
            Outputs=ends[1],
            BuiltinOptionsType=kind,
            BuiltinOptions=table,
            CustomOptions=custom,
        )


def buffer_options(cycles):
    """Return the custom options of CIRCULAR_BUFFER."""
    from flatbuffers import flexbuffers

    return bytes(flexbuffers.Dumps({"cycles_max": cycles}))
