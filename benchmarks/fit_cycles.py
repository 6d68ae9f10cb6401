"""Fits the coefficients of `qemu_nn.cycles` to instruction counts of calls of CMSIS-NN.

    python -m benchmarks.fit_cycles counts.csv.gz networks.json.gz

reads such files (the second one holds the calls of whole networks, and may be missing) and the
calls that benchmarks/count_arm.py counted, and writes the package's coefficients. It needs SciPy.

It prints, for each function and build, the median and the 90th percentile of the errors of calls
that a fit has not seen (a sixth of the shapes at a time is left out), and then the table of
docs/cycles.md, all builds of a core together.
"""

import csv
import gzip
import hashlib
import json
import lzma
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from qemu_nn.cycles.model import CLASSES, DATA, DEFAULTS, PATHS
from qemu_nn.cycles.newlib import LIBRARY
from qemu_nn.cycles.table import COUNTERS, count_parts, get_group

#: Calls that benchmarks/count_arm.py counted.
COUNTED = Path(__file__).with_name("arm_counts.csv.gz")

FOLDS = 6
MAC = "multiply-accumulates"

#: Spare part of a range, for errors however small.
MARGIN = 0.002

#: Functions -> counted by estimated instructions, least and most, in whole networks that the counts
#: do not have: attention (softmax), channel multipliers and tails (depthwise), LSTMs.
MEASURED = {
    r"arm_softmax_s8(_s16)?": (1.0, 2.2),
    r"arm_lstm_unidirectional_s(8|16)": (0.97, 1.0),
}

#: Rounds of weighting in solve(), and the relative errors that weigh the same as none.
ROUNDS, SMALL = 6, 1e-3

#: Parts that are conditions of another one, and how little they are held back.
CONDITION, SLIGHT = r"\bany\b|/rest|/last", 0.01


@dataclass
class Recorded:
    """The calls of a group of functions in one build."""

    calls: list = field(default_factory=list)  # (function, text of its params)
    counts: list = field(default_factory=list)  # instructions of random inputs
    mixes: list = field(default_factory=list)  # by class, in the order of CLASSES
    spans: list = field(default_factory=list)  # least and most of all inputs, as ratios


def read(path):
    """Build -> group -> its calls; buffers are aligned to 16 bytes."""
    calls = defaultdict(dict)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["alignment"] == "0,0,0":
                abi = "hard" if "float-abi=hard" in row["compiler"] else "soft"
                build = (row["core"], row["release"], row["optimization"], abi)
                calls[build, row["function"], row["params"]][row["input"]] = row
    found = defaultdict(lambda: defaultdict(Recorded))
    for (build, function, params), inputs in calls.items():
        recorded, random = found[build][get_group(function)], inputs["random"]
        count = int(random["instructions"])
        every = [int(row["instructions"]) for row in inputs.values()]
        recorded.calls.append((function, params))
        recorded.counts.append(count)
        recorded.mixes.append([int(random[column]) for column in CLASSES.values()])
        recorded.spans.append((min(every) / count, max(every) / count))
    return found


def add_networks(found, path):
    """Join the calls of whole networks to those of single ones."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        networks = json.load(file)
    for network in networks:
        abi = "hard" if "float-abi=hard" in network["compiler"] else "soft"
        build = (network["core"], network["release"], network["optimization"], abi)
        for call in network["calls"]:
            if call["function"] not in COUNTERS:
                continue
            recorded = found[build][get_group(call["function"])]
            count = sum(call["instructions"]) / len(call["instructions"])
            mix = {**call["mix"], "branches_taken": call["branches_taken"]}
            recorded.calls.append((call["function"], json.dumps(call["params"])))
            recorded.counts.append(count)
            recorded.mixes.append([mix.get(column, 0) for column in CLASSES.values()])
            recorded.spans.append((1.0, 1.0))


def add_counted(found):
    """Join the calls of benchmarks/arm_counts.csv.gz, of which only the instructions are known."""
    with gzip.open(COUNTED, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            build = tuple(row[name] for name in ("core", "release", "optimization", "abi"))
            recorded = found[build][get_group(row["function"])]
            recorded.calls.append((row["function"], row["params"]))
            recorded.counts.append(int(row["instructions"]))
            recorded.mixes.append([np.nan] * len(CLASSES))
            recorded.spans.append((1.0, 1.0))


def matrix(recorded, core):
    """Return the names of parts, and how often each call runs each."""
    rows = [
        count_parts(name, {**DEFAULTS, **json.loads(text)}, PATHS[core])
        for name, text in recorded.calls
    ]
    names = sorted(set().union(*rows))
    return names, np.array([[row.get(name, 0.0) for name in names] for row in rows])


def solve(names, counted, wanted, counts, exact=True):
    """Coefficients, none negative, of the least sum of relative errors.

    Calls that the closed forms hold exactly for outvote the others: squares, where each has its
    error as weight, come to the sum of absolute errors. exact: whether the parts of the C library
    are instructions themselves. What nearly all calls have, as a loop that is hardly ever left
    out, goes to the part that it is a condition of.
    """
    known = np.array([exact and name in LIBRARY for name in names])
    result = known.astype(float)
    conditions = np.array([re.search(CONDITION, name) is not None for name in names])[~known]
    scale = counted[:, ~known].max(axis=0)
    scale[scale == 0] = 1.0
    rows, goal = counted[:, ~known] / scale / counts[:, None], (wanted - counted @ result) / counts
    last = np.diag(rows.mean(axis=0) * conditions * SLIGHT)
    weights = np.ones(len(counts))
    for _ in range(ROUNDS):
        weighed = np.vstack((rows * weights[:, None], last))
        found = nnls(weighed, np.append(goal * weights, np.zeros(len(last))), maxiter=20000)[0]
        weights = np.maximum(np.abs(rows @ found - goal), SMALL) ** -0.5
    result[~known] = found / scale
    return result


def unseen(names, counted, counts, calls):
    """Return the relative error of each call by a fit that has not seen its shape."""
    texts = [text.partition(',"bias')[0] for _, text in calls]
    folds = [int(hashlib.md5(text.encode()).hexdigest(), 16) % FOLDS for text in texts]
    errors = np.zeros(len(calls))
    for fold in set(folds):
        left_out = np.array(folds) == fold
        found = solve(names, counted[~left_out], counts[~left_out], counts[~left_out])
        errors[left_out] = counted[left_out] @ found / counts[left_out] - 1
    return errors


def fewest(names, counted, counts, calls):
    """Return the parts that unseen calls follow best: all parts, or those without some kinds."""
    found = []
    for kinds in (r"$^", r"last \d", r"last \d|.* any$"):
        kept = [at for at, name in enumerate(names) if not re.fullmatch(kinds, name)]
        if found and len(kept) == len(found[-1][1]):
            continue
        errors = np.abs(unseen([names[at] for at in kept], counted[:, kept], counts, calls))
        found.append((np.mean(np.minimum(errors, 0.1)), kept, errors))
    _, kept, errors = min(found, key=lambda one: one[0])
    return [names[at] for at in kept], counted[:, kept], errors


#: Filters with which xz packs digits into an eighth less than by its preset alone.
AS_TEXT = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


def significant(value, digits):
    """Return a number with so many digits, an integer where it is one; 0 for a solver's noise."""
    rounded = float(f"{value:.{digits}g}") if abs(value) >= 1e-6 else 0.0
    return int(rounded) if rounded.is_integer() else rounded


