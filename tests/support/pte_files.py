"""Small .pte files, written value by value and call by call."""

import flatbuffers
import numpy as np

import qemu_nn

#: The order in memory of images whose channels lie last.
LAST = (0, 2, 3, 1)

TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float32": 6, "bool": 11}


class Tensors(list):
    """A list of tensors, as an argument."""


class Program:
    """A program of one method, its tensors side by side in one arena."""

    def __init__(self):
        self.values, self.calls, self.buffers, self.end = [], [], [b""], 0
        self.delegates = []  # backend and packed bytes

    def tensor(self, dtype, sizes, order=None, data=None, at=None, **details):
        """Append a tensor, a constant if `data` in its logical shape is given; at: its offset."""
        order = tuple(range(len(sizes))) if order is None else order
        held = 0
        if data is not None:
            moved = np.asarray(data, dtype).reshape(sizes).transpose(order)
            self.buffers.append(np.ascontiguousarray(moved).tobytes())
            held, place = len(self.buffers) - 1, None
        else:
            place = self.end if at is None else at
            size = int(np.prod(sizes)) * np.dtype(dtype).itemsize
            self.end = max(self.end, (place + size + 15) // 16 * 16)
        self.values.append(("tensor", (TYPES[dtype], sizes, order, held, place, details)))
        return Value(len(self.values) - 1)

    def value(self, held):
        """Return the index of an argument; a tensor is an index already."""
        if isinstance(held, Value):
            return held.index
        if isinstance(held, Tensors):
            held = ("tensors", [each.index for each in held])
        elif isinstance(held, list) and all(isinstance(each, int) for each in held):
            held = ("integers", [self.value(each) for each in held])
        self.values.append(held if isinstance(held, tuple) else ("plain", held))
        return len(self.values) - 1

    def call(self, name, *args, returned=None):
        """Append an instruction with the arguments of C++; it returns the last one by default."""
        last = args[-1] if returned is None else returned
        self.calls.append((name, [self.value(each) for each in (*args, last)]))

    def delegate(self, backend, payload, *args):
        """Append a call of a backend."""
        self.delegates.append((backend, payload))
        self.calls.append((len(self.delegates) - 1, [self.value(each) for each in args]))

    def write(self, path, inputs, outputs):
        """Write the file."""
        b = flatbuffers.Builder(1024)
        values = [_value(b, held) for held in self.values]
        names = list(dict.fromkeys(name for name, _ in self.calls if isinstance(name, str)))
        operators = [_operator(b, *name.rsplit(".", 1)) for name in names]
        calls = [
            _call(b, names.index(name), args)
            if isinstance(name, str)
            else _call_delegate(b, name, args)
            for name, args in self.calls
        ]
        delegates = [_delegate(b, at, name) for at, (name, _) in enumerate(self.delegates)]
        chain = _table(b, {2: _offsets(b, calls)})
        method = {
            **{0: b.CreateString("forward"), 2: _offsets(b, values)},
            **{3: b.CreateNumpyVector(np.array([each.index for each in inputs], np.int32))},
            **{4: b.CreateNumpyVector(np.array([each.index for each in outputs], np.int32))},
            **{5: _offsets(b, [chain]), 6: _offsets(b, operators)},
            7: _offsets(b, delegates),
            8: b.CreateNumpyVector(np.array([0, self.end], np.int64)),
        }
        buffers = [_table(b, {0: b.CreateByteVector(data)}) for data in self.buffers]
        plans, held = _offsets(b, [_table(b, method)]), _offsets(b, buffers)
        packed = [_table(b, {0: b.CreateByteVector(data)}) for _, data in self.delegates]
        packed = _offsets(b, packed)
        b.Finish(_table(b, {1: plans, 2: held, 3: packed}), file_identifier=b"ET12")
        path.write_bytes(bytes(b.Output()))
        return path


class Value:
    """A tensor of a program, by its index."""

    def __init__(self, index):
        self.index = index


def _table(b, offsets, numbers=()):
    """Build a table of offsets by their slots, and of numbers (kind, slot, value)."""
    b.StartObject(10)
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


def _operator(b, name, overload):
    return _table(b, {0: b.CreateString(name), 1: b.CreateString(overload)})


def _call(b, number, args):
    vector = b.CreateNumpyVector(np.array(args, np.int32))
    call = _table(b, {1: vector}, [("Int32", 0, number)])
    return _table(b, {1: call}, [("Uint8", 0, 1)])


def _call_delegate(b, number, args):
    vector = b.CreateNumpyVector(np.array(args, np.int32))
    call = _table(b, {1: vector}, [("Int32", 0, number)])
    return _table(b, {1: call}, [("Uint8", 0, 2)])


def _delegate(b, number, name):
    place = _table(b, {}, [("Uint8", 0, 0), ("Uint32", 1, number)])
    return _table(b, {0: b.CreateString(name), 1: place})


def _value(b, held):
    kind, what = held
    if kind == "tensor":
        return _union(b, 5, _tensor(b, *what))
    if kind == "tensors":
        return _union(b, 10, _table(b, {0: b.CreateNumpyVector(np.array(what, np.int32))}))
    if kind == "integers":
        return _union(b, 7, _table(b, {0: b.CreateNumpyVector(np.array(what, np.int64))}))
    if what is None:
        return _union(b, 1, _table(b, {}))
    if isinstance(what, bool):
        return _union(b, 3, _table(b, {}, [("Bool", 0, what)]))
    if isinstance(what, int):
        return _union(b, 2, _table(b, {}, [("Int64", 0, what)]))
    if isinstance(what, float):
        return _union(b, 4, _table(b, {}, [("Float64", 0, what)]))
    return _union(b, 8, _table(b, {0: b.CreateNumpyVector(np.array(what, np.float64))}))


def _union(b, kind, table):
    return _table(b, {1: table}, [("Uint8", 0, kind)])


def _tensor(b, dtype, sizes, order, held, place, details):
    offsets = {
        2: b.CreateNumpyVector(np.array(sizes, np.int32)),
        3: b.CreateNumpyVector(np.array(order, np.uint8)),
    }
    if place is not None:
        offsets[6] = _table(b, {}, [("Uint32", 0, 1), ("Uint32", 1, place)])
    if "file" in details:
        extra = {1: b.CreateString(details["file"])}
        offsets[9] = _table(b, extra, [("Int8", 2, 1)])
    numbers = [("Int8", 0, dtype), ("Uint32", 5, held), ("Int8", 8, details.get("dynamism", 0))]
    return _table(b, offsets, numbers)


# ---- one call ----


def numbers(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def codes(*shape, seed=1):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def made(tmp_path, name, inputs, args, shape, order=None, orders=(), dtype=None, more=()):
    """Run one call on inputs in their logical shapes; args name them "in0", "in1" and "out"."""
    program = Program()
    taken = [
        program.tensor(str(x.dtype), x.shape, orders[i] if orders else None)
        for i, x in enumerate(inputs)
    ]
    out = program.tensor(dtype or str(inputs[0].dtype), shape, order)
    own = {f"in{i}": tensor for i, tensor in enumerate(taken)}
    constants = [
        own[arg] if isinstance(arg, str) else
        program.tensor(str(arg.dtype), arg.shape, data=arg) if isinstance(arg, np.ndarray) else arg
        for arg in args
    ]  # fmt: skip
    rest = [program.tensor(*each) for each in more]
    program.call(name, *constants, out, *rest, returned=Tensors([out, *rest]) if rest else None)
    path = program.write(tmp_path / "net.pte", taken, [out])
    session = qemu_nn.load(path).session(target="cortex-m4")
    found = session.predict(list(inputs) if len(inputs) > 1 else inputs[0])
    assert found.shape == tuple(shape)
    return found


def same(found, want):
    found = found.astype(want.dtype)  # of integers without a format predict() makes float64
    assert found.dtype == want.dtype
    assert found.tobytes() == np.ascontiguousarray(want).tobytes()
