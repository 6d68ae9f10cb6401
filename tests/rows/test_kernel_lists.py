"""The lists of kernels name whole functions, and a new row recompiles its family only."""

import os
import re
from pathlib import Path

from paths import ROOT

from qemu_nn.kernels.table import ROWS

CSRC = ROOT / "csrc"

#: Columns of each macro that hold names of functions.
_NAMES = {"OP": [4, 5], "ROW": [6, 7], "PACKED": [6], "PLAIN": [4, 5], "COPY": [4, 5]}

#: A definition at the start of a line.
_DEFINED = re.compile(r"^(?:QN_ONCE )?(?:int|int64_t|const qn_functions) (\w+)(?:\(| = )", re.M)


def _lists():
    top = (CSRC / "kernels.inc").read_text(encoding="utf-8")
    return [CSRC / name for name in re.findall(r'#include "(.*)"', top)]


def _listed():
    """Every name in a list of kernels, and the list."""
    for path in _lists():
        text = path.read_text(encoding="utf-8")
        for macro, columns in re.findall(r"^ *QN_([A-Z]+)\((.*)\)$", text, re.M):
            cells = [cell.strip() for cell in columns.split(",")]
            for column in _NAMES[macro]:
                yield cells[column], path


def _defined():
    """Name -> the files of the C core that define it."""
    found = {}
    for path in sorted(CSRC.rglob("*.[ci]*")):
        for name in _DEFINED.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(path)
    return found


def _included(source):
    """A C file and all that it includes, directly or not."""
    found, wanted = set(), {source}
    while wanted:
        path = wanted.pop()
        found.add(path)
        names = re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M)
        paths = {Path(os.path.normpath(path.parent / name)) for name in names}
        wanted |= {path for path in paths if path.is_file()} - found
    return found


def test_each_name_in_a_list_is_defined_by_its_whole_name_in_one_c_file():
    defined = _defined()
    for name, path in _listed():
        files = defined.get(name, [])
        assert len(files) == 1, f"{path.name} lists {name}; it is defined in {files}"
        assert files[0].suffix == ".c"


def test_each_struct_of_functions_is_in_a_list():
    listed = {name for name, _ in _listed()}
    for path in CSRC.rglob("*.c"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^const qn_functions (\w+)", text, re.M):
            assert name in listed, f"no list of kernels has {name} of {path.name}"


def test_each_row_of_this_host_has_a_name_in_a_list():
    assert {row.symbol for row in ROWS} <= {name for name, _ in _listed()}


def test_each_list_of_kernels_is_included_by_the_list_of_all():
    assert sorted(_lists()) == sorted({*CSRC.rglob("*kernels.inc")} - {CSRC / "kernels.inc"})


def test_a_new_row_compiles_fewer_than_25_files():
    library = [path for path in CSRC.rglob("*.c") if path.parent.name != "sdk"]
    read = [_included(path) for path in library]
    for path in _lists():
        count = sum(path in files for files in read)
        assert count < 25, f"a row more in {path.relative_to(CSRC)} compiles {count} files"
