"""Exported networks build with CMake, and name their files for other build systems."""

import json
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from exported import difference, needs, write

from qemu_nn.errors import Error

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
    assert sources[:2] == ["floats.c", "network.c"]
    assert "tflm_tflm.c" in sources
    flags = ["-std=c11", "-DNETWORK_STAND_IN", "-fsyntax-only"]
    paths = [folder / "src" / name for name in sources]
    subprocess.run(["cc", *flags, *paths], check=True)
    assert "includes=kws.h" in (folder / "library.properties").read_text()
    assert (folder / "src" / "kws.h").read_text() == '#include "../kws.h"\n'


#: A project with a target of its own for Arm's functions: here the stand-ins, built as a library.
USERS = """
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C)
file(GLOB_RECURSE KERNELS ${EXPORT}/kernels/*.c)
add_library(my_cmsis_nn STATIC ${KERNELS})
target_include_directories(my_cmsis_nn PUBLIC ${HEADERS})
set(KWS_CMSIS_NN_TARGET my_cmsis_nn)
add_subdirectory(${EXPORT} kws)
add_executable(app app.c)
target_link_libraries(app kws)
"""


@needs("pc")
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_links_the_target_of_the_project(folder, tmp_path):
    headers = tmp_path / "headers"
    headers.mkdir()
    for path in (folder / "kernels").glob("*.h"):
        (headers / path.name).write_text(path.read_text().replace("STAND_IN_ARM", "OTHER_ARM"))
    (tmp_path / "CMakeLists.txt").write_text(USERS)
    (tmp_path / "app.c").write_text(
        '#include "kws.h"\nint main(void) { int8_t x[6] = {0}, y[6]; return kws_run(x, y); }\n'
    )
    build = tmp_path / "build"
    flags = [f"-DEXPORT={folder}", f"-DHEADERS={headers}", "-DCMAKE_C_FLAGS=-DNETWORK_ANY_RELEASE"]
    for command in (
        ["cmake", "-S", tmp_path, "-B", build, *flags],
        ["cmake", "--build", build],
        [build / "app"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    listed = subprocess.run(["nm", build / "kws" / "libkws.a"], capture_output=True, text=True)
    assert "U kws_arm_elementwise_add_s8" in listed.stdout


@needs("pc")
@pytest.mark.skipif(
    shutil.which("meson") is None or shutil.which("ninja") is None,
    reason="meson or ninja is not installed",
)
def test_meson_builds_the_library_and_runs_its_self_test(folder, tmp_path):
    for command in (
        ["meson", "setup", tmp_path / "build", folder],
        ["meson", "test", "-C", tmp_path / "build"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^Ok: +1\s*$", done.stdout, re.M)


def test_the_pack_description_names_every_file_and_its_requirement(folder):
    package = ElementTree.parse(folder / "qemu_nn.kws.pdsc").getroot()
    assert package.findtext("name") == "kws"
    files = {file.get("name"): file.get("category") for file in package.iter("file")}
    sources = {path for path, category in files.items() if category == "sourceC"}
    assert sources == {"network.c", "floats.c", *tflm(folder, "c")}
    headers = {path for path, category in files.items() if category == "header"}
    own = {"kws.h", "kws.hpp", "network.h", "floats.h", "parameter.h", "weights.h"}
    assert headers == {*own, *tflm(folder, "h")}
    assert all((folder / path).exists() for path in files)
    (condition,) = package.iter("condition")
    assert condition.find("require").attrib == {"Cclass": "CMSIS", "Cgroup": "NN Lib"}
    assert package.find("components/component").get("condition") == condition.get("id")


def tflm(folder, ending):
    return {path.relative_to(folder).as_posix() for path in (folder / "tflm").rglob(f"*.{ending}")}


def test_platformio_and_meson_name_the_network(folder):
    library = json.loads((folder / "library.json").read_text())
    assert (library["name"], library["headers"]) == ("kws", "kws.h")
    assert (folder / library["build"]["srcDir"] / "network.c").exists()
    listed = (folder / "meson.build").read_text()
    assert all(f"'{path}'," in listed for path in ("network.c", *tflm(folder, "c")))


@pytest.mark.parametrize(
    ("build", "there"),
    [("none", set()), ("cmake, zephyr", {"CMakeLists.txt", "zephyr"}), (["arduino"], {"src"})],
)
def test_the_build_systems_are_those_that_are_named(tmp_path, build, there):
    folder = write(tmp_path / "net", difference(), build=build)
    known = {"CMakeLists.txt", "meson.build", "zephyr", "src", "network.clayer.yml", "library.json"}
    assert {path.name for path in folder.iterdir()} & known == there


def test_an_unknown_build_system_is_refused(tmp_path):
    with pytest.raises(Error, match=r"build is 'bazel'; have: cmake, meson, zephyr"):
        write(tmp_path / "net", difference(), build="cmake,bazel")


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
