"""The Signal library: what TensorFlow Lite Micro computed of its operators = what is computed here.

golden/tflm_signal.npz holds files of one operator each with their outputs, `signal_...`, as the
device's build made them; and under `function_...` what the functions under these operators made on
a PC, of TensorFlow Lite Micro's sources and kissfft's, for values and lengths that no file has.
"""

import re
import struct
from contextlib import suppress

import numpy as np
import pytest
import recorded_tflite
from paths import ROOT, SHARED
from recorded_archives import ARCHIVES
from tflite_damage import changed

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.errors import DeviceWarning, Error, ModelError, Refused
from qemu_nn.functions.tflm_signal_tables import compute_cosine_sine, make_twiddles
from qemu_nn.importers.tflite import network
from qemu_nn.importers.tflite.building import BARE, TfliteBuilder
from qemu_nn.importers.tflite.call import TfliteCall
from qemu_nn.importers.tflite.flexbuffers import OptionMap
from qemu_nn.importers.tflite.parser import read
from qemu_nn.ir.graph import Graph

RECORDED = ARCHIVES["tflm_signal"]
FILES = RECORDED.names()
FUNCTIONS = sorted({key.split("/")[0] for key in RECORDED.content() if key[:9] == "function_"})

OPS = sorted((SHARED / "golden" / "tflm_ops").glob("signal_*.tflite"))
FRONTEND = SHARED / "models_tflite2" / "tflm_audio_preprocessor_int8.tflite"


# ---- files ----


def test_what_the_device_leaves_as_its_memory_was_is_warned_of(tmp_path):
    found = RECORDED.load("signal_stacker", tmp_path)
    with pytest.warns(DeviceWarning, match="its first output is uninitialized on the device"):
        found.session()


@pytest.mark.skipif(not OPS, reason="the recorded operators are not here")
def test_the_recordings_are_the_shared_ones():
    assert [path.stem for path in OPS] == FILES
    for path in OPS:
        arrays, _ = recorded_tflite.read(path)
        kept = RECORDED.arrays(path.stem)
        assert kept.pop("file").tobytes() == path.read_bytes()
        for key, array in kept.items():
            assert np.array_equal(array, arrays[key], equal_nan=array.dtype == np.float32)


def of_one_operator(model, operator):
    """Return the network of one operator of a file."""
    builder = TfliteBuilder(model)
    constant = {index for index in operator.inputs if model.tensor(index).data is not None}
    inputs = [index for index in operator.inputs if index not in constant]
    for index in inputs:
        builder.set_value(index, builder.declare(index, *BARE))
    network.CONVERTERS[operator.name](TfliteCall(operator, builder))
    return inputs, Graph(
        name="one",
        inputs=tuple(builder.value(index).tensor for index in inputs),
        nodes=tuple(builder.nodes),
        outputs=tuple(builder.value(index).name for index in operator.outputs),
        arrays=builder.arrays,
        states=tuple(builder.states),
    )


@pytest.mark.skipif(not FRONTEND.is_file(), reason=f"{FRONTEND} is not here")
def test_every_signal_tensor_of_the_microphone_frontend():
    model = read(FRONTEND)
    arrays, _ = recorded_tflite.read(FRONTEND)
    arrays |= {f"s0_t{model.inputs[0]}": arrays["input_0"][0]}
    seen = []
    for operator in model.operators:
        if not operator.name.startswith("Signal"):
            continue
        indices, graph = of_one_operator(model, operator)
        lead = (1, 1) if graph.states else (1,)
        x = {
            tensor.name: arrays[f"s0_t{index}"].reshape(*lead, *tensor.shape)
            for index, tensor in zip(indices, graph.inputs)
        }
        results = qemu_nn.Network(graph).session().run(x)
        for index, name in zip(operator.outputs, graph.outputs):
            want = arrays[f"s0_t{index}"]
            assert results[name].dtype == want.dtype, operator
            assert np.array_equal(results[name].reshape(want.shape), want), operator
            seen.append(index)
    assert len(seen) == 11


# ---- functions ----


