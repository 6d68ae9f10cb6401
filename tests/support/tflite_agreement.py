"""Verdict and bytes of a .tflite file, compared with TensorFlow Lite Micro's Python wheel."""

import re
import warnings
from dataclasses import dataclass

import numpy as np
from tflm_wheel import TARGET, answer, reason

import qemu_nn
from qemu_nn.errors import Error
from qemu_nn.importers.tflite.parser import parse

REFUSED_HERE = "refused here"


#: Refusals of files that the wheel runs, by design: why -> a pattern of the sentence. The wheel
#: checks neither; what it computes depends on memory or has no meaning.
BY_DESIGN = {
    "an operand is read as another type": r"different types|must have one type|compares \w+ with|"
    r"must be .*(INT8|FLOAT32)|must be (bool|int8|int32)|its (bias|input \d+), .* is \w+[; ]|"
    r"is \w+; TensorFlow Lite Micro supports",
    "an integer tensor lacks its one scale": r"must be quantized|scales and \d+ zero points|"
    r"with 0 scales|has the scale 0\.0",
    "memory outside of a tensor is read": r"reads as pairs of INT32|outside",
    "a parameter is computed while it runs": r"must be a constant|are computed|is computed",
    "zeros for missing options have no meaning": r"it lacks its options",
    "a zero point of int16 is ignored, or one outside of its type": r"with the zero point|"
    r"the zero point -?\d+; it must be -?\d+ to",
    "products of the kernel exceed 32 bits": r"need a below 2\.66",
    "a build with checks stops at a quotient": r"stops at sample .* DIV by 0",
}


@dataclass(frozen=True)
class Verdict:
    """A verdict on a file.

    differs: what differs, "" if nothing. own, framework: why each side refuses the file, or "".
    """

    differs: str
    own: str
    framework: str

    @property
    def by_design(self):
        """True if the difference is a refusal of BY_DESIGN."""
        said = self.own if self.differs == REFUSED_HERE else self.differs
        return any(re.search(pattern, said) for pattern in BY_DESIGN.values())


def compare(path, samples):
    """Return the verdict on a file.

    samples: inputs of each run, in the file's order.
    """
    data = path.read_bytes()
    session, own = open_session(path)
    outputs = len(session.outputs) if session else 0
    results, words = answer(data, samples, outputs)
    framework = "" if results is not None else reason(words) or words
    if session and results is None and samples and _stops(session, samples):
        return Verdict("", "a run stops", framework)
    if session is None or results is None:
        differs = {(True, False): REFUSED_HERE, (False, True): "runs here, refused there"}
        return Verdict(differs.get((session is None, results is None), ""), own, framework)
    return Verdict(_difference(session, samples, results), own, framework)


@dataclass(frozen=True)
class _Session:
    """A session of a file; the tensors of the file's inputs and outputs."""

    run: object
    graph: object
    inputs: tuple
    outputs: tuple


def open_session(path):
    """Return a session as the wheel computes, and the reason if there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            network = qemu_nn.load(path)
            session = network.session(TARGET)
        except Error as error:
            return None, str(error)
    model = parse(path, path.read_bytes())
    ends = (tuple(map(model.tensor, each)) for each in (model.inputs, model.outputs))
    return _Session(session.run, session.graph, *ends), ""


def _stops(session, samples):
    """True if a run stops with an error, as on the device."""
    try:
        for sample in samples:
            session.run(feed(session, sample))
    except Error:
        return True
    return False


def feed(session, sample):
    """Return the inputs of a run by their names."""
    indices = [tensor.index for tensor in session.inputs]
    places = [indices.index(index) for index in dict.fromkeys(indices)]
    lead = [1, 1] if session.graph.states else [1]
    return {
        tensor.name: _quantized(sample[place], tensor).reshape(*lead, *tensor.shape)
        for tensor, place in zip(session.graph.inputs, places)
    }


def _difference(session, samples, results):
    """Return the outputs whose bytes differ, of all samples."""
    wrong = []
    for sample, right in zip(samples, results):
        try:
            made = session.run(feed(session, sample))
        except Error as error:
            return f"stops here: {error}"
        for at, name in enumerate(session.graph.outputs):
            got = as_file(session.graph, name, made[name], right[at].dtype)
            if not _same(got.ravel(), right[at].ravel()):
                wrong.append(f"output {at}")
    return ", ".join(dict.fromkeys(wrong))


def _same(got, right):
    if got.dtype == np.float32 == right.dtype:
        return np.allclose(got, right, 1e-6, 1e-6, equal_nan=True)
    return np.array_equal(got, right)


def _quantized(x, tensor):
    """Return a float input as the integers of QUANTIZE, with which the network begins."""
    if x.dtype != np.float32 or tensor.dtype == "float32":
        return x
    limits, steps = np.iinfo(tensor.dtype), x / np.float32(tensor.scale)
    whole = np.trunc(steps + np.copysign(np.float32(0.5), steps)) + (tensor.zero_point or 0)
    return np.clip(whole, limits.min, limits.max).astype(tensor.dtype)


def as_file(graph, name, made, dtype):
    """Return an output as the file has it: DEQUANTIZE at its end is left out of the network."""
    made = np.asarray(made)
    if dtype != np.float32 or made.dtype == np.float32:
        return made
    tensor = graph.tensors[name]
    return (made.astype(np.float32) - np.float32(tensor.zero_point or 0)) * np.float32(tensor.scale)
