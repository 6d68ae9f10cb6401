"""Devices as people write them, and whether a network fits into a chip."""

import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner
from float_classifiers import float_network

import qemu_nn
from qemu_nn import chips, cmsis, targets
from qemu_nn.analysis.fit import Fit
from qemu_nn.api import golden as pipeline
from qemu_nn.chips import CHIPS
from qemu_nn.cli.main import main
from qemu_nn.errors import Error

WRITTEN = {
    "m4": "cortex-m4",
    "M55": "cortex-m55",
    "cortex-m4f": "cortex-m4",
    "Cortex-M7": "cortex-m7",
    " Cortex M33 ": "cortex-m33",
    "CM0+": "cortex-m0+",
    "m0plus": "cortex-m0plus",
    "cortex_m3": "cortex-m3",
    "dsp": "dsp",
    "M0": "m0",
    "stm32f411": "cortex-m4",
    "STM32F411RET6": "cortex-m4",
    "stm32f103c8t6": "cortex-m3",
    "nRF52840-DK": "cortex-m4",
    "i.MX RT1062": "cortex-m7",
    "MIMXRT1062DVL6": "cortex-m7",
    "ATSAMD51J20": "cortex-m4",
    "AT91SAM3X8E": "cortex-m3",
    "Ensemble E3": "cortex-m55",
    "nucleo-f411re": "cortex-m4",
    "NUCLEO-H743ZI2": "cortex-m7",
    "stm32f746g-disco": "cortex-m7",
    "STM32F4DISCOVERY": "cortex-m4",
    "nano33ble": "cortex-m4",
    "Arduino Nano 33 BLE Sense": "cortex-m4",
    "B-L475E-IOT01A": "cortex-m4",
    "xiao-nrf52840": "cortex-m4",
    "Raspberry Pi Pico": "cortex-m0+",
    "pico2": "cortex-m33",
    "micro:bit v2": "cortex-m4",
    "lpcxpresso55s69": "cortex-m33",
    "MIMXRT1060-EVKB": "cortex-m7",
    "STM32N6570-DK": "cortex-m55",
}


REAL = np.random.default_rng(0).normal(size=(4, 8, 8, 1))


def demo():
    return pipeline.example()[0]


def told(*arguments):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert isinstance(result.exception, (SystemExit, type(None))), result.exception
    return result.exit_code, result.output


@pytest.fixture
def model(tmp_path):
    demo().save(tmp_path / "digits.qnz")
    return tmp_path / "digits.qnz"


@pytest.mark.parametrize("word", WRITTEN)
def test_a_device_is_known_as_people_write_it(word):
    assert targets.resolve(word) == WRITTEN[word]


def test_every_core_and_path_keeps_its_name():
    for name in (*targets.CORES, *targets.PATHS):
        assert targets.resolve(name) == targets.resolve(name.upper()) == name


def test_every_chip_is_whole_and_has_a_core():
    assert len(CHIPS) >= 40
    for name, chip in CHIPS.items():
        assert targets.chip(name) is targets.chip(name.upper()) is chip
        assert name.isalnum()
        assert name == name.lower()
        assert chip.core in (*targets.CORES, *targets.ESP_CHIPS)
        assert targets.resolve(name) == chip.core
        assert chip.flash in (0, *range(16, 8193))
        assert 8 <= chip.block <= chip.ram <= 16384
        assert chip.vendor
        assert chip.source
        assert chip.cross_check
        assert 16 <= chip.clock <= 1000
    assert {chip.vendor for chip in CHIPS.values()} >= {"ST", "NXP", "Nordic", "Renesas", "TI"}


def test_the_longest_name_of_a_chip_wins(monkeypatch):
    short, long = CHIPS["samd21"], CHIPS["samd51"]
    monkeypatch.setattr(chips, "CHIPS", {"cc26": short, "cc2652": long})
    assert chips.find_named("CC2652R1F") is long
    assert chips.find_named("cc2640") is short


