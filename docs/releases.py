"""Tables of SDKs and of differences between releases: writes docs/releases.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from qemu_nn.functions import FUNCTIONS
from qemu_nn.releases import ALL, BY_NAME, RULES, SDKS, Rule

HEAD = """\
# Which CMSIS-NN is in my SDK?

Releases of CMSIS-NN compute different bits from the same network, and most SDKs ship a state
between two releases. This page names the state of each SDK, as far as its code or its build scripts
tell, and every difference that is known. Give the name to `cmsis=` or `--cmsis`:

```sh
qemu-nn run net.tflite --cmsis zephyr-2024-06 --target m4 --data x.npy
```

`cmsis=` takes a version (`"5.8.0"`), a commit of at least seven digits, or an SDK with a date; the
newest state that the SDK shipped by that date counts. An affine network takes the s8 and s16
functions of CMSIS 5.7.0 to 5.9.0 with `rounding="double"`, which is the default for such networks.

## Find out

```sh
qemu-nn which-cmsis firmware/CMSIS/NN --network net.tflite
```

The command compares the files of a source tree with those of every state, without comments,
includes and white space, because `$Revision` does not tell the states apart. It prints the state,
the number of files that fit, the differences from the nearest tag, and the layers of a network that
they touch. For a library or a program it compares the names of functions. In Python:
`qemu_nn.cmsis_of("firmware/CMSIS/NN").cmsis`.

A condition around a whole file, by which an SDK leaves the file out of a build, does not count. If
no file equals one of a known state, the revision in the header names the state, and the report says
so. `which-cmsis` on public trees (November 2026); *check*: the files whose bytes equal those of the
state in Arm's repository, or the SDK's own statement:

%TREES%

Two commands compare all states on one core. The first lists for each run of states the layers whose
bits differ from the target's, and the commits that changed them; the second says which states run a
network at all:

```sh
qemu-nn variants net.tflite --releases --target m4
qemu-nn check models --releases --target m55
```

Networks from files of frameworks also run as states without the wrapper functions
(`arm_convolve_wrapper_s8`): frameworks then chose the functions themselves.

57 states from January 2018 to 15 July 2026 are known. Pull request 243 of September 2026, which
corrects the scratch memory of transposed convolutions, is not among them: a `DeviceWarning` names
calls that TensorFlow Lite Micro, or ExecuTorch up to 1.5.1, gives too little.

The states were built without changes and run on
emulated Cortex-M0, M3, M4 and M55. A state without a difference for a function has the bits of
7.0.0, or of 5.6.0 or 5.9.0 for q7 and q15, and is computed by the same code.

## SDKs

*How*: `code`: the files of the SDK equal those of the state, apart from comments and white space;
`pin`: a build script names the commit; `symbols`: guessed from names in a library.

"""

#: Trees on which `which-cmsis` was tried: answer, files that fit, states that fit equally well, and
#: what else tells the state.
TREES = (
    ("tree", "answer", "files that fit", "equally well", "check"),
    ("zephyrproject-rtos/cmsis-nn 0c8669d", "4.1.0", "78 of 78", "dc64e488", "78 of 78 bytes"),
    ("zephyrproject-rtos/cmsis-nn ea987c1", "6.0.0", "105 of 105", "01dee38e", "105 of 105 bytes"),
    ("zephyrproject-rtos/cmsis-nn e9328d6", "7.0.0", "119 of 119", "", "119 of 119 bytes"),
    (
        "RichardYang233/x86_CMSIS-NN_MNIST_test ec12aa3",
        "7.0.0",
        "119 of 119",
        "",
        "119 of 119 bytes",
    ),
    (
        "firmware-arduino-nano-33-ble-sense b6ef5be (2020-05)",
        "5.7.0",
        "70 of 70",
        "b214a23d, 8a4db53f",
        "`$Revision` V.2.0.0",
    ),
    (
        "firmware-arduino-nano-33-ble-sense e380fbf (2021-08)",
        "0d7e4fa7",
        "72 of 73",
        "07bb28ed",
        "`$Revision` V.6.5.3",
    ),
    (
        "firmware-arduino-nano-33-ble-sense 0b8b160 (2026-06)",
        "51263182",
        "90 of 92",
        "",
        "`$Revision` V.10.1.2",
    ),
    (
        "pico-tflmicro 4708515 (2023-07)",
        "38e92201",
        "58 of 59",
        "5969db41, e98ee09a",
        "`$Revision` V.11.0.0",
    ),
    ("pico-tflmicro 2403bc0 (2023-10)", "58f17705", "80 of 80", "", "`$Revision` V.12.0.0"),
    ("pico-tflmicro dfea53b (2024-12)", "7.0.0", "118 of 119", "", "`$Revision` V.18.0.0"),
    (
        "tflite-micro-arduino-examples 08d73bf (2021-08)",
        "09e071b5",
        "74 of 74",
        "59d62498",
        "`$Revision` V.7.0.0",
    ),
    (
        "tflite-micro-arduino-examples 7948b85 (2023-12)",
        "e98ee09a",
        "59 of 59",
        "5969db41",
        "`$Revision` V.11.0.0",
    ),
    (
        "ronnymilleo/amcmbdd 73f8c12, headers alone",
        "5.5.1",
        "3 of 3",
        "42606930, 5.4.0, 5.5.0",
        "3 of 3 bytes",
    ),
    (
        "armBray/mobilnet_quantization fda7eed, `q7`, headers alone",
        "5.5.1",
        "1 of 2",
        "42606930, 5.4.0, 5.5.0",
        "`$Revision` V.1.0.0",
    ),
    (
        "armBray/mobilnet_quantization fda7eed, `int8iq`, edited headers",
        "5.6.0",
        "0 of 2",
        "all of its revision",
        "revision alone",
    ),
)

MIDDLE = """
The nRF Connect SDK ships none: its list of modules has `cmsis`, not `cmsis-nn`.

