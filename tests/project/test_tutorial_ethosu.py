"""The tutorial of the Ethos-U runs, cell by cell, in an empty folder."""

import re

import pytest
from paths import ROOT

CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```", re.M | re.S)


def test_the_cells_print_what_the_text_says(tmp_path, monkeypatch, capsys):
    pytest.importorskip("ethosu.vela", reason="pip install ethos-u-vela")
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in CELL.findall((ROOT / "docs/tutorials/ethosu.md").read_text(encoding="utf-8")):
        last = cell.strip().splitlines()[-1]
        exec(cell, names)
        if last.startswith("qemu_nn.compare"):
            found = eval(last, names)
    said = capsys.readouterr().out
    assert "0 of 3600 bytes differ" in said
    assert "added = memory.AddEthosU() == kTfLiteOk && added;" in said
    assert "return ethosu_init(&driver, base, NULL, 0, NETWORK_NPU_SECURE," in said
    assert "0 bytes differ" in said
    (one,) = [finding for finding in found.findings if not finding.same]
    assert (one.name, one.difference.differing) == ("x0/softmax", 1)
    assert (tmp_path / "bare/network.c").exists()