def run(name, arrays):
    """Return our functions' results for a recorded call."""
    what = name.split("_")
    call = getattr(cmsis, f"tflm_signal_{'_'.join(what[1 : 1 + len(what) - 1])}", None)
    x = arrays["input"]
    if "fft" in what[1]:
        kind, type, n = what[1], what[2], int(what[3])
        table = make_twiddles(type, n, kind == "irfft")
        own = {"twiddles": table[:n].reshape(-1, 2), "super_twiddles": table[n:].reshape(-1, 2)}
        return getattr(cmsis, f"tflm_signal_{kind}_{type}")(input=x, fft_length=n, **own)
    if "square" in what:
        bits = np.array([int(what[-1])], np.int32)
        return cmsis.tflm_signal_square_root_u64(input=x, scale_bits=bits)
    if "log" in what:
        correction, scale = map(int, what[-2:])
        return cmsis.tflm_signal_log_u32(
            input=x, input_correction_bits=correction, output_scale=scale
        )
    if "pcan" in what:
        own = {"noise_estimate": arrays["noise"], "gain_lut": arrays["lut"], "snr_shift": 6}
        return cmsis.tflm_signal_pcan_u32(input=x, **own)
    own = {"start_index": 2, "end_index": 7} if "energy" in what else {}
    return np.stack([call(input=row, **own) for row in x])


def function_of(name):
    """Return the function of a recorded call."""
    return f"tflm_signal_{re.match('function_(.*?_[fsu][0-9]+)', name)[1]}"


@pytest.mark.oracle("{function}")
@pytest.mark.parametrize(
    ("name", "function"), [(n, function_of(n)) for n in FUNCTIONS if "subtraction" not in n]
)
def test_functions_give_the_recorded_bits(name, function):
    arrays = RECORDED.arrays(name)
    got = run(name, arrays)
    assert recorded_tflite.differing(got, arrays["output"].reshape(got.shape)) == 0


NOISE = (
    *("smoothing", "one_minus_smoothing", "alternate_smoothing", "alternate_one_minus_smoothing"),
    *("min_signal_remaining", "smoothing_bits", "spectral_subtraction_bits", "clamping"),
)


@pytest.mark.oracle("tflm_signal_subtraction_u32", "tflm_signal_noise_estimate_u32")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "subtraction" in name])
def test_noise_is_subtracted_as_recorded(name):
    arrays = RECORDED.arrays(name)
    options = dict(zip(NOISE, arrays["params"].view(np.int32).tolist()))
    kept, again = np.zeros((2, arrays["input"].shape[1]), np.uint32)
    for x, output, noise in zip(arrays["input"], arrays["output"], arrays["noise"]):
        own = {"input": x, "in_place": True, **options}
        got = cmsis.tflm_signal_subtraction_u32(noise_estimate=kept, **own)
        estimate = cmsis.tflm_signal_noise_estimate_u32(noise_estimate=again, **own)
        for values, want in ((got, output), (estimate, noise), (kept, noise), (again, noise)):
            assert np.array_equal(values, want)


def test_bits_that_no_core_shifts_by_leave_nothing():
    x = np.array([2**60], np.uint64)
    for bits, want in ((0, 2**30), (31, 0), (32, 0), (-1, 0), (256, 2**30), (-255, 2**29)):
        got = cmsis.tflm_signal_square_root_u64(input=x, scale_bits=np.array([bits], np.int32))
        assert got[0] == want, bits


def test_a_filter_outside_of_its_input_reads_zeros():
    ones = np.ones(4, np.int16)
    bounds = {"frequency_starts": [-1, 0], "weight_starts": [0, 3], "widths": [2, 5]}
    got = cmsis.tflm_signal_filter_bank_u32(
        input=np.array([5, 7, 11, 13], np.uint32),
        weights=ones,
        unweights=2 * ones,
        num_channels=1,
        **{name: np.array(values, np.int16) for name, values in bounds.items()},
    )
    assert got.tolist() == [2 * 5 + 5]