def test_parts_and_modules_of_an_esp32_are_known():
    names = ("ESP32-D0WDQ6", "esp32-pico-d4", "ESP32-S3-WROOM-1-N16R8", "esp32-c6-wroom-1")
    found = [chips.find_named(name).name for name in names]
    assert found == ["esp32", "esp32", "esp32s3", "esp32c6"]


UNKNOWN = {
    "m44": r"have: cortex-m0, .*; did you mean cortex-m4\?$",
    "stm32f412": "did you mean .*stm32f411",
    "esp32s31": "'esp32s31' is no target: nobody read or ran the kernels of ESP-NN there",
    "esp32s4": "did you mean esp32s2 or esp32s3",
    "ESP32-S33": "did you mean esp32s3",
    "ESP32-H2": "'ESP32-H2' is no target: its memory is not in the table; .* give that",
    "MAX78000": "'MAX78000' is no target: its CNN accelerator",
    "ethos-u55": "'ethos-u55' is no target: it names no size of an Ethos-U; give one of 55-32",
    "stm32n6-npu": "'stm32n6-npu' is no target: its NPU, Neural-ART",
    "heliaCORE": "'heliaCORE' is no target: Ambiq's heliaCORE has kernels of its own",
    "f411": "did you mean stm32f411",
    "l476rg": "did you mean stm32l476 or stm32l475",
    "nrf840": "did you mean nrf52840",
    "samd20": "did you mean samd21",
    "chip": "no core or chip 'chip'; have: .*chip or board of chips.CHIPS$",
    "": "no core or chip ''; have: .*chip or board of chips.CHIPS$",
}


@pytest.mark.parametrize("word", UNKNOWN)
def test_an_unknown_device_is_refused_with_what_is_close(word):
    with pytest.raises(Error, match=UNKNOWN[word]):
        targets.resolve(word)


def test_names_that_are_close_are_told_everywhere():
    network = demo()
    close = {
        "nearest": lambda: network.session(target=qemu_nn.Target(rounding="neares")),
        "7.0.0": lambda: network.session(target=qemu_nn.Target(cmsis="7.0")),
        "reference": lambda: network.session(target=qemu_nn.Target(kernels="referenc")),
        "2026-08": lambda: network.session(target=qemu_nn.Target(tflm="2026-8")),
        "ref": lambda: network.session(variant="reff"),
        "stm32f411": lambda: network.fit("stm32f41"),
        "arm_relu_q7": lambda: cmsis.buffer_size("arm_rellu_q7", {}),
        "minmax": lambda: qemu_nn.quantize(float_network(), REAL, method="minmx", scheme="power2"),
        "affine": lambda: qemu_nn.quantize(float_network(), REAL, scheme="afine"),
    }
    for name, call in close.items():
        with pytest.raises(Error, match="did you mean") as told:
            call()
        assert name in str(told.value).partition("did you mean")[2], name


def test_a_chip_is_a_target_of_every_call():
    network = demo()
    assert network.profile("stm32f411") == network.profile("cortex-m4")
    assert network.profile("rp2040") == network.profile("cortex-m0+") != network.profile("m4")
    assert pipeline.describe(network, "nrf52840").facts["profile"] == "CMSIS 5.9.0, dsp, nearest"


def test_fit_adds_up_what_firmware_has(tmp_path):
    network = demo()
    fit = network.fit("stm32f411")
    summary = pipeline.describe(network, "stm32f411").facts
    assert fit.fits
    assert fit.weights == summary["weight_bytes"]
    assert fit.ram == summary["activation_bytes"] + 4096
    flash, ram = fit.table().records()
    assert (flash["needed"], flash["of_chip"], flash["fits"]) == (fit.weights, 512 * 1024, True)
    assert ram["left"] == 128 * 1024 - fit.ram
    assert "digits fits into ST stm32f411, Cortex-M4\n" in fit.text()
    assert "stm32f411: DS10314, cross-checked with probe-rs" in fit.text()
    assert "code is not counted" in fit.text()
    assert json.loads(fit.json())["fits"] is True
    assert fit.csv().splitlines()[2].startswith('"RAM",')
    assert "<table>" in fit._repr_html_()