## Differences

*Refused*: the release accesses memory outside of its arrays, or returns an error; this package
raises an error with the same reason. *Warns*: the release computes something else without saying
so; this package computes that and warns with a `DeviceWarning`. *Smallest*: an input that shows
it. *End*: the commit that ended the difference, or began it. LSTMs of
4.0.0 to 5.0.0 (`arm_lstm_unidirectional_s16_s8`) are refused, and so are packed 4-bit convolutions
before 7.0.0 on Helium, built for single rounding: no recording has them.

"""


def page() -> str:
    """Return the text of docs/releases.md."""
    return "".join([_head(), _lines(_sdks()), MIDDLE, _lines(_differences()), _states()])


def _head() -> str:
    heads, *trees = TREES
    rows = (heads, ("---",) * len(heads), *trees)
    return HEAD.replace("%TREES%\n", _lines(iter(rows)))


def _lines(rows: Iterator[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _sdks() -> Iterator[tuple[str, ...]]:
    yield "`cmsis=`", "state", "date of the state", "how", "evidence"
    yield ("---",) * 5
    for name, sdk in sorted(SDKS.items()):
        note = f"; {sdk.note}" if sdk.note else ""
        yield f"`{name}`", sdk.state, BY_NAME[sdk.state].date, sdk.how, f"{sdk.evidence}{note}"


def _differences() -> Iterator[tuple[str, ...]]:
    yield "functions", "states", "cores", "the release", "smallest", "end"
    yield ("---",) * 6
    for rule in RULES:
        states = rule.first if rule.first == rule.last else f"{rule.first} to {rule.last}"
        yield _functions(rule), states, _cores(rule), rule.words(), rule.smallest, rule.commit


def _functions(rule: Rule) -> str:
    names = [f"`{op}`" for op in rule.ops]
    known = {f"{f.op}_{f.type}": f.name for f in reversed(FUNCTIONS.values())}
    if len(names) == 1:
        return f"`{known[rule.ops[0]]}` and its kind"
    return ", ".join(names) or "all"


def _cores(rule: Rule) -> str:
    words = {"m0": "M0", "scalar": "M3", "mve": "M55", "dsp": "M4"}
    cores = ", ".join(words[path] for path in rule.paths) if len(rule.paths) < 4 else "all"
    return f"{cores}, single rounding" if rule.roundings == ("single",) else cores


def _states() -> str:
    rows: list[tuple[str, ...]] = [("state", "commit", "date", "`$Revision`", "API")]
    rows.append(("---",) * 5)
    for each in ALL:
        api = "s8, s16" if each.is_affine else "q7, q15" if each.is_legacy else "both"
        rows.append((each.name, each.commit, each.date, each.revision, api))
    return f"\n## States\n\n{_lines(iter(rows))}"


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(page())
