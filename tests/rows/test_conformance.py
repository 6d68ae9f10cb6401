"""The conformance set: its arrays, its digests, and runs that must find a wrong byte."""

import hashlib
import json
import lzma
import math
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import exported
import links
import numpy as np
import pytest
from click.testing import CliRunner

from qemu_nn.api import conformance as sets
from qemu_nn.api import conformance_device as on_devices
from qemu_nn.cli.main import main
from qemu_nn.device.client import LayerRefused
from qemu_nn.errors import Error
from qemu_nn.firmware.boards import BOARDS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import Target, profile
from qemu_nn.testing.conformance import __main__ as maintaining
from qemu_nn.testing.conformance import cases as conformance
from qemu_nn.testing.conformance.draws import draw_missing

EVERY = conformance.load()

#: Some calls of every family, and some networks.
SAMPLE = EVERY[::37]

ADVICE = "run `python -m qemu_nn.testing.conformance --write`"


def call(*arguments):
    """Return exit code and output of the command."""
    result = CliRunner().invoke(main, ["conformance", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


# ---- the set ----


def outputs_of_splitmix64(seed, count):
    """Return the first outputs, in Python's integers, as docs/conformance.md states them."""
    state, found, mask = seed, [], 2**64 - 1
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        found.append(z ^ z >> 31)
    return found


def elements(rule, seed, count):
    """Return the elements of a rule, as docs/conformance.md states it."""
    random = outputs_of_splitmix64(seed, count)
    found = []
    for i in range(count):
        place = i // rule.get("runs", 1)
        place %= rule.get("period", place + 1)
        if "cycle" in rule:
            found.append(rule["cycle"][place % len(rule["cycle"])])
        elif "values" in rule:
            found.append(rule["values"][random[place] % len(rule["values"])])
        else:
            found.append(rule["low"] + random[place] % (rule["high"] - rule["low"] + 1))
    return found


def test_the_generator_is_splitmix64():
    first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert outputs_of_splitmix64(0, 3) == first
    for seed in (0, 1234567, 2**63 + 5):
        want = outputs_of_splitmix64(seed, 50)
        assert conformance.splitmix64(seed, np.arange(50)).tolist() == want


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_arrays_follow_from_their_rules(case):
    named = {**case.inputs, **case.states}
    for one in case.calls:
        named.update((f"{one.name}.{name}", values) for name, values in one.arrays.items())
    arrays = case.arrays()
    for at, (name, values) in enumerate(named.items()):
        want = elements(values.rule, 65536 * case.number + at, math.prod(values.shape))
        assert arrays[name].ravel().tolist() == want
        assert (arrays[name].dtype, arrays[name].shape) == (values.type, values.shape)


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_the_digests_are_those_of_the_plain_rows(case):
    assert conformance.expect(case) == case


def test_a_digest_is_the_sha256_of_little_endian_outputs():
    case = replace(SAMPLE[0], steps=2, outputs=("a", "b"))
    a, b = np.array([[1, 2], [3, 4]], ">i2"), np.array([[-1], [5]], np.int8)
    want = hashlib.sha256(b"\1\0\2\0\xff" + b"\3\0\4\0\5").hexdigest()
    assert conformance.compute_digest({"a": a, "b": b}, case) == want


def test_the_set_has_every_function_of_integers_and_every_network():
    assert [case.name for case in draw_missing(EVERY)] == [], ADVICE
    assert sum(len(case.calls) > 1 for case in EVERY) == 60
    assert len({case.number for case in EVERY}) == len({case.name for case in EVERY}) == len(EVERY)


def is_alike(one, other):
    """True if the profiles have the same plain rows: those of Cortex-M0 and M3 from 5.9.0 on."""
    paths = {one.path, other.path}
    return paths == {"m0", "scalar"} and one.rounding == other.rounding and one.cmsis != "5.6.0"


def test_every_profile_has_cases_and_the_set_tells_profiles_of_a_release_apart():
    for at, own in enumerate(conformance.PROFILES):
        assert all(case.letters[at] != conformance.UNKNOWN for case in EVERY), ADVICE
        mine = [case for case in EVERY if case.get_expected(own)]
        assert len(mine) > 300, own
        for other_at, other in enumerate(conformance.PROFILES[:at]):
            if other.cmsis == own.cmsis and not is_alike(own, other):
                assert any(c.letters[at] != c.letters[other_at] for c in mine), (own, other)


def test_channels_of_few_channel_layers_share_scales():
    """Require the kind of layer whose wrong bytes uniform noise did not find."""
    shared = set()
    for case in EVERY:
        for one in case.calls:
            if "depthwise_conv" in one.function and "multiplier" in one.arrays:
                own = case.arrays()
                pairs = zip(own[f"{one.name}.multiplier"], own[f"{one.name}.shift"])
                channels = one.shape[-1]
                if len(set(pairs)) < channels:
                    shared.add(channels)
    assert {2, 4, 8} <= shared


# ---- on this host ----


def test_planned_runs_are_the_same_under_every_cap():
    found = sets.run_on_host(SAMPLE)
    assert found.same
    assert [place.where for place in found.places] == list(sets.caps())
    assert found.places[0].runs == sum(len(case.profiles) for case in SAMPLE)


def test_every_fast_row_of_integers_is_the_best_one_for_a_call(monkeypatch):
    """Require a case for each row: nobody would find a fault of the others."""
    chosen, computing = set(), set()
    for cap in sets.caps():
        monkeypatch.setenv(kernels.CAP, cap)
        for case in EVERY:
            for own, one in product(case.profiles[::3], case.calls):
                function = one.declared
                rows = kernels.list_rows(function.op, function.type)
                fields = function.struct_values(one.scalars)
                chosen.add(kernels.choose(rows, own, kernels.make_params(rows[0].op, own, fields)))
                computing.update(rows)
    fast = {row for row in computing if row.kind == "fast" and row.runs_here()}
    assert sorted(map(str, fast - chosen)) == []


@pytest.fixture
def flipped_bit(monkeypatch):
    """Let a fast row pack its weights with one wrong bit."""
    pack = kernels.Row.pack

    def packed(row, params, weights, bias):
        found = pack(row, params, weights, bias)
        if found is not None and row.op.name == "convolve_wrapper":
            found[0] ^= 64
        return found

    monkeypatch.setattr(kernels.Row, "pack", packed)


needs_fast_rows = pytest.mark.skipif(len(sets.caps()) < 2, reason="has portable rows alone")


@needs_fast_rows
def test_a_wrong_bit_of_a_fast_row_is_found(flipped_bit):
    found = sets.run_on_host(sets.select(["arm_convolve_wrapper_s8-*", "arm_relu_q7-*"]))
    assert not found.same
    names = {one.case for place in found.places for one in place.differences}
    assert names
    assert all(name.startswith("arm_convolve_wrapper_s8-") for name in names)
    code, text = call("arm_convolve_wrapper_s8-*")
    assert code == 1
    assert "DIFFERS" in text
    assert min(names) in text


def test_the_command_says_same_as_text_and_json():
    code, text = call("arm_relu_q7-*", "network-residual-1", "--cap", "none")
    assert code == 0
    assert "same: all outputs are those of the set, to the bit" in text
    code, text = call("arm_relu_q7-1", "--json")
    assert code == 0
    said = json.loads(text)
    assert said["same"]
    assert [place["where"] for place in said["places"]] == list(sets.caps())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["arm_relu_q8-1"], "no case of the conformance set is named 'arm_relu_q8-1'"),
        (["--cap", "avx3"], "this host cannot run 'avx3'"),
        (["--on", "qemu:m4", "--cap", "none"], "leave --cap and --export out"),
        (["--on", "qemu:m99"], "no emulated board 'm99'"),
        (["--on", "tcp:localhost:1", "--cmsis", "7.0.0"], "leave --cmsis and --rounding out"),
        (["--export", "parts"], "give both, or neither"),
        (["--make", "CFLAGS=-Os"], "give --on WHERE, too"),
        (["--cmsis", "7.0.0"], "give --on WHERE, too"),
    ],
)
def test_a_fault_of_the_user_is_a_sentence(arguments, words):
    code, text = call(*arguments)
    assert code == 2
    assert words in text
    assert "Traceback" not in text


