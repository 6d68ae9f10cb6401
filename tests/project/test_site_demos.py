"""The site has pages on which networks of the package run, and its start page links them."""

import re
import sys

from paths import ROOT

from qemu_nn.exporters.page import document

DOCS = ROOT / "docs"


def test_the_pages_that_are_linked_are_written(monkeypatch, tmp_path):
    monkeypatch.setattr(document, "read_core", lambda: b"\0asm")
    monkeypatch.syspath_prepend(str(DOCS))
    import demos

    demos.write(tmp_path)
    linked = re.findall(r'href="(.*?)"', demos.LINKS)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(linked)
    digits, tone = (page.read_text("utf-8") for page in sorted(tmp_path.iterdir()))
    assert digits.count('"name":"') > 20  # samples, among others
    assert '"rate":16000' in tone
    sys.modules.pop("demos")


def test_the_start_page_has_a_place_for_links():
    assert len(re.findall(r"(?m)^!\[", (DOCS / "README.md").read_text("utf-8"))) == 1
