"""Page of the ESP32 family with the table of ESP-NN's differences: writes docs/esp32.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from qemu_nn.chips import CHIPS
from qemu_nn.functions.esp_nn_rules import ESP_PATHS, RULES, EspRule
from qemu_nn.functions.tflm_builds import DIFFERENCES
from qemu_nn.targets import DEFAULT_ESP_NN, ESP_CHIPS, core_words

HEAD = """\
# ESP32

A `.tflite` file on a chip of the ESP32 family runs in esp-tflite-micro, Espressif's port of
TensorFlow Lite Micro, whose kernels call ESP-NN. Give the chip or the board as the target:

```sh
qemu-nn run net.tflite --target esp32s3 --data test.npz
qemu-nn variants net.tflite --target esp32s3
qemu-nn check models --target esp32s3
```

In Python: `network.session(target="esp32s3")`, or
`qemu_nn.Target("esp32s3", esp_nn="1.5.0")` for another [release](#releases) of ESP-NN. Without
`esp_nn=` (`--esp-nn`), it is {default}, the newest one whose kernels are known whole. The component
manager takes the newest release unless `idf_component.yml` pins one: the file `dependencies.lock`
of your project names it.

- **ESP32, S2, C3, C6** run generic C. Its results are those of the framework's own kernels, but for
  a SOFTMAX of 512 classes and more. So they are those of CMSIS-NN wherever CMSIS-NN has the bits of
  the framework.
- **ESP32-S3** runs assembly, which differs in the cases below. A network that is right on an
  ESP32-C3 can be wrong on an ESP32-S3.
- **ESP32-P4** runs kernels that were read, not run. Results are those of the framework's own
  kernels, and each session warns of that and names the operators.

`run`, `check` and every session name the layers that meet a case, as a `DeviceWarning` with the
operator and the effect. The [tutorial](tutorials/esp32.md) computes the scores of a streaming
network from a WAV file. `variants --target esp32s3` compares the S3 with generic C, with each
release of ESP-NN and with CMSIS-NN, layer by layer.

## Kernels

Seven kinds of int8 operators go to ESP-NN: ADD and MUL of equal shapes, CONV_2D and
DEPTHWISE_CONV_2D without dilation, FULLY_CONNECTED, AVERAGE_POOL_2D and MAX_POOL_2D with channels
that are a multiple of 4, and SOFTMAX to int8. Everything else is the framework's own kernel: 16-bit
and 4-bit layers, operands that broadcast, LSTM, SVDF, MEAN, HARD_SWISH, LOGISTIC, PAD,
TRANSPOSE_CONV and so on. An LSTM and a stream keep their state from one Invoke to the next.
ESP-NN has functions for MEAN, HARD_SWISH and LOGISTIC from 1.2.3 on, and for batches of
FULLY_CONNECTED later. esp-tflite-micro, read up to 1.4.0, does not call them.

## Releases

Generic C has the same arithmetic in all releases that were read. Up to 1.2.1, sums of CONV_2D and
DEPTHWISE_CONV_2D from 2^30 on may wrap, which is not computed here: only huge biases have them. Of
the kernels for the ESP32-S3:

| release | evidence | differs from the release before |
| --- | --- | --- |
| 1.1.1, 1.1.2 | assembly text of 1.1.2 interpreted, sources compared | |
| 1.2.0~1 | sources compared | scratch memory of DEPTHWISE_CONV_2D |
| 1.2.1, 1.2.2 | sources compared | most kernels: C around the assembly |
| 1.2.3 | assembly text interpreted | 1 x 1 CONV_2D, FULLY_CONNECTED |
| 1.2.4, 1.2.5 | not read | |
| 1.2.6 | assembly of 1.2.3; C compiled and run | padding of CONV_2D, FULLY_CONNECTED |
| 1.2.7 to 1.4.2 | read in part | DEPTHWISE_CONV_2D and SOFTMAX, in one of these |
| 1.5.0 | not read | MUL, by its notes |

**To know the bits, pin ESP-NN 1.2.6 or 1.2.3**, as an [export](firmware.md) does. With a
release after 1.2.6, a session on an ESP32-S3 warns and names the operators. Where the table below
says *in doubt*, results are those of the framework's own kernel, and the session names the layer.

## Differences of the ESP32-S3

*Measured*: the vendor's assembly text was interpreted step by step, on random calls and recorded
ones, and the C code compiled and run; from 1.2.7 on, the case was read. *Read*: in the vendor's
sources. None of the cases ran on silicon here; Espressif's issues 30, 31 and 34 of esp-nn report
three of them from hardware. Memory that nobody knows counts as 0.

"""

MIDDLE = """
Also refused, on every chip of the family:

"""

ALIGNMENT = """
## Addresses

The vectors of the S3 load from multiples of 8 or 16 bytes, so addresses are part of the
arithmetic. The memory planner of TensorFlow Lite Micro puts every tensor and every piece of scratch
memory at a multiple of 16 bytes, as `qemu-nn info` plans it. So the first row of a tensor is always
aligned. Row n of a layer begins `n * length` bytes later: rows whose length is a multiple of 8 (or
of 16, for SOFTMAX and batches of images) are aligned, and all others are not.

The model must be aligned, too: `alignas(16) const unsigned char model[]`.

## Firmware

```sh
qemu-nn export net.tflite --target esp32s3 --data test.npz -o firmware
idf.py -C firmware set-target esp32s3 build flash monitor
```

The export is an ESP-IDF project. `components/network` has the file as a C array, the operators that
it needs, an arena of the planned size, and an `idf_component.yml` that pins esp-tflite-micro and
ESP-NN. The application in `main` runs the network on the goldens and prints `PASS` or `FAIL` for
each output; with `-DQN_DUMP`, `qemu-nn compare firmware/goldens LOG` reads what it prints. The
project was compiled on a PC against stand-ins of the framework, not with Espressif's toolchain.

An `.espdl` file becomes a component with ESP-DL in the same way. The chip must be one whose kernels
read the order of its weights. Of a network that was quantized here, the file is written for the
chip.

`firmware/link` is a project of its own for `validate`: it reports each layer of an `.espdl` file,
and each result of an operator of a `.tflite` file, over UART 0. The console is off there.

```sh
idf.py -C firmware/link set-target esp32s3 build flash
qemu-nn validate net.espdl --on serial:/dev/ttyUSB0@921600
```

The arena is planned with the scratch memory that generic C and the S3's kernels ask for; of the P4
it is not known. The interpreter's structures are those of an Arm build and a half more, as these
compilers do not shorten enumerations: the application prints how much the device took.

## Other settings

`CONFIG_NN_ANSI_C` computes the bits of generic C on every chip. `CONFIG_NN_SKIP_NUDGE` on an S3 is
not bit exact and not computed here.

esp-tflite-micro before 1.3.7 does not tell ESP-NN the channels of a filter. From 1.2.3 on, ESP-NN
takes that for groups, and computes every CONV_2D in generic C: slowly, and without the differences
above. Results here are those with esp-tflite-micro 1.3.7 and later.

## Chips

"""

ESP_DL = """
## ESP-DL

A `.espdl` file runs in ESP-DL, whose formats are powers of two. Its 116 functions here
(`qemu_nn.cmsis.esp_dl_*`) take the chip as an argument; a network takes that of its target, without one that of its file. The
arithmetic is that of ESP-DL 3.3.9. `quantize` with `scheme="power2"` makes such networks of float
ones ([quantizing.md](quantizing.md#networks-of-esp-dl)).

The chips differ in three things:

| | ESP32, S2, C3, C6 | ESP32-S3 | ESP32-P4 |
|---|---|---|---|
| results of an 8-bit layer | halves up | halves up | halves to even |
| its sums | 32 bits, which wrap | 20 bits, which saturate after each product | 32 bits, which saturate |
| evidence | compiled and run | assembly text interpreted | kernels read; rounding run as portable C |

### Differences of ESP-DL's chips

| operator | chip | when | what happens | how to avoid it |
|---|---|---|---|---|
| Conv, Gemm, MatMul of 8 bits | S3 | a sum passes 2^19 - 1 or -2^19 on its way; output channels below the largest multiple of 16 | it saturates there, and later products count from there | smaller weights or inputs, fewer input channels, 16 bits; channels after the last multiple of 16 have 40 bits |
| depthwise Conv of 8 bits | S3 | the same, in every channel | the same | the same |
| biases of 8 bits | S3 | the bias has more than 20 bits, in these channels | it counts modulo 2^20: 2^19 becomes -2^19 | quantize for the `esp32s3`, which limits biases |
| Conv, Gemm, MatMul | all but P4 | weights have an exponent for each channel | refused here: ESP-DL has such kernels for the P4 alone | export for the chip, with one exponent |
| Conv, Gemm, MatMul, Mul | S3 | the output's exponent is below the sum of the inputs' | refused here: shifts to the left are undefined | a larger exponent of the output |
| Conv, Gemm, Mul, LUT of 16 bits, pooling, curves | P4 | a result is a half | it becomes even: a network quantized for an S3 has different bytes | compare on the chip that it was quantized for |
| RequantizeLinear to 8 bits | S3, P4 | exponents differ by 7 and more, to the left | refused here: the factor of the vector kernels does not fit 8 bits | closer exponents |
| PRelu of 8 bits | S3, P4 | a product is no multiple of its step | it rounds to nearest; portable C rounds down | LeakyRelu, or a table |
| PRelu of 16 bits | all | the first side of the slopes in the file is not the channels | the first slope counts for all channels | slopes of the shape `[C, 1, 1]` |
| Mul of 16 bits | ESP32, S2, C3, C6; S3, P4 for rows below 8 elements | the product has more than 24 bits | it is rounded to a float32 first | channels that are a multiple of 8 |
| Resize to the nearest pixel | S3 | fewer than 16 channels, but for doubling both sides | refused here: the kernel multiplies by a register that it has not loaded | 16 channels |
| Resize of 16 bits | all | always | refused here: the output is never written | 8 bits |
| Gelu without a table | all | always | refused here: ESP-DL has no code for it | tables, which esp-ppq writes for 8 bits |
| AveragePool | all | a window overlaps the edge | padding counts as 0, and the whole window divides | no padding |
| ReduceProd of 16 bits | P4 | a product is within 10^-6 of a half | it counts as one and becomes even | - |
| ReduceL2, LayerNormalization | all | roots above 100 | they come from Newton's iteration, whose last step may be as large as 10^-5; iterations that never end on the device end here after 200 steps | smaller values |
| GRU, LSTM | all | direction is `reverse` | it is computed forward | reverse the sequence before it |
| GRU, LSTM | all | more than one sequence, linear_before_reset of 0, input_forget of 1 | refused here: the device leaves outputs unwritten, or stops | one sequence |
| GRU, LSTM | S3, P4 | rows of 16 elements (16 bits: 8) and multiples | sums are shifted as integers; other rows, and portable C, round a float32 | - |
| ScatterND | all | indices below 0 | refused here: the device writes outside of the tensor | indices from 0 on |
| ReverseSequence | all | other axes than the first two | refused here: the device swaps wrong elements | Transpose before it |
| Softmax of 8 bits | all | large inputs | no maximum is subtracted: e^x may reach infinity | inputs below 88 |

Of the functions that the vendor's C was compiled for alone, the S3's own kernels were read, not
interpreted: comparisons, RMSNormalization, and the sums of GRU and LSTM.

Results in floats assume that e^x, logarithms and roots are rounded once, and that no product and
sum are fused; the libraries and processors of the chips were not compared. A float that is no
number, or leaves 32 bits, becomes an end of the type.
"""  # noqa: E501

TAIL = """
Flash and PSRAM are outside of the chip. An arena fits into the largest block at most.
"""


def page() -> str:
    """Return the text of docs/esp32.md."""
    head = HEAD.replace("{default}", DEFAULT_ESP_NN)
    parts = [head, _lines(_rules()), MIDDLE, _refused(), ALIGNMENT, _lines(_chips()), TAIL, ESP_DL]
    return "".join(parts)


def _lines(rows: Iterator[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _rules() -> Iterator[tuple[str, ...]]:
    yield "operator", "releases", "when", "what happens", "how to avoid it", "evidence"
    yield ("---",) * 6
    for rule in RULES:
        evidence = {"m": "measured", "r": "read"}[rule.source]
        effect = f"refused here: {rule.refused}" if rule.refused else rule.effect
        yield rule.operator, _releases(rule), rule.when, effect, rule.avoid, evidence


def _releases(rule: EspRule) -> str:
    where = f"{rule.since} to {rule.until}"
    if rule.doubtful:
        where += f"; in doubt up to {rule.doubtful}"
    chips = {len(ESP_PATHS): "every chip", 2: "generic C and ESP32-P4"}
    return f"{where}; {chips[len(rule.paths)]}" if len(rule.paths) > 1 else where


def _refused() -> str:
    found = (DIFFERENCES[name] for name in ("esp_no_bias",))
    return "".join(f"- {each.operator}: {each.words}.\n" for each in found)


def _chips() -> Iterator[tuple[str, ...]]:
    yield "target", "kernels", "RAM (KiB)", "largest block", "PSRAM, at most (MiB)"
    yield ("---",) * 5
    for name, path in ESP_CHIPS.items():
        chip = CHIPS[name]
        kernels = "generic C" if path == "esp32" else f"for the {core_words([path])}"
        memory = (str(n) for n in (chip.ram, chip.block, chip.psram // 1024))
        yield (f"`{name}`", kernels, *memory)


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(page(), encoding="utf-8")
