"""The metadata of .tflite files are read, and errors name their faults."""

import io
import pickle
import zipfile
from dataclasses import replace

import flatbuffers
import numpy as np
import pytest
from click.testing import CliRunner
from float_tflite import make
from tflite_files import File

import qemu_nn
from qemu_nn import Error, Preprocessing
from qemu_nn.cli.main import main
from qemu_nn.importers.tflite.metadata import read_metadata

LABELS = b"cat\ndog\na\x1b[31mfox\n"


def vector(builder, offsets):
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def table(builder, **slots):
    """Return a table: `o3` is an offset in slot 3, `b0` a byte in slot 0."""
    builder.StartObject(8)
    for name, value in slots.items():
        put = builder.PrependUOffsetTRelativeSlot if name[0] == "o" else builder.PrependUint8Slot
        put(int(name[1:]), value, 0)
    return builder.EndObject()


def written(mean=(127.5,), std=(127.5,), file="labels.txt", kind=2, inputs=1, mark=b"M001"):
    """Metadata that normalize the input, and name a file of labels of the output."""
    b = flatbuffers.Builder(256)
    numbers = [b.CreateNumpyVector(np.array(each, np.float32)) for each in (mean, std)]
    options = table(b, o0=numbers[0], o1=numbers[1])
    others = table(b, b0=2, o1=table(b))  # calibrates scores
    units = vector(b, [others, table(b, b0=1, o1=options)])
    name = b.CreateString(file)
    files = vector(b, [table(b, o0=name, b2=1), table(b, o0=name, b2=kind)])
    start = vector(b, [table(b, o4=units) for _ in range(inputs)])
    end = vector(b, [table(b, o6=files)])
    root = table(b, o3=vector(b, [table(b, o2=start, o3=end)]))
    b.Finish(root, mark)
    return bytes(b.Output())


def zipped(content=LABELS, name="labels.txt"):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return held.getvalue()


def save(path, said=None, behind=None, scale=1 / 127.5, shape=(1, 4, 5, 3), buffer=None):
    """Write a file of an average over all pixels: an image in, three scores out."""
    net = File()
    start = net.input(shape, scale, -1)
    axes = net.tensor((2,), "INT32", data=[1, 2])
    end = net.output((1, 3), scale, -1)
    net.operator("MEAN", [start, axes], [end], "ReducerOptions", KeepDims=False)
    if said is not None:
        net.metadata = [("min_runtime_version", 0), ("TFLITE_METADATA", buffer or len(net.buffers))]
        net.buffers.append(said)
    path.write_bytes(net.bytes() + (zipped() if behind is None else behind))
    return path


@pytest.fixture
def network(tmp_path):
    return qemu_nn.load(save(tmp_path / "net.tflite", written()))


def test_normalization_becomes_a_preprocessing_and_labels_are_names(network, tmp_path):
    assert network.preprocessing == Preprocessing(mean=127.5, std=127.5, dtype="uint8")
    assert network.labels == ("cat", "dog", "a\\x1b[31mfox")
    assert network.notes == ()
    pixels = np.random.default_rng(1).integers(0, 256, (6, 4, 5, 3)).astype(np.uint8)
    real = ((pixels - 127.5) / 127.5).astype(np.float32)
    np.testing.assert_array_equal(
        network.host.codes(pixels), network.graph.input.format.quantize(real)
    )
    assert np.abs(network.predict(pixels) - real.mean((1, 2))).max() < 0.02
    network.save(tmp_path / "net.qnz")
    for twin in (qemu_nn.load(tmp_path / "net.qnz"), pickle.loads(pickle.dumps(network))):
        assert (twin.preprocessing, twin.labels) == (network.preprocessing, network.labels)


def test_the_networks_own_integers_stay_codes(network):
    codes = np.random.default_rng(2).integers(-128, 128, (3, 4, 5, 3), np.int8)
    np.testing.assert_array_equal(network.host.codes(codes), codes)
    (got,) = network.session().run(codes).values()
    np.testing.assert_array_equal(
        network.predict(codes), *network.host.scores(network.session().run(codes)).values()
    )
    assert got.dtype == np.int8
    with pytest.raises(Error, match="takes raw samples of uint8, but the data contain -0"):
        network.predict(codes.astype(float) / -200 - 0.3)


def test_a_file_without_metadata_says_nothing(tmp_path):
    network = qemu_nn.load(save(tmp_path / "net.tflite"))
    assert (network.preprocessing, network.labels, network.notes) == (None, (), ())


@pytest.mark.parametrize(
    ("said", "behind", "prepared", "named"),
    [
        (written(mean=(0,), std=(1,)), None, False, True),  # changes nothing
        (written(mean=(), std=()), None, False, True),
        (written(mean=(1, 2, 3), std=(4,)), None, True, True),
        (written(kind=1), None, True, False),  # no labels
        (written(), zipped(b"one\ntwo\n"), True, False),  # of something else
        (written(inputs=2), None, False, True),
    ],
)
def test_what_is_said_is_taken_where_it_fits(tmp_path, said, behind, prepared, named):
    network = qemu_nn.load(save(tmp_path / "net.tflite", said, behind))
    assert (network.preprocessing is not None, bool(network.labels)) == (prepared, named)
    assert network.notes == ()