def test_fit_turns_at_the_last_byte():
    network = demo()
    left = network.fit("mspm0g3507", stack=0).table().records()[1]["left"]
    assert network.fit("mspm0g3507", stack=left).fits
    full = network.fit("mspm0g3507", stack=left + 1)
    assert not full.fits
    assert full.table().records()[1]["fits"] is False
    assert "does not fit into" in full.text()


def test_an_arena_lies_in_one_block():
    network = demo()
    table = network.fit("lpc1768").table()
    assert [row["memory"] for row in table.records()] == ["flash", "RAM", "block"]
    block = table.records()[2]
    assert (block["needed"], block["of_chip"]) == (network.fit("lpc1768").buffers["arena"], 32768)
    large = Fit("net", CHIPS["lpc1768"], 1, {"arena": 32768, "in": 9}, 0)
    assert large.fits
    larger = dataclasses.replace(large, buffers={"arena": 32769, "in": 9})
    assert [row["fits"] for row in larger.table().records()] == [True, True, False]
    assert not larger.fits
    assert "RAM is all blocks" in larger.text()


def test_flash_decides_too_unless_it_is_outside(monkeypatch):
    small = qemu_nn.chips.Chip("small", "X", "cortex-m4", 1, 64, 64, 80, "data sheet", "")
    monkeypatch.setitem(CHIPS, "small", small)
    assert not demo().fit("small").fits
    outside = demo().fit("rp2040")
    assert outside.fits
    assert outside.table().cells()[0]["fits"] == "outside"
    assert outside.table().records()[0]["fits"] is None


def test_the_command_line_says_whether_it_fits(model, tmp_path):
    code, output = told("info", model, "--fit", "rp2040")
    assert code == 0
    assert "CMSIS 5.9.0, m0, nearest" in output
    assert "fits into" in output
    code, output = told("info", model, "--fit", "stm32f411", "--stack", 200000)
    assert code == 1
    assert "does not fit into" in output
    code, output = told("info", model, "--fit", "stm32f411", "--target", "m3", "--json")
    assert code == 0
    assert json.loads(output)["profile"] == "CMSIS 5.9.0, scalar, nearest"
    assert json.loads(output)["fit"]["chip"] == "stm32f411"
    code, output = told("info", model, "--fit", "stm32f41")
    assert code == 2
    assert "did you mean stm32f411" in output


def test_fit_is_asked_for_beside_cycles_too(model):
    code, output = told("info", model, "--cycles", "--fit", "lpc1768", "--stack", 64 * 1024)
    assert code == 1
    assert "cortex-m3" in output
    assert "does not fit into NXP lpc1768" in output
    code, output = told("info", model, "--cycles", "--fit", "stm32f411", "--json")
    assert code == 0
    assert json.loads(output)["device"].startswith("cortex-m4")
    assert json.loads(output)["fit"]["cross_check"] == "probe-rs"
    board = ("--board", "nucleo-l4r5zi")
    code, output = told("info", model, "--cycles", "--fit", "stm32f746", *board)
    assert (code, "is cortex-m4, not cortex-m7" in output) == (2, True)
    assert told("info", model, "--cycles", "--fit", "stm32l4r5", *board)[0] == 0


def test_a_stack_without_a_chip_is_refused(model, tmp_path):
    for verb in (("info", model), ("export", model, "-o", tmp_path / "out")):
        code, output = told(*verb, "--stack", 5)
        assert (code, output) == (2, "Error: --stack needs --fit: add it\n")
    assert not (tmp_path / "out").exists()


def test_firmware_is_written_for_a_chip(model, tmp_path):
    pytest.importorskip("jinja2", reason="the export of C needs jinja2")
    code, output = told("export", model, "-o", tmp_path / "a", "--target", "nrf52840")
    assert code == 0
    written = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert written["profile"]["core"] == "cortex-m4"
    code, output = told("export", model, "-o", tmp_path / "b", "--fit", "rp2040")
    assert code == 0
    assert "outside" in output
    written = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert written["profile"]["path"] == "m0"
    code, output = told("export", model, "-o", tmp_path / "c", "--fit", "rp2040", "--stack", 10**6)
    assert code == 1
    assert "does not fit" in output