# ---- as files ----


def test_a_shown_case_has_its_digest_by_profile():
    code, text = call("arm_convolve_s8-1", "--show")
    assert code == 0
    said, (case,) = json.loads(text), sets.select(["arm_convolve_s8-1"])
    assert said["sha256"]["7.0.0 dsp double"] == case.get_expected(profile("m4", "7.0.0"))
    assert said["calls"][0]["scalars"] == dict(case.calls[0].scalars)


@pytest.mark.parametrize(
    "name", ["arm_svdf_s8-1", "network-legacy_q7-1", "arm_fully_connected_q15-2"]
)
def test_dumped_outputs_have_the_digests_of_the_set(tmp_path, name):
    assert call(name, "--dump", tmp_path)[0] == 0
    said = json.loads((tmp_path / f"{name}.json").read_text())
    (case,) = sets.select([name])
    with np.load(tmp_path / f"{name}.npz") as arrays:
        for letter, profiles in said["letters"].items():
            own = {n: arrays[f"expected.{n}.{letter}"] for n in case.outputs}
            assert {said["sha256"][each] for each in profiles} == {
                conformance.compute_digest(own, case)
            }
    text = (tmp_path / f"{name}.h").read_text()
    assert f"#define {case.calls[0].name}_{next(iter(case.calls[0].scalars))} (" in text