@pytest.mark.parametrize(
    ("said", "behind", "told"),
    [
        (written(mark=b"M999"), None, "its metadata lack the identifier 'M001'"),
        (written(std=(0,)), None, "std is 0"),
        (written(mean=(np.nan,)), None, "mean must be a finite number"),
        (written(mean=(1, 2)), None, "it normalizes 2 channels of an input"),
        (written(mean=(1, 2), std=(1, 2, 3)), None, "have 1, 2 and 3 numbers"),
        (written(file="other.txt"), None, "has no entry other.txt"),
        (written(), b"", "cannot read .*net.tflite"),
        (written(), zipped(b"\xff\xfe"), "its file of class names, 'labels.txt', must be UTF-8"),
        (written(), zipped(bytes(2**25)), "unpacks to 33554432 bytes; at most 16777216 are read"),
        (written()[:40], None, "damaged"),
    ],
)
def test_what_cannot_be_used_becomes_a_note(tmp_path, said, behind, told):
    network = qemu_nn.load(save(tmp_path / "net.tflite", said, behind))
    assert network.labels == ()
    (note,) = network.notes
    assert note.startswith("its metadata are ignored: ")
    with pytest.raises(Error, match=told):
        raise Error(note)
    network.session().run(np.zeros((1, 4, 5, 3), np.int8))


def test_a_buffer_that_is_not_there_is_told(tmp_path):
    path = save(tmp_path / "net.tflite", written(), buffer=99)
    (note,) = qemu_nn.load(path).notes
    assert "its metadata are in buffer 99; the file has" in note


def test_a_float_network_has_its_labels_and_notes(tmp_path):
    net = make("dense")
    net.metadata, net.signatures = [("TFLITE_METADATA", len(net.buffers))], [("a", 0), ("b", 0)]
    net.buffers.append(written(mean=(1,), std=(2,)))
    path = tmp_path / "net.tflite"
    path.write_bytes(net.bytes() + zipped(b"one\ntwo\nthree\nfour\n"))
    network = qemu_nn.load(path)
    assert network.graph.classes == ("one", "two", "three", "four")
    prepared, signed = network.notes
    assert prepared == (
        "its metadata prepare inputs as (raw * 1 - 1) / 2: give data this Preprocessing"
    )
    assert signed.startswith("it has 2 signatures: 'a' (graph 0), 'b' (graph 0)")
    shown = CliRunner().invoke(main, ["info", str(path)])
    assert "note: its metadata prepare inputs" in " ".join(shown.output.split())


def test_damaged_metadata_never_stop_a_network(tmp_path):
    rng, said = np.random.default_rng(3), written()
    path = save(tmp_path / "net.tflite")
    graph = qemu_nn.load(path).graph
    output = graph.node(graph.outputs[0]).output.shape
    for _ in range(60):
        bad = bytearray(said)
        for at in rng.integers(0, len(bad), 3):
            bad[at] = rng.integers(0, 256)
        found = read_metadata(
            save(tmp_path / "net.tflite", bytes(bad)), bytes(bad), [graph.input.shape], [output]
        )
        assert len(found.notes) <= 1
        assert len(found.labels) in (0, 3)


def labelled(network, path, preprocessing, classes=("a", "b", "c")):
    """Return the preprocessing read from the file of a network with these metadata."""
    said = replace(network, preprocessing=preprocessing)
    replace(said, graph=replace(network.graph, classes=classes)).save(path)
    return qemu_nn.load(path)


PIXELS = np.arange(256, dtype=np.uint8)[:, None, None, None] + np.zeros((4, 5, 3), np.uint8)


@pytest.mark.parametrize(
    "steps",
    [
        {"mean": 127.5, "std": 127.5},
        {"scale": 1 / 255, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
        {"mean": 100.5 + 3e-6, "std": 127.5},  # next to halves of the format's steps
        {"scale": (0.25, 0.5, 1.0), "dtype": "uint8", "crop": (4, 5)},
    ],
)
def test_what_is_written_is_read_again(network, tmp_path, steps):
    given = Preprocessing(**steps)
    files = [tmp_path / name / "net.tflite" for name in ("first", "second")]
    for file in files:
        file.parent.mkdir()
    read = labelled(network, files[0], given, ("cat", "dög", "a fox"))
    assert (read.labels, read.notes) == (("cat", "dög", "a fox"), ())
    wanted = network.graph.input.format.quantize(given.apply(PIXELS))
    np.testing.assert_array_equal(read.host.codes(PIXELS), wanted)
    again = labelled(read, files[1], read.preprocessing, read.labels)
    assert (again.preprocessing, again.labels) == (read.preprocessing, read.labels)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("steps", "classes"),
    [
        ({"mean": 3.0, "dtype": "int16"}, ()),
        ({"mean": 3.0, "scale": 0.0}, ()),
        ({"scale": 1e-30, "mean": 1e30}, ()),  # beyond float32
        ({}, ()),
        ({}, ("a", "b\nc", "d")),
        ({}, (" a", "b", "c")),
    ],
)
def test_what_metadata_cannot_say_is_left_out(network, tmp_path, steps, classes):
    read = labelled(network, tmp_path / "out.tflite", Preprocessing(**steps), classes)
    assert (read.preprocessing, read.labels, read.notes) == (None, (), ())
    assert b"TFLITE_METADATA" not in (tmp_path / "out.tflite").read_bytes()
