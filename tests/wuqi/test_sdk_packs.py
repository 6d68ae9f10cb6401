"""C applications run packs and give the bits of the emulator; nothing else than packs is loaded."""

import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import packs
import pytest
from paths import ROOT, SHARED, TESTS

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.ndk.layers import Layer
from qemu_nn.ndk.modelpack import load_pack, modelpack

C = TESTS / "c"
CASES = [(bits, name) for bits in (8, 16) for name in packs.networks(bits)]

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.compiles,
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdk")
    strict = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
    sanitized = f"{packs.SANITIZED} -DPLAIN"
    return {
        "app": packs.build(C / "lenet_app.c", folder / "app", strict),
        "codes": packs.build(C / "pack_codes.c", folder / "codes", strict),
        "fuzz": packs.build(C / "pack_fuzz.c", folder / "fuzz", sanitized),
    }


def run(program, *words, cwd=None):
    return subprocess.run(
        [str(program), *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=600
    )


def aligned(values):
    """Return [C, H, W] with rows of 32 bytes."""
    short = -values.shape[2] % (32 // values.itemsize)
    return np.pad(values, ((0, 0), (0, 0), (0, short)))


@pytest.mark.parametrize(("bits", "name"), CASES)
def test_an_application_gets_the_bits_of_the_emulator_both_ways(programs, tmp_path, bits, name):
    layers, params = packs.networks(bits)[name]
    modelpack(bits, layers, params, tmp_path / "custom", "net")
    x = packs.random_input(bits, layers, params)
    x.tofile(tmp_path / "input")
    words = ["net.bin", "input", "output", x.shape[3] * x.itemsize]
    done = run(programs["app"], *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    outputs = packs.integers(bits, layers, params, x).values()
    assert all(len(np.unique(each)) > 1 for each in outputs)
    expected = b"".join(each.tobytes() for each in outputs)
    assert (tmp_path / "output").read_bytes() == expected
    rows = b"".join(aligned(each).tobytes() for each in outputs)
    assert (tmp_path / "output.aligned").read_bytes() == rows
    if bits == 8:
        values = np.frombuffer(expected, np.int8).astype(int)
        best = sorted(range(values.size), key=lambda i: (-values[i], i))[:5]
        found = re.findall(r"top (\d+): class (\d+), value (-?\d+)", done.stdout)
        assert found == [(str(n), str(i), str(values[i])) for n, i in enumerate(best, 1)]


def test_every_call_returns_what_the_manual_says(programs, tmp_path):
    conv = Layer(
        "Convolution",
        name="c",
        bottom="x",
        top="c",
        num_output=64,
        kernel_size=(7, 7),
        pad=(3, 3, 3, 3),
    )
    weights = np.ones((64, 64, 7, 7), np.int8)
    params = {"x_frac": 0, "c_frac": 0, "c_quant_weight": weights, "c_frac_weight": 0}
    params |= {"c_quant_bias": np.zeros(64, np.int8), "c_frac_bias": 0}
    modelpack(8, [packs.start(64, 48, 48), conv], params, tmp_path, "slow")
    done = run(programs["codes"], "slow.bin", cwd=tmp_path)
    said = (
        "loaded 1,idle 0,start 0,again 2,busy 1,other 3,once more 0,idle 0,deleted 1,copy 1,run 1"
    )
    assert done.stdout.splitlines()[:-1] == said.split(",")
    assert done.stdout.endswith("none 1 there is no such file, and none in custom/\n")
    assert "cannot load the network no such pack: there is no such file" in done.stderr


@pytest.mark.parametrize("bits", [8, 16])
def test_every_changed_bit_and_every_truncation_is_refused(programs, tmp_path, bits):
    modelpack(bits, *packs.plain(bits), tmp_path)
    done = run(programs["fuzz"], "exact", tmp_path / "model.bin")
    assert (done.stdout, done.stderr) == ("0 accepted\n", "")


def test_hostile_packs_with_the_right_checksum_do_no_harm(programs, tmp_path):
    cases = [case for case in CASES if case != (16, "every")]
    for bits, name in cases:
        modelpack(bits, *packs.networks(bits)[name], tmp_path, f"{name}{bits}")
    done = run(programs["fuzz"], "once", *sorted(tmp_path.glob("*.bin")))
    said = (done.returncode, done.stdout, done.stderr)
    assert said == (0, f"{500 * len(cases)} executions\n", "")


def test_the_application_says_why_a_pack_of_another_version_is_refused(programs, tmp_path):
    modelpack(8, *packs.plain(8), tmp_path)
    data = bytearray((tmp_path / "model.bin").read_bytes())
    data[8] = 9
    (tmp_path / "model.bin").write_bytes(data)
    done = run(programs["app"], "model.bin", "x", "y", 4, cwd=tmp_path)
    assert done.returncode == 1
    assert "it has version 9 of the format; this library reads 1" in done.stderr


NAMES = {
    True: ["relu", "\u00e9xy", "\u20acx", "\U0001d11e", "\U0010ffff"],
    False: [
        *(b"\xff\xfexy", b"\x80xyz", b"xyz\xc3", b"xy\xe2\x82", b"\xc3(xy", b"\xf8\x88\x80\x80"),
        *(
            b"\xc1\xbfxy",
            b"\xe0\x9f\xbfx",
            b"\xf0\x8f\xbf\xbf",
            b"\xed\xa0\x80x",
            b"\xf4\x90\x80\x80",
        ),
    ],
}


def test_a_name_is_utf8_or_the_pack_is_refused_in_c_and_in_python(programs, tmp_path):
    modelpack(8, *packs.plain(8), tmp_path)
    whole = (tmp_path / "model.bin").read_bytes()
    for good, names in NAMES.items():
        for name in names:
            name = name.encode("utf-8") if good else name
            data = whole[:-4].replace(b"\4relu", b"\4" + name)
            data += struct.pack("<I", zlib.crc32(data))
            (tmp_path / "named.bin").write_bytes(data)
            done = run(programs["app"], "named.bin", "x", "y", 4, cwd=tmp_path)
            refused = "a name is not 1 to 255 bytes of UTF-8 without zeros" in done.stderr
            assert refused != good, name
            with nullcontext() if good else pytest.raises(ModelError, match="not UTF-8"):
                load_pack(tmp_path / "named.bin")


def test_a_name_that_is_no_utf8_is_not_packed(tmp_path):
    layers, params = packs.plain(8)
    layers[2] = Layer("ReLU", name="\ud800", bottom="f", top="r")
    with pytest.raises(ModelError, match=r"the name '.*ud800' must be 1 to 255 bytes of UTF-8"):
        modelpack(8, layers, params, tmp_path)


def test_the_pack_of_a_user_is_refused_in_c(programs, tmp_path):
    pack = SHARED / "defects" / "pack_not_utf8.bin"
    if not pack.exists():
        pytest.skip(f"there is no {pack}")
    done = run(programs["app"], pack, "x", "y", 4, cwd=tmp_path)
    assert "a name is not 1 to 255 bytes of UTF-8 without zeros" in done.stderr


def test_a_pipe_is_no_pack_and_not_waited_for(programs, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = run(programs["app"], "pipe", "x", "y", 4, cwd=tmp_path)
    assert "there is no such file" in done.stderr


def test_the_verb_needs_a_question():
    done = subprocess.run([sys.executable, "-m", "qemu_nn", "sdk"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "--sources, --include, --cflags, --libs" in done.stderr


def test_an_installed_package_has_all_that_an_application_compiles(programs, tmp_path):
    root = ROOT
    package = tmp_path / "site"
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(package)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for built in Path(qemu_nn.__file__).parent.glob("_native*"):
        shutil.copy(built, package / "qemu_nn")
    assert packs.answer("--include", package) == [str(package / "qemu_nn" / "csrc" / "sdk")]
    assert not list((package / "qemu_nn" / "csrc").rglob("*_avx*"))
    program = (
        "from qemu_nn.firmware.plain_kernels import list_sources\n"
        "from qemu_nn.kernels.table import ROWS\n"
        "plain = (row for row in ROWS if row.kind != 'fast' and row.op.arithmetic != 'ethosu')\n"
        "print(list_sources(r.symbol for r in plain if not r.op.name.startswith('esp_')))"
    )
    copied = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": str(site)},
            cwd=tmp_path,
            capture_output=True,
            check=True,
        ).stdout
        for site in (package, Path(qemu_nn.__file__).parents[1])
    ]
    assert copied[0] == copied[1]
    assert len(copied[0]) > 500_000
    app = packs.build(C / "lenet_app.c", tmp_path / "app", "-O0", site=package)
    assert "no such file" in run(app, "none", "x", "y", 1, cwd=tmp_path).stderr
