"""Small .espdl files, written tensor by tensor and node by node."""

import struct

import flatbuffers
import numpy as np

TYPES = {"float32": 1, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "float64": 11, "bool": 9}


class Model:
    """A model of one graph. blocks: its weights are in the order of the ESP32-S3 and P4."""

    def __init__(self, blocks=True, target=None, labels=True):
        self.blocks, self.target, self.labels = blocks, target, labels
        self.nodes, self.constants, self.values = [], [], {}
        self.inputs, self.outputs, self.tests = [], [], ({}, {})

    def value(self, name, dtype, shape, exponent=0):
        """Describe a tensor that a run computes or reads."""
        self.values[name] = (dtype, tuple(shape), exponent)
        return name

    def constant(self, name, data, exponent=0, label="", shape=None):
        """Add a constant."""
        data = np.asarray(data)
        self.constants.append((name, data, tuple(shape or data.shape), exponent, label))
        return name

    def filters(self, name, data, exponent):
        """Add weights [h, w, in, out], or [h, w, out, 1], in the order of the chip."""
        width = {"int8": 16, "int16": 8}[str(data.dtype)]
        flat = pack(data, width) if self.blocks else pack(data, 2**30)
        block = f"(N/{width})HWC{width}" if self.blocks else "NHWC"
        label = f"layout ==> {block}" if self.labels else ""
        return self.constant(name, flat, exponent, label, data.shape)

    def node(self, operator, inputs, outputs, name=None, **attributes):
        """Add a node."""
        name = f"{operator}_{len(self.nodes)}" if name is None else name
        self.nodes.append((operator, name, inputs, outputs, attributes))

    def pack(self):
        """Return the FlatBuffer."""
        b = flatbuffers.Builder(1024)
        graph = {
            0: _offsets(b, [_node(b, *node) for node in self.nodes]),
            1: b.CreateString("graph"),
            2: _offsets(b, [_tensor(b, *constant) for constant in self.constants]),
            4: _offsets(b, [_value(b, name, *self.values[name]) for name in self.inputs]),
            5: _offsets(b, [_value(b, name, *self.values[name]) for name in self.outputs]),
            6: _offsets(b, [_value(b, name, *told) for name, told in self.values.items()]),
        }
        for slot, tests in zip((8, 9), self.tests):
            tensors = [_tensor(b, name, x, x.shape, 0, "") for name, x in tests.items()]
            graph[slot] = _offsets(b, tensors)
        entries = {"target": self.target} if self.target else {}
        texts = [(b.CreateString(key), b.CreateString(text)) for key, text in entries.items()]
        entries = _offsets(b, [_table(b, {0: key, 1: text}) for key, text in texts])
        b.Finish(_table(b, {7: _table(b, graph), 8: entries}, [("Int32", 0, 8)]))
        return bytes(b.Output())

    def write(self, path, **container):
        """Write the file."""
        path.write_bytes(contain(self.pack(), **container))
        return path


def contain(data, kind=b"EDL2", mode=0):
    """Return a container of a model, with its header."""
    data += bytes(-len(data) % 16)
    return kind + struct.pack("<III", mode, len(data), 0) + data


def pack_models(models, kind=b"PDL2"):
    """Return a pack of containers by their names."""
    import hashlib

    start = {b"PDL1": 4, b"PDL2": 4, b"PDL3": 56}[kind]
    names = [name.encode() for name in models]
    at = start + 4 + 12 * len(models)
    end = -(-(at + sum(map(len, names))) // 16) * 16
    entries, texts, bodies = b"", b"", b""
    for name, data in zip(names, models.values()):
        entries += struct.pack("<III", end + len(bodies), at + len(texts), len(name))
        texts, bodies = texts + name, bodies + data
    head = kind + bytes(start - 4) + struct.pack("<I", len(models)) + entries + texts
    whole = bytearray(head + bytes(end - len(head)) + bodies)
    if kind == b"PDL3":
        whole[4:8], whole[20:24] = b"v1.0", struct.pack("<I", len(whole))
        whole[24:56] = hashlib.sha256(whole).digest()
    return bytes(whole)


def pack(data, width):
    """Return weights [h, w, in, out] or [h, w, out, 1] flat: blocks of `width` channels."""
    if data.ndim == 4 and data.shape[3] == 1 and data.shape[2] > 1:
        channels = data[..., 0]  # of a depthwise convolution
        blocks = range(0, channels.shape[2] // width * width, width)
        parts = [channels[:, :, at : at + width].ravel() for at in blocks]
        return np.concatenate([*parts, channels[:, :, len(blocks) * width :].ravel()])
    blocks = range(0, data.shape[3] // width * width, width)
    parts = [data[..., at : at + width].ravel() for at in blocks]
    rest = data[..., len(blocks) * width :].transpose(3, 0, 1, 2).ravel()
    return np.concatenate([*parts, rest])


def _table(b, offsets, numbers=()):
    """Build a table of offsets by their slots, and of numbers (kind, slot, value)."""
    b.StartObject(16)
    for kind, slot, number in numbers:
        getattr(b, f"Prepend{kind}Slot")(slot, number, 0)
    for slot, offset in offsets.items():
        b.PrependUOffsetTRelativeSlot(slot, offset, 0)
    return b.EndObject()


def _offsets(b, offsets):
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return b.EndVector()


def _integers(b, numbers):
    return b.CreateNumpyVector(np.array(numbers, np.int64))


def _tensor(b, name, data, shape, exponent, label):
    raw = np.ascontiguousarray(data).tobytes()
    raw += bytes(-len(raw) % 16)
    b.StartVector(16, len(raw) // 16, 16)
    b.head -= len(raw)
    b.Bytes[b.head : b.head + len(raw)] = raw
    blocks = b.EndVector()
    exponents = exponent if isinstance(exponent, list) else [exponent]
    offsets = {
        **{0: _integers(b, shape), 6: b.CreateString(name), 7: b.CreateString(label)},
        **{8: blocks, 13: _integers(b, exponents)},
    }
    return _table(b, offsets, [("Int32", 1, TYPES[str(data.dtype)])])


def _value(b, name, dtype, shape, exponent):
    sides = []
    for side in shape:
        number = _table(b, {}, [("Int8", 0, 1), ("Int64", 1, side)])
        sides.append(_table(b, {0: number}))
    shape = _table(b, {0: _offsets(b, sides)})
    tensor = _table(b, {1: shape}, [("Int32", 0, TYPES[dtype])])
    kind = _table(b, {1: tensor}, [("Uint8", 0, 1)])
    offsets = {0: b.CreateString(name), 1: kind, 3: _integers(b, [exponent])}
    return _table(b, offsets)


def _node(b, operator, name, inputs, outputs, attributes):
    ends = [_offsets(b, [b.CreateString(each) for each in end]) for end in (inputs, outputs)]
    told = [_attribute(b, key, each) for key, each in attributes.items()]
    offsets = {0: ends[0], 1: ends[1], 2: b.CreateString(name), 3: b.CreateString(operator)}
    return _table(b, {**offsets, 5: _offsets(b, told)})


def _attribute(b, name, held):
    key = b.CreateString(name)
    if isinstance(held, str):
        return _table(b, {0: key, 6: b.CreateByteVector(held.encode())}, [("Int32", 3, 3)])
    if isinstance(held, list):
        return _table(b, {0: key, 11: _integers(b, held)}, [("Int32", 3, 7)])
    kind, slot, number = ("Int64", 5, 2) if isinstance(held, int) else ("Float32", 4, 1)
    return _table(b, {0: key}, [("Int32", 3, number), (kind, slot, held)])
