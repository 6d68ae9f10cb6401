"""TensorFlow Lite Micro's Python wheel: its answer to a file, outputs or the words of a refusal."""

import faulthandler
import os
import pickle
import signal
import tempfile
from dataclasses import dataclass

import numpy as np

import qemu_nn

#: The device that computes as the wheel of 23 October 2026.
TARGET = qemu_nn.Target(cmsis="7.0.0", rounding="double", kernels="reference", tflm="2026-10")

#: Seconds that a file may take; bytes of memory for its tensors.
SECONDS, ARENA = 60, 1 << 24


@dataclass(frozen=True)
class Question:
    """A file, the inputs of each run from a fresh interpreter, and the number of outputs."""

    data: bytes
    samples: tuple = ()
    outputs: int = 0


def answer(data, samples=(), outputs=0):
    """Return (results, words) of the bytes of a file, as answers() does."""
    return answers([Question(data, tuple(samples), outputs)])[0]


def answers(questions):
    """Return (results, words) for each question.

    results: outputs by sample; None if the framework refuses the file or a run, or crashes. words:
    what it printed. The interpreter is in a process of its own, because odd files make it crash.
    """
    found = []
    while len(found) < len(questions):
        got, status = _ask(questions[len(found) :])
        found += got
        if status:
            found.append((None, f"stops by signal {status & 127}"))
    return found


def _ask(questions):
    """Return the answers up to the first crash, and the status of the process."""
    from tflite_micro.python.tflite_micro import runtime  # here, so that the fork shares it

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            _answer(runtime, pipe, questions)
        os._exit(0)
    os.close(writer)
    found = []
    with os.fdopen(reader, "rb") as pipe:
        while True:
            try:
                found.append(pickle.load(pipe))
            except EOFError:
                break
    return found, os.waitpid(child, 0)[1]


def _answer(runtime, pipe, questions):
    """Write the answers to a pipe."""
    faulthandler.disable()  # a crash is an answer
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        for each in questions:
            said.seek(0)
            said.truncate()
            signal.alarm(SECONDS)
            results = _run(runtime, each)
            said.seek(0)
            pickle.dump((results, said.read().decode(errors="replace").strip()), pipe)
            pipe.flush()


def _run(runtime, question):
    results = []
    try:
        for sample in question.samples or [()]:
            interpreter = runtime.Interpreter.from_bytes(question.data, arena_size=ARENA)
            for place, x in enumerate(sample):
                interpreter.set_input(x, place)
            if question.samples:
                interpreter.invoke()
            results.append([np.array(interpreter.get_output(at)) for at in range(question.outputs)])
    except Exception:
        return None
    return results


def reason(words):
    """Return the first line that names a cause, without the source file and line."""
    lines = [line for line in words.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    source, _, rest = first.partition(" ")
    return rest if source.startswith("tensorflow/") else first