def test_goldens_of_a_chip_name_its_core(tmp_path):
    network, x, _ = pipeline.example()
    pipeline.golden(network, x[:1], tmp_path / "goldens", "stm32f746")
    manifest = json.loads((tmp_path / "goldens" / "manifest.json").read_text())
    assert manifest["profile"]["core"] == "cortex-m7"


def test_a_float_network_has_to_be_quantized_first(tmp_path):
    float_network().save(tmp_path / "net.qnz")
    code, output = told("info", tmp_path / "net.qnz", "--fit", "rp2040")
    assert code == 2
    assert "quantize it first" in output


def test_chips_are_listed():
    code, output = told("chips", "--json")
    listed = json.loads(output)
    assert code == 0
    assert [row["chip"] for row in listed] == list(CHIPS)
    assert listed[0]["ram_kib"] == CHIPS[listed[0]["chip"]].ram
    assert max(map(len, told("chips")[1].splitlines())) <= 144


# ---- chips of one's own, boards, several chips ----


def test_every_board_has_a_chip_of_the_table():
    for board, chip in chips.BOARDS.items():
        assert targets.chip(board) is targets.chip(board.upper()) is CHIPS[chip]


def test_figures_are_a_chip():
    own = targets.chip("flash=512K,ram=128K")
    assert (own.core, own.flash, own.ram, own.block, own.clock) == ("cortex-m4", 512, 128, 128, 0)
    own = targets.chip("RAM=1M, flash=2MiB, block=768KB, core=M55, clock=400")
    assert (own.core, own.flash, own.ram, own.block, own.clock) == (
        *("cortex-m55", 2048, 1024, 768, 400),
    )
    fit = demo().fit("flash=1K,ram=64K")
    assert not fit.fits
    assert "own chip: flash=1k,ram=64k" in fit.text().lower()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("flash=512K", "must have flash= and ram="),
        ("flash=512K,rum=8K", "no figure of a chip 'rum'"),
        ("flash=512G,ram=8K", "flash= is .*, but must be a size in KiB or MiB"),
        ("flash=K,ram=8K", "flash= is .*, but must be a size in KiB or MiB"),
        ("flash=0,ram=8K,clock=fast", "clock= is"),
        ("flash=0,ram=8K,core=z80", "no core or chip 'z80'"),
    ],
)
def test_figures_that_are_no_chip_are_refused(text, told):
    with pytest.raises(Error, match=told):
        targets.chip(text)


def test_several_chips_give_one_table(model):
    chips_given = "nucleo-f411re,rp2040,flash=1K,ram=32K,clock=50"
    code, output = told("info", model, "--fit", chips_given, "--json")
    assert code == 1
    first, second, third = json.loads(output)
    network = demo()
    assert first["chip"] == "nucleo-f411re"
    assert first["ram_needed"] == network.fit("stm32f411").ram
    cycles = qemu_nn.estimate(network, "m4").cycles[1]
    assert first["milliseconds"] == pytest.approx(cycles / 100e3, rel=0.01)
    assert second["milliseconds"] is None  # of a Cortex-M0+ there are no counts
    assert (third["chip"], third["fits"]) == ("flash=1K,ram=32K,clock=50", False)
    assert third["milliseconds"] == pytest.approx(cycles / 50e3, rel=0.01)
    assert told("info", model, "--fit", "stm32f411,rp2040")[0] == 0


def test_a_chip_knows_its_clock(model):
    code, output = told("info", model, "--cycles", "--fit", "stm32f411")
    assert (code, "ms at 100 MHz" in output) == (0, True)
    assert "the highest of stm32f411" in output
    assert "ms at 48 MHz" in told("info", model, "--cycles", "--target", "apollo3")[1]
    assert "ms at" not in told("info", model, "--cycles", "--target", "m4")[1]
    assert (
        "ms at 50 MHz" in told("info", model, "--cycles", "--target", "apollo3", "--clock", 50)[1]
    )


def test_a_chip_with_an_npu_says_that_it_is_not_computed():
    assert "Neural-ART, is not computed" in demo().fit("stm32n657").text()
    assert "heliaCORE" in demo().fit("apollo510").text()
