"""Settings of hypothesis and of the garbage collector, and fixtures of all tests.

Examples are the same in each run, and --hypothesis-profile=long draws 16 times as many.
"""

import gc
import os
import sys
from pathlib import Path

import numpy as np
import oracles
import pytest
from hypothesis import HealthCheck, settings
from modelled import MODELS, compile_all

from qemu_nn.importers import hdf5, hdf5_child

os.environ["QEMU_NN_CACHE_SIZE"] = "0"  # tests leave the user's cache alone
gc.set_threshold(100_000)  # thousands of tests remain in memory

HOW = {"deadline": None, "print_blob": True, "report_multiple_bugs": False}
SLOW_HOST = [HealthCheck.too_slow]
settings.register_profile(
    "same", derandomize=True, max_examples=25, suppress_health_check=SLOW_HOST, **HOW
)
settings.register_profile("long", max_examples=400, suppress_health_check=SLOW_HOST, **HOW)
settings.load_profile("same")


@pytest.fixture
def hdf5_here(monkeypatch):
    """Read HDF5 files in this process: a second process takes longer to start than most tests."""

    def answered(asked, answered, timeout):
        asked.readline()  # limits
        hdf5_child.answer(asked, answered)
        return True

    monkeypatch.setattr(hdf5, "_wait_for_child", answered)


@pytest.fixture(scope="session")
def modelled(tmp_path_factory):
    """Return a folder with an object of each C file; a model replaces foreign instructions."""
    folder = tmp_path_factory.mktemp("modelled")
    compile_all(folder, *MODELS, "-O1")
    return folder


#: Generators of the test modules, and their states before the first test.
GENERATORS = {}


def pytest_collection_finish():
    """Exclude the collected tests from garbage collection; store the states of generators."""
    gc.collect()
    gc.freeze()
    tests = str(Path(__file__).parent)
    for module in list(sys.modules.values()):
        if str(getattr(module, "__file__", None)).startswith(tests):
            for each in vars(module).values():
                if isinstance(each, np.random.Generator):
                    GENERATORS[id(each)] = each, each.bit_generator.state


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Restart generators, so that a test draws the same numbers whichever tests ran before."""
    for generator, state in GENERATORS.values():
        generator.bit_generator.state = state


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
