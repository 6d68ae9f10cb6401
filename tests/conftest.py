"""How hypothesis runs here: the same examples every time, and whatever fails can be run again; and
the C core as tests of instructions that this host lacks want it."""

import pytest
from hypothesis import settings
from modelled import MODELS, compile_all

from qemu_nn.importers import hdf5, hdf5_child

settings.register_profile(
    "same", derandomize=True, deadline=None, print_blob=True, report_multiple_bugs=False
)
settings.load_profile("same")


@pytest.fixture
def hdf5_here(monkeypatch):
    """HDF5 files are read in this process: to start another takes longer than most tests."""

    def answered(asked, answered, timeout):
        asked.readline()  # limits
        hdf5_child.answer(asked, answered)
        return True

    monkeypatch.setattr(hdf5, "_answered", answered)


@pytest.fixture(scope="session")
def modelled(tmp_path_factory):
    """A folder with an object of each C file, its foreign instructions exchanged for others."""
    folder = tmp_path_factory.mktemp("modelled")
    compile_all(folder, *MODELS, "-O1")
    return folder
