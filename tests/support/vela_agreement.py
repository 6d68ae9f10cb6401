"""Files that the installed vela compiles, compared with TensorFlow Lite Micro's reference bytes."""

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tflite_agreement import BY_DESIGN, as_file, feed, open_session
from tflm_wheel import Question, answers

from qemu_nn.errors import Error
from qemu_nn.importers.tflite.parser import read
from qemu_nn.importers.tflite.vela_faults import CompiledFile, find_fault
from qemu_nn.testing.ethosu import count_differences, list_rows

#: Configurations of the random files.
CONFIGURATIONS = ("u55-32", "u55-128", "u65-512", "u85-128", "u85-512", "u85-2048")


@dataclass(frozen=True)
class Compiled:
    """A file of vela: its path, or None with vela's words."""

    path: object
    words: str = ""


def compile_file(path, configuration, folder, *options):
    """Compile a file in a process of its own, because vela may crash."""
    said = Path(folder) / "vela.log"
    child = os.fork()
    if child == 0:
        log = os.open(said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(log, 1), os.dup2(log, 2)
        status = 1
        try:
            status = _vela()([str(path), "--output-dir", str(folder), "--accelerator-config",
                              f"ethos-{configuration}", *options])  # fmt: skip
        except SystemExit as end:
            status = end.code or 0
        finally:
            sys.stdout.flush()
            os._exit(1 if status else 0)
    status = os.waitpid(child, 0)[1]
    made = Path(folder) / f"{Path(path).stem}_vela.tflite"
    if status or not made.exists():
        return Compiled(None, f"status {status}: {said.read_text(errors='replace')[-300:]}")
    return Compiled(made)


def _vela():
    from ethosu.vela import vela

    return vela.main


@dataclass(frozen=True)
class Verdict:
    """A verdict on a compiled file.

    kind: "equal", "by design", "differs", "refused", "not compiled", "on the core" or "no answer".
    """

    kind: str
    words: str = ""


def judge(net, results, configuration, samples, folder):
    """Compile a file and compare its outputs with the results of the original, None for none."""
    if results is None:
        return Verdict("no answer")
    original = net.save(Path(folder))
    compiled = compile_file(original, configuration, folder)
    if compiled.path is None:
        return Verdict("not compiled", compiled.words)
    session, refused = open_session(compiled.path)
    if session is None:
        by_design = any(re.search(pattern, refused) for pattern in BY_DESIGN.values())
        return Verdict("by design" if by_design else "refused", refused)
    operators = [operator.name for operator in read(compiled.path).operators]
    try:
        words = describe_difference(session, samples, results)
    except Error as error:
        return Verdict("refused", f"a run stops: {error}")
    if not words:
        return Verdict("equal" if any("ethos-u" in name for name in operators) else "on the core")
    reason = find_reason(net, configuration) or find_effect(original, configuration)
    return Verdict("by design" if reason else "differs", f"{words}; {reason}; {operators}")


def describe_difference(session, samples, results):
    """Return the counts and sizes of the differences of each output, or ""."""
    told = {}
    for sample, right in zip(samples, results):
        made = session.run(feed(session, sample))
        for at, name in enumerate(session.graph.outputs):
            got = as_file(session.graph, name, made[name], right[at].dtype).ravel()
            wanted = right[at].ravel()
            if got.size != wanted.size:
                return f"output {at} has {got.size} elements, not {wanted.size}"
            apart = got.astype(float) - wanted.astype(float)
            if apart.any():
                count, most = told.get(at, (0, 0.0))
                told[at] = count + np.count_nonzero(apart), max(most, float(abs(apart).max()))
    sizes = [each.size for each in results[0]] if results else []
    return ", ".join(
        f"output {at}: {count} of {sizes[at] * len(samples)} by up to {most:g}"
        for at, (count, most) in told.items()
    )


def _has_short_bias(net, name, ends):
    """True of a 16x8 layer with a bias of 32 bits."""
    types = [net.tensors[at]["type"] for at in ends if at >= 0]
    layer = name.endswith(("CONV_2D", "CONNECTED", "TRANSPOSE_CONV"))
    return layer and "INT16" in types and types[-1] == "INT32"


def find_reason(net, configuration):
    """Return the reason for which NPU and kernels differ by design, or "": docs/ethosu.md."""
    new = configuration.startswith("u85")
    for name, ends, outs, _, fields in net.operators:
        first = net.tensors[ends[0]]
        wide = first["type"] == "INT16"
        found = {
            "a 16x8 layer with a bias of 32 bits": _has_short_bias(net, name, ends)
            and (new or name == "DEPTHWISE_CONV_2D"),
            "SUM in floats": name == "SUM",
            "a kernel whose products leave 32 bits": name in ("SOFTMAX", "TANH", "LOGISTIC")
            and wide
            and first["scales"][0] * fields.get("Beta", 1) > 5,
            "a comparison of 16 bits": "BOOL" in {net.tensors[at]["type"] for at in outs} and wide,
        }
        for reason, holds in found.items():
            if holds:
                return reason
    return ""


def find_effect(original, configuration):
    """Return the effect of a program of vela that is wrong, or ""."""
    model = read(original)
    file = CompiledFile(model, f"ethos-{configuration}")
    return next(filter(None, (find_fault(file, each) for each in model.operators)), "")


def answer_all(nets, samples):
    """Return the wheel's results of each file, None if it refuses."""
    questions = [Question(n.bytes(), tuple(s), len(n.outputs)) for n, s in zip(nets, samples)]
    return [results for results, _ in answers(questions)]


#: Configurations whose recorded rows serve all of their product.
_RECORDED = {"u55": "u55-128", "u65": "u65-512", "u85": "u85-256"}

#: Folders of the original files, next to that of the recordings.
_ORIGINALS = ("models_tflite", "models_tflite2", "ethosu/src", "golden/tflm_ops")


def judge_recorded(folder, configuration, options, networks):
    """Yield the name and the verdict of each recorded file, compiled again with options of vela."""
    for row in list_rows(folder, _RECORDED[configuration[:3]], None):
        if networks and row["kind"] != "network":
            continue
        found = [folder.parent / place / f"{row['name']}.tflite" for place in _ORIGINALS]
        original = next(path for path in found if path.exists())
        with tempfile.TemporaryDirectory() as spare:
            compiled = compile_file(original, configuration, spare, *options)
            if compiled.path is None:
                yield row["name"], Verdict("not compiled", compiled.words)
                continue
            try:
                own = {**row, "file": compiled.path, "io": folder / row["io"]}
                differ, elements = count_differences(own, Path(spare))
            except Error as error:
                yield row["name"], Verdict("refused", str(error))
                continue
        words = f"{differ} of {elements} differ" if differ else ""
        yield row["name"], Verdict("differs" if differ else "equal", words)