def fitted(recorded, core):
    """Return the entry of a group in the package's data, and its errors by function."""
    names, counted = matrix(recorded, core)
    counts = np.array(recorded.counts, float)
    mixes = np.array(recorded.mixes, float)
    names, counted, errors = fewest(names, counted, counts, recorded.calls)
    wanted = {"instructions": counts}
    wanted.update(zip(CLASSES, mixes.T))
    if PATHS[core] != "scalar":  # where none of them takes longer than another
        wanted[MAC] = wanted[MAC] + wanted.pop("multiplies")
    found = {}
    for name, target in wanted.items():
        known = ~np.isnan(target)
        found[name] = solve(
            names, counted[known], target[known], counts[known], name == "instructions"
        )
    used = [at for at in range(len(names)) if any(values[at] > 0 for values in found.values())]
    entry = {"parts": [names[at] for at in used]}
    for name, values in found.items():
        if values.any():
            digits = 4 if name == "instructions" else 2
            entry[name] = [significant(float(values[at]), digits) for at in used]
    functions, by_function = np.array([name for name, _ in recorded.calls]), {}
    spans = np.array(recorded.spans)
    kept = np.array([significant(float(value), 4) for value in found["instructions"]])
    entry["spans"] = {}
    for function in sorted(set(functions)):
        own = functions == function
        by_function[function] = errors[own]
        seen = np.abs(1 - counts[own] / (counted[own] @ kept))
        margin = max(np.quantile(errors[own], 0.9), seen.max(), MARGIN)
        known = [ends for names, ends in MEASURED.items() if re.fullmatch(names, function)]
        least, most = known[0] if known else (1.0, 1.0)
        span = (min(least, spans[own, 0].min()), max(most, spans[own, 1].max()), margin)
        rounded = (np.floor(span[0] * 1000), *(np.ceil(value * 1000) for value in span[1:]))
        entry["spans"][function] = [significant(float(value) / 1000, 9) for value in rounded]
    return entry, by_function


def table(every):
    """Lines of Markdown: function, and for each core which error nine calls in ten stay below.

    every: (core, function, errors of its calls in a build), each.
    """
    pooled = defaultdict(lambda: defaultdict(list))
    for core, function, errors in every:
        pooled[function][core].append(errors)
        pooled["all"][core].append(errors)
    for function, cores in sorted(pooled.items()):
        cells = [np.concatenate(cores[core]) if core in cores else None for core in PATHS]
        shown = ("" if own is None else f"{np.quantile(own, 0.9):.1%}" for own in cells)
        yield f"| `{function}` | {' | '.join(shown)} |".replace("%", " %")


def main(calls, networks=None):
    """Fit all builds, print the errors and write the coefficients."""
    data, every, found = {}, [], read(calls)
    if networks is not None:
        add_networks(found, networks)
    add_counted(found)
    for build, groups in sorted(found.items()):
        entries = data[" ".join(build)] = {}
        for name, recorded in sorted(groups.items()):
            entries[name], errors = fitted(recorded, build[0])
            for function, own in errors.items():
                every.append((build[0], function, own))
                middle, most = np.median(own), np.quantile(own, 0.9)
                print(*build, f"{function:42} {middle:8.2%} {most:8.2%}", sep="  ")
    print(*table(every), sep="\n")
    errors = np.concatenate([own for _, _, own in every])
    fine = np.mean([np.mean(own < 0.03) >= 0.9 for _, _, own in every])
    print(
        f"{np.mean(errors < 0.03):.1%} of {len(errors)} calls within 3 %, {fine:.0%} of functions"
    )
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    DATA.write_bytes(lzma.compress(text.encode(), filters=AS_TEXT))
    print(f"{len(COUNTERS)} functions, {len(data)} builds, {DATA.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