# ---- the maintainers' command ----


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Write a set of two cases, one of which has a wrong digest."""
    wrong = replace(SAMPLE[1], digests=("0" * 64, *SAMPLE[1].digests[1:]))
    path = tmp_path / "set.json.xz"
    monkeypatch.setattr(maintaining, "DATA", path)
    monkeypatch.setattr(maintaining, "load", lambda: read(path))
    monkeypatch.setattr(maintaining, "draw_missing", lambda cases: [SAMPLE[2]])
    maintaining.write([SAMPLE[0], wrong])
    return path


def read(path):
    return conformance.read(json.loads(lzma.decompress(path.read_bytes())))


def test_digests_that_differ_are_not_overwritten(stored, capsys):
    before = stored.read_bytes()
    assert maintaining.main(["--write"]) == 1
    assert stored.read_bytes() == before
    assert SAMPLE[1].name in capsys.readouterr().out


def test_a_profile_that_the_file_lacks_is_added_without_a_question(stored):
    content = json.loads(lzma.decompress(stored.read_bytes()))
    content["profiles"].pop()
    for case in content["cases"]:
        case["letters"] = case["letters"][:-1]
    content["cases"].pop()
    stored.write_bytes(lzma.compress(json.dumps(content).encode()))
    assert read(stored)[0].letters.endswith(conformance.UNKNOWN)
    assert read(stored)[0].get_expected(conformance.PROFILES[-1]) is None
    assert maintaining.main(["--write"]) == 0
    assert read(stored) == (SAMPLE[0], SAMPLE[2])


def test_digests_are_overwritten_and_cases_added_on_request(stored):
    assert maintaining.main(["--write", "--replace"]) == 0
    assert read(stored) == (*SAMPLE[:3],)
    assert maintaining.main([]) == 0


# ---- on devices ----


def test_parts_fit_and_hold_every_case_that_firmware_can_call():
    own = profile("m4", "7.0.0")
    parts = list(on_devices.parts(EVERY, own))
    names = [case.name for part in parts for case in part]
    assert len(names) == len(set(names))
    left = {case.name.rpartition("-")[0] for case in EVERY if case.get_expected(own)} - {
        name.rpartition("-")[0] for name in names
    }
    assert left
    assert all(f.startswith(("arm_nn_", "arm_elementwise_mul_acc", "esp_")) for f in left)
    assert all(len(on_devices.joined(part).inputs) < 256 for part in parts)


@pytest.mark.compiles
@exported.needs("pc")
def test_a_program_of_this_host_is_the_same_and_a_wrong_weight_is_found(tmp_path):
    names = ["network-depthwise_twice-*", "arm_convolve_s8-*"]
    cases = sets.select(names)
    (folder,) = on_devices.export_parts(cases, tmp_path / "parts", Target("m4", cmsis="7.0.0"))
    where = f"command:{links.make(folder)}"
    code, text = call(*names, "--on", where)
    assert (code, "stand-in" in text) == (0, True), text
    changed = range(1, 9)
    for number in changed:
        exported.flip(folder, f"arm_convolve_s8_{number}_result_wt")
    where = f"command:{links.make(folder)}"
    found = {one.case for one in on_devices.run_on_device(cases, where).places[0].differences}
    assert found
    assert found <= {f"arm_convolve_s8-{number}" for number in changed}
    with pytest.raises(Error, match="is not among these cases"):
        on_devices.run_on_device(sets.select(["arm_relu_q7-*"]), where)


@pytest.mark.compiles
@exported.needs("m4")
@pytest.mark.parametrize("board", ["m4", "m55"])
def test_an_emulated_board_is_the_same(board):
    cases = sets.select(["network-*-1", "arm_svdf_s8-*"])
    found = on_devices.run_on_device(cases, f"qemu:{board}")
    assert found.same
    core = BOARDS[board].core
    for place, own in zip(found.places, (profile(core, "5.9.0"), profile(core, "7.0.0"))):
        assert place.runs == sum(case.get_expected(own) is not None for case in cases) > 1


class Refusing:
    """A device of given cases, whose function refuses the arguments of some."""

    network = SimpleNamespace(functions="CMSIS-NN")

    def __init__(self, cases, refused):
        self.cases, self.refused = cases, refused

    def begin_session(self):
        """See Device."""

    def run(self, content, first, layers, layer_done):
        """See Device."""
        if self.refused & {case.name for case in self.cases}:
            raise LayerRefused("layer 7 refuses its arguments")
        own = profile("m4", "7.0.0")
        outputs = [(conformance.compute_plain_outputs(c, own), c) for c in self.cases]
        return None, [found[name].tobytes() for found, case in outputs for name in case.outputs]


def test_a_case_whose_function_refuses_its_arguments_differs_alone(monkeypatch):
    cases = sets.select(["arm_convolve_s8-*"])
    refused = {"arm_convolve_s8-5", "arm_convolve_s8-18"}
    built = []

    @contextmanager
    def reached(network, *_):
        names = {node.name.partition(".")[0] for node in network.graph.nodes}
        built.append(names)
        yield Refusing([case for case in cases if case.name in names], refused)

    monkeypatch.setattr(on_devices, "reached", reached)
    found = on_devices.run_on_device(cases, "qemu:m4", Target(cmsis="7.0.0"))
    assert {one.case for one in found.places[0].differences} == refused
    assert found.places[0].functions == "CMSIS-NN"
    assert len(built) < 2 * len(cases)


@pytest.mark.parametrize("cmsis", ["7.0.0", "9.9.9"])
def test_a_device_with_another_network_is_a_sentence(monkeypatch, cmsis):
    said = SimpleNamespace(network="digits", model="0" * 64, functions="CMSIS-NN")
    said.cmsis, said.path, said.rounding = cmsis, "dsp", "double"
    other = SimpleNamespace(network=said, begin_session=lambda: None)
    monkeypatch.setattr(on_devices, "reached", lambda *_: nullcontext(other))
    with pytest.raises(Error, match=f"'digits', which is not among these cases for CMSIS {cmsis}"):
        on_devices.run_on_device(SAMPLE, "serial:/dev/ttyACM0")
