"""Small SavedModel folders, written as TensorFlow writes them."""

import struct

import pytest

pytest.importorskip("google.protobuf")

from tensorflow_files import FLOAT, NUMBERS, shape_of

from qemu_nn.importers.tensorflow.schema import new
from qemu_nn.io.crc32c import masked_crc32c

MAGIC = 0xDB4775248B80FB57


def entry(key, value):
    """Serialize an entry of a map."""
    message = new("Entry")
    message.key, message.value = key.encode(), value
    return message.SerializeToString()


def end(tensor, *dims, dtype=FLOAT):
    """Serialize an input or output of a signature."""
    message = new("End")
    message.name, message.dtype = tensor.encode(), dtype
    shape_of(message.tensor_shape, dims)
    return message.SerializeToString()


def signature(inputs, outputs):
    """Serialize a signature; both: name -> serialized end()."""
    message = new("Ends")
    message.inputs.extend(entry(*each) for each in inputs.items())
    message.outputs.extend(entry(*each) for each in outputs.items())
    return message.SerializeToString()


def function(name, arguments, returned, *nodes):
    """Serialize a function; arguments: names with spaces between; returned: name -> tensor."""
    message = new("Definition")
    message.signature.name = name.encode()
    for field, names in (("input_arg", arguments.split()), ("output_arg", returned)):
        for each in names:
            argument = new("Argument")
            argument.name = each.encode()
            getattr(message.signature, field).append(argument.SerializeToString())
    message.ret.extend(entry(key, tensor.encode()) for key, tensor in returned.items())
    message.node_def.extend(nodes)
    return message.SerializeToString()


def saved_model(nodes, functions, signatures, restore="restore", tags=("serve",)):
    """Serialize a saved_model.pb; signatures: name -> signature()."""
    graph, meta, saved = new("Graph"), new("MetaGraph"), new("SavedModel")
    graph.node.extend(nodes)
    graph.library.function.extend(functions)
    meta.graph_def = graph.SerializeToString()
    meta.meta_info_def.tags.extend(tag.encode() for tag in tags)
    meta.saver_def.restore_op_name = restore.encode()
    meta.signature_def.extend(entry(*each) for each in signatures.items())
    saved.saved_model_schema_version = 1
    saved.meta_graphs.append(meta.SerializeToString())
    return saved.SerializeToString()


def varint(number):
    """Return a number in groups of 7 bits."""
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def block(entries, compress=None):
    """Return the bytes of a block of a table; compress: of its content, by Snappy."""
    content, before = b"", b""
    for key, value in entries:
        shared = 0
        while shared < min(len(key), len(before)) and key[shared] == before[shared]:
            shared += 1
        content += varint(shared) + varint(len(key) - shared) + varint(len(value))
        content += key[shared:] + value
        before = key
    content += struct.pack("<II", 0, 1)
    content = content + b"\0" if compress is None else compress(content) + b"\1"
    return content + struct.pack("<I", masked_crc32c(content))


def table(blocks):
    """Return a table of blocks: (last key, bytes)."""
    data, index = b"", []
    for key, each in blocks:
        index.append((key, varint(len(data)) + varint(len(each) - 5)))
        data += each
    handles = b""
    for each in (block([]), block(index)):
        handles += varint(len(data)) + varint(len(each) - 5)
        data += each
    return data + handles.ljust(40, b"\0") + struct.pack("<Q", MAGIC)


def literals(content):
    """Return a block compressed by Snappy: bytes themselves, and copies where these repeat."""
    made, at = varint(len(content)), 0
    while at < len(content):
        size = min(4, len(content) - at)
        before = content.rfind(content[at : at + size], 0, at)
        if size == 4 and before >= 0 and at - before < 2048:
            distance = at - before
            made += bytes([(size - 4) << 2 | distance >> 8 << 5 | 1, distance & 255])
        else:
            made += bytes([(size - 1) << 2]) + content[at : at + size]
        at += size
    return made


def write_variables(folder, arrays, compress=None, **changes):
    """Write a checkpoint; arrays: key -> array; changes: fields of all entries."""
    header = new("BundleHeader")
    header.num_shards = 1
    entries, data = [(b"", header.SerializeToString())], b""
    for key, array in sorted(arrays.items()):
        stored = new("BundleEntry")
        stored.dtype, stored.offset, stored.size = (
            NUMBERS[array.dtype.name],
            len(data),
            array.nbytes,
        )
        shape_of(stored.shape, array.shape)
        stored.crc32c = masked_crc32c(array.tobytes())
        for field, value in changes.items():
            setattr(stored, field, value)
        entries.append((key.encode(), stored.SerializeToString()))
        data += array.tobytes()
    half = len(entries) // 2 + 1
    parts = [part for part in (entries[:half], entries[half:]) if part]
    place = folder / "variables"
    place.mkdir(exist_ok=True)
    blocks = [(part[-1][0], block(part, compress)) for part in parts]
    (place / "variables.index").write_bytes(table(blocks))
    (place / "variables.data-00000-of-00001").write_bytes(data)
