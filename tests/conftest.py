"""How hypothesis runs here: the same examples every time, and whatever fails can be run again; many
times as many others with --hypothesis-profile=long. And the C core as tests of instructions that
this host lacks want it."""

import gc

import oracles
import pytest
from hypothesis import HealthCheck, settings
from modelled import MODELS, compile_all

from qemu_nn.importers import hdf5, hdf5_child

gc.set_threshold(100_000)  # thousands of tests are no garbage

HOW = {"deadline": None, "print_blob": True, "report_multiple_bugs": False}
SLOW_HOST = [HealthCheck.too_slow]
settings.register_profile(
    "same", derandomize=True, max_examples=25, suppress_health_check=SLOW_HOST, **HOW
)
settings.register_profile("long", max_examples=400, suppress_health_check=SLOW_HOST, **HOW)
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


def pytest_collection_finish():
    """What was collected stays: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Fail an oracle that does not call the functions that it names."""
    names = oracles.named(
        item.iter_markers(), getattr(getattr(item, "callspec", None), "params", {})
    )
    if not names:
        yield
        return
    with oracles.called() as seen:
        outcome = yield
    if outcome.excinfo is None and oracles.missed(names, seen):
        outcome.force_exception(AssertionError(f"did not call {oracles.missed(names, seen)}"))
