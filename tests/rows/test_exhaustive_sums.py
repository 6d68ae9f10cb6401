"""Programs of .ci/prove that try every sum of drawn channels, on a few channels each."""

import subprocess

import pytest
from hosts import needs_x86
from modelled import needs_avx512, needs_gcc
from paths import ROOT

EXHAUST = ROOT / ".ci" / "proofs" / "exhaust"

pytestmark = [
    pytest.mark.compiles,
    pytest.mark.skipif(not EXHAUST.exists(), reason="needs the project's checkout"),
]


@needs_gcc
@needs_x86
@pytest.mark.parametrize(
    "name", ["linear", pytest.param("floats", marks=needs_avx512, id="floats")]
)
def test_a_float_epilogue_gives_the_integers_for_every_sum(tmp_path, name):
    flags = ["-std=gnu11", "-O3", "-march=native", "-ffp-contract=off", "-w"]
    folders = [f"-I{ROOT / 'csrc'}", f"-I{EXHAUST}"]
    command = ["gcc", *flags, *folders, EXHAUST / f"{name}.c", "-o", tmp_path / name]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / name, "11", "500"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
