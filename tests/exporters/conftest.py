"""The WebAssembly core of these sources."""

import importlib.util

import pytest
from browser import CHROMIUM

from qemu_nn.errors import Error
from qemu_nn.exporters.page import core


@pytest.fixture(scope="session")
def built():
    """Build the core of these sources, unless it is there."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium here")
    try:
        return core.read_core()
    except Error:
        if core.SOURCES is None or importlib.util.find_spec("ziglang") is None:
            pytest.skip("there is no WebAssembly core, nor ziglang and sources to build it")
        from qemu_nn.exporters.page.build import build

        build()
        return core.read_core()
