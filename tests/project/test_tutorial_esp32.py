"""The tutorial of the ESP32 runs, cell by cell, in an empty folder."""

import re

import pytest
from paths import ROOT

import qemu_nn

CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```", re.M | re.S)


@pytest.mark.filterwarnings("error::qemu_nn.errors.DeviceWarning")
def test_the_cells_print_what_the_text_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in CELL.findall((ROOT / "docs/tutorials/esp32.md").read_text(encoding="utf-8")):
        exec(cell, names)
    said = capsys.readouterr().out
    heard = [float(each) for each in re.findall(r"([\d.]+) s: \d+", said)]
    assert heard
    assert 3.7 < min(heard) <= max(heard) < 4
    assert said.count("equal: True") == len(names["targets"]) == 4
    assert 'espressif/esp-nn: "==1.2.6"' in said
    checks = (tmp_path / "firmware/main/main.c").read_text().count("failed += run(")
    assert checks == 32
    assert names["network"].fit(names["s3"]).fits_tflm


def test_the_network_is_the_one_that_its_script_writes(monkeypatch):
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("wake", ROOT / "docs/examples/make_wake_tone.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    stored = ROOT / "qemu_nn/demo/wake_tone.tflite"
    assert qemu_nn.load(stored).layers == qemu_nn.load(script.build().bytes()).layers
    assert stored.read_bytes() == script.build().bytes()