def test_transforms_that_the_device_has_not_are_refused():
    for n in (2, 5, 14, 32770):
        table = np.zeros((max(n // 2, 1), 2), np.int16)
        half = np.zeros(((len(table) + 1) // 2, 2), np.int16)
        with pytest.raises(Refused, match="fft_length must be"):
            cmsis.tflm_signal_rfft_s16(
                input=np.zeros((1, 2), np.int16), fft_length=n, twiddles=table, super_twiddles=half
            )


# ---- tables ----


def test_cosine_and_sine_are_those_of_a_good_libm():
    for angle in (0.0, -0.0, 1e-9, np.pi / 3, -np.pi / 2, np.pi, 2 * np.pi, -3 * np.pi / 4):
        cosine, sine = compute_cosine_sine(angle)
        assert abs(cosine - np.cos(angle)) <= np.spacing(abs(cosine))
        assert abs(sine - np.sin(angle)) <= np.spacing(abs(sine))
        assert np.signbit(sine) == np.signbit(np.sin(angle))


def test_the_table_of_logarithms_is_that_of_its_formula():
    header = ROOT / "csrc" / "s" / "signal" / "filter_bank.h"
    table = header.read_text(encoding="utf-8").split("s_log_u16[129] = {")[1].split("}")[0]
    found = np.array(
        [int(number) for number in table.replace("\n", "").split(",") if number.strip()]
    )
    i = np.arange(129) / 128
    assert np.array_equal(found, np.round(65536 * (np.log2(1 + i) - i)))


# ---- frames ----


class Queue:
    """Frames of a stream as a queue makes them."""

    def __init__(self, size, step, start):
        self.size, self.step, self.waiting = size, step, list(start)

    def push(self, x, old):
        """Return the next frame, `old` if there is none yet, and whether it is one."""
        self.waiting += list(x)
        if len(self.waiting) < self.size:
            return old, False
        frame = self.waiting[: self.size]
        del self.waiting[: self.step]
        return frame, True


@pytest.mark.oracle("tflm_signal_frames_s16", "tflm_signal_valid_b8")
@pytest.mark.parametrize(("size", "step"), [(12, 4), (10, 4), (4, 4), (3, 4), (9, 2), (1, 7)])
@pytest.mark.parametrize("frames", [1, 3])
def test_frames_are_those_of_a_queue(size, step, frames):
    rng = np.random.default_rng(1)
    memory = -(-size // step) * step
    own = {"wait": memory // step - 1, "every": 1, "n_frames": frames}
    kept, count, again = np.zeros((2, memory), np.int16), *np.zeros((2, 1), np.int32)
    queues = [Queue(size, step, ()) for _ in range(2)]
    for _ in range(7):
        x = rng.integers(-(2**15), 2**15, (2, frames * step), np.int16)
        got = cmsis.tflm_signal_frames_s16(
            **{"input": x, "kept": kept, "count": count, "in_place": True},
            **{"frame_size": size, "frame_step": step, "fill": 0, **own},
        )
        valid = cmsis.tflm_signal_valid_b8(count=again, in_place=True, **own)
        want = [
            [q.push(part, [0] * size) for part in row.reshape(frames, step)]
            for q, row in zip(queues, x)
        ]
        assert got.tolist() == [[frame for frame, _ in row] for row in want]
        assert valid[0] == all(is_there for row in want for _, is_there in row)


@pytest.mark.parametrize(("left", "right"), [(0, 0), (2, 0), (0, 2), (3, 1)])
@pytest.mark.parametrize("every", [1, 2, 3])
def test_a_stack_is_that_of_a_queue_that_starts_with_copies(left, right, every):
    if every > left + right + 1:
        pytest.skip("the device stops")
    rng, channels = np.random.default_rng(2), 3
    size = channels * (left + right + 1)
    kept = np.zeros((1, size + (every - 1) * channels), np.int16)
    count, queue, old = np.zeros(1, np.int32), None, [0] * size
    for _ in range(12):
        x = rng.integers(-(2**15), 2**15, channels, np.int16)
        got = cmsis.tflm_signal_frames_s16(
            **{"input": x[None], "kept": kept, "count": count, "in_place": True, "n_frames": 1},
            **{
                "frame_size": size,
                "frame_step": channels,
                "wait": right,
                "every": every,
                "fill": 1,
            },
        )
        queue = queue or Queue(size, every * channels, list(x) * left)
        old, _ = queue.push(x, old)
        assert got.ravel().tolist() == [int(value) for value in old]


# ---- files that are wrong ----


@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_errors_or_run(name, tmp_path):
    path, whole = tmp_path / "damaged.tflite", RECORDED.arrays(name)["file"].tobytes()
    for seed in range(40):
        path.write_bytes(changed(whole, np.random.default_rng(seed)))
        with suppress(Error):
            found = qemu_nn.load(path)
            lead = (1, 1) if found.graph.states else (1,)
            inputs = found.graph.inputs
            found.session().run({t.name: np.ones((*lead, *t.shape), t.dtype) for t in inputs})


# ---- options ----


def options(**numbers):
    """Return a FlexBuffers map of 32-bit numbers."""
    names = sorted(numbers)
    data = b"".join(name.encode() + b"\0" for name in names)
    starts = np.cumsum([0, *(len(name) + 1 for name in names)])
    data += b"\0" * (-len(data) % 4) + struct.pack("<I", len(names))
    keys = len(data)
    for index, start in enumerate(starts[:-1]):
        data += struct.pack("<I", keys + 4 * index - start)
    data += struct.pack("<III", len(data) - keys, 4, len(names))
    at = len(data)
    data += b"".join(struct.pack("<i", numbers[name]) for name in names)
    data += bytes([1 << 2 | 2] * len(names))
    data += b"\0" * (-len(data) % 4)
    return data + struct.pack("<I", len(data) - at) + bytes([9 << 2 | 2, 4])


def test_options_are_read_with_their_signs():
    assert OptionMap(options(a=-5, step=70000)).numbers == {"a": -5, "step": 70000}
    assert OptionMap(options()).numbers == {}


@pytest.mark.parametrize("seed", range(20))
def test_damaged_options_are_errors(seed):
    rng, whole = np.random.default_rng(seed), options(frame_size=480, frame_step=160, prefill=1)
    for _ in range(300):
        data = bytearray(whole[: rng.integers(len(whole) + 1)] if rng.integers(4) == 0 else whole)
        for at in rng.integers(0, max(len(data), 1), 3 if data else 0):
            data[at] = rng.choice([0, 1, 127, 255, rng.integers(256)])
        try:
            found = OptionMap(bytes(data)).numbers
        except ModelError:
            continue
        assert len(found) <= 64


def rewritten(name, folder, **changed):
    """Return a recorded file with other options, by name."""
    data = RECORDED.arrays(name)["file"].tobytes()
    operator = read(RECORDED.write(name, folder)).operators[0]
    old = operator.table.numbers("CustomOptions").tobytes()
    new = bytearray(old)
    names = sorted(OptionMap(old).numbers)
    width = 1 << (old[-2] & 3)
    start = len(old) - 2 - old[-1] - old[-2 - old[-1]]
    for option, value in changed.items():
        at = start + names.index(option) * width
        new[at : at + width] = int(value).to_bytes(width, "little", signed=True)
    assert data.count(old) == 1
    path = folder / "changed.tflite"
    path.write_bytes(data.replace(old, bytes(new)))
    return path


REFUSED = {
    "no_step": ("signal_framer_prefill", {"frame_step": 0}, "frame_step is 0; it must be 1 to 160"),
    "odd_step": ("signal_framer_prefill", {"frame_step": 7}, "a multiple of its frame_step, 7"),
    "short": ("signal_framer_prefill", {"frame_size": 100}, "prefill has 100 - 160 elements"),
    "size": (
        "signal_framer_prefill",
        {"frame_size": 481},
        r"output, .* is \[1, 1, 480\]; it must be",
    ),
    "delay": ("signal_delay", {"delay_length": -1}, "delay_length is -1; it must be 0 to"),
    "far": ("signal_window", {"shift": 32}, "shift is 32; it must be 0 to 31"),
    "back": ("signal_window", {"shift": -1}, "shift is -1; it must be 0 to 31"),
    "channels": ("signal_filter_bank", {"num_channels": 7}, r"is \[6\]; it must be \[7\]"),
    "fft": (
        "signal_rfft_int16_64",
        {"fft_length": 62},
        r"its input is \[64\] and its output \[66\]",
    ),
    "type": (
        "signal_rfft_int16_64",
        {"T": 9},
        "T is 9; it must be the number of INT16, INT32, FLOAT32",
    ),
    "other_type": ("signal_rfft_int16_64", {"T": 2}, "is INT16; it must be INT32"),
    "gains": ("signal_pcan", {"snr_shift": 64}, "snr_shift is 64; it must be 0 to 63"),
    "stack": ("signal_stacker", {"stacker_step": 5}, "stacker_step is 5; it must be 1 to 4"),
    "overlap": ("signal_overlap_add_int16", {"frame_step": 13}, "frame_step is 13; it must be"),
}


@pytest.mark.parametrize(("name", "changed", "words"), REFUSED.values(), ids=REFUSED)
def test_what_the_device_cannot_is_refused(name, changed, words, tmp_path):
    with pytest.raises(ModelError, match=words):
        qemu_nn.load(rewritten(name, tmp_path, **changed))


def test_a_custom_operator_is_not_the_builtin_one_of_its_name(tmp_path):
    data = RECORDED.arrays("signal_delay")["file"].tobytes()
    assert data.count(b"SignalDelay") == 1
    path = tmp_path / "named.tflite"
    path.write_bytes(data.replace(b"SignalDelay", b"EXPAND_DIMS"))
    words = r"CUSTOM 'EXPAND_DIMS' \(operator 0\): the operator is not supported"
    with pytest.raises(ModelError, match=words):
        qemu_nn.load(path)
