"""Exported networks build with CMake, and name their files for other build systems."""

import shutil
import subprocess

import pytest
from exported import difference, needs, write

pytestmark = pytest.mark.compiles


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("builds") / "net", difference(), name="kws")


@needs("pc")
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_builds_the_library_and_runs_its_self_test(folder, tmp_path):
    for command in (
        ["cmake", "-S", folder, "-B", tmp_path / "build"],
        ["cmake", "--build", tmp_path / "build"],
        ["ctest", "--test-dir", tmp_path / "build"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed" in done.stdout
    assert list((tmp_path / "build").rglob("*kws.a")) != []


@needs("pc")
def test_the_folder_of_arduino_is_the_network_and_its_own_functions(folder):
    sources = sorted(path.name for path in (folder / "src").glob("*.c"))
    assert sources[0] == "network.c"
    assert "tflm_tflm.c" in sources
    flags = ["-std=c11", "-DNETWORK_STAND_IN", "-fsyntax-only"]
    paths = [folder / "src" / name for name in sources]
    subprocess.run(["cc", *flags, *paths], check=True)
    assert "includes=kws.h" in (folder / "library.properties").read_text()
    assert (folder / "src" / "kws.h").read_text() == '#include "../kws.h"\n'


@pytest.mark.parametrize(
    ("path", "place"),
    [("network.clayer.yml", "- file: {}"), ("zephyr/CMakeLists.txt", "../{}")],
)
def test_every_source_has_its_line(folder, path, place):
    lines = [line.strip() for line in (folder / path).read_text().splitlines()]
    sources = {path.relative_to(folder).as_posix() for path in (folder / "tflm").rglob("*.c")}
    for source in {"network.c", *sources}:
        assert place.format(source) in lines
    assert not any("kernels/" in line for line in lines)


def test_yaml_is_read_as_it_is_meant(folder):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    layer = yaml.safe_load((folder / "network.clayer.yml").read_text())["layer"]
    assert [group["group"] for group in layer["groups"]] == ["kws"]
    module = yaml.safe_load((folder / "zephyr" / "module.yml").read_text())
    assert module == {"name": "kws", "build": {"cmake": "zephyr", "kconfig": "zephyr/Kconfig"}}
