"""Exported C says which release of Arm's it is for, and what the network takes of a device."""

import re
import subprocess

import networks
import pytest
from exported import check, needs, write

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.firmware.releases import list_caveats
from qemu_nn.ir.graph import Graph, Tensor

pytestmark = pytest.mark.compiles

#: Guards of Arm's headers, as each release has them -> what C for another one says.
GUARDS = {
    "5.6.0": ("_ARM_NNFUNCTIONS_H", "or 5.6.0 or 5.7.0"),
    "5.9.0": ("_ARM_NNFUNCTIONS_H _ARM_NN_TYPES_H _ARM_NN_MATH_TYPES_H_", "CMSIS 5.9.0"),
    "7.0.0": ("ARM_NNFUNCTIONS_H ARM_NN_TYPES_H ARM_NN_MATH_TYPES_H", "6.0.0 or 7.0.0"),
    "main-2026-07": ("ARM_NN_TYPES_H ARM_NN_MATH_TYPES_H ARM_NN_CONFIG_H", "later than 7.0.0"),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return an export for 5.9.0, and headers without the marks of stand-ins."""
    network, x, _ = pipeline.example()
    folder = write(tmp_path_factory.mktemp("release") / "demo", network, data=x[:1])
    (folder / "arm" / "Include").mkdir(parents=True)
    for header in (folder / "kernels").glob("*.h"):
        text = re.sub("STAND_IN_ARM", "OTHER_ARM", header.read_text())
        (folder / "arm" / "Include" / header.name).write_text(text)
    return folder


def compiled(folder, defined, *more):
    flags = [f"-D{guard}" for guard in defined.split()]
    command = ["cc", "-c", "network.c", "-Iarm/Include", "-o", "/dev/null", *flags, *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@needs("pc")
@pytest.mark.parametrize("release", GUARDS)
def test_headers_of_another_release_do_not_compile(demo, release):
    defined, words = GUARDS[release]
    done = compiled(demo, defined)
    assert (done.returncode == 0) == (release == "5.9.0"), done.stderr
    if done.returncode:
        assert "network is exported for CMSIS 5.9.0, but Arm's headers are of" in done.stderr
        assert words in done.stderr
        assert compiled(demo, defined, "-DNETWORK_ANY_RELEASE").returncode == 0


def make(folder, *words):
    return subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True)


@needs("pc")
def test_make_takes_a_library_of_the_release_alone(demo):
    header = demo / "arm" / "Include" / "arm_nnfunctions.h"
    text = header.read_text()
    library = "build/libcmsis-nn.a"
    sources = [str(path) for path in (demo / "kernels").rglob("*.c")]
    (demo / "build").mkdir()
    flags = ["-O1", "-std=c11", f"-I{demo}/arm/Include", f"-I{demo}/kernels"]
    subprocess.run(["cc", *flags, "-c", *sources], cwd=demo / "build", check=True)
    objects = [path.name for path in (demo / "build").glob("*.o")]
    subprocess.run(["ar", "rcs", "libcmsis-nn.a", *objects], cwd=demo / "build", check=True)
    for revision, said in (("V.16.0.0", "has CMSIS-NN 6.0.0"), ("V.9.9.9", "has no release")):
        header.write_text(f"/* $Revision:    {revision} */\n{text}")
        done = make(demo, "CMSIS=arm", f"LIBRARY={library}")
        assert done.returncode != 0
        assert f"network is exported for CMSIS 5.9.0, but arm {said}" in done.stderr
    header.write_text(f"/* $Revision:    V.9.0.0 */\n{text}")
    assert "LIBRARY= is missing" in make(demo, "CMSIS=arm").stderr
    done = make(demo, "CMSIS=arm", f"LIBRARY={library}")
    assert (done.returncode, done.stdout.count("PASS")) == (0, 9), done.stderr


@needs("pc")
def test_the_keyword_projects_pooling_comes_along(tmp_path):
    size = {"dim_im_in_x": 4, "dim_im_in_y": 2, "ch_im_in": 3, "dim_kernel_x": 2, "dim_kernel_y": 2}
    size.update(padding_x=0, padding_y=0, stride_x=2, stride_y=2, dim_im_out_x=2, dim_im_out_y=1)
    pool = networks.node("pool", "arm_avepool_q7_HWC_nonsquare", ["data"], out_lshift=0, **size)
    entry = Tensor("data", (2, 4, 3), "int8", 7)
    folder = write(tmp_path / "net", Graph("average", (entry,), (pool,), ("pool",), {}))
    assert check(folder) == (0, ["PASS x0/pool", "PASS x1/pool", "PASS: 0 failures"])
    assert "arm_avepool_q7_HWC_nonsquare(" in (folder / "local" / "local_NN.c").read_text()
    assert not (folder / "kernels" / "stand_in.c").exists()


def test_caveats_name_what_a_compiler_spoils():
    many = networks.node(
        "soft", "arm_softmax_s8", ["data"], num_rows=1, row_size=512, mult=1, shift=1, diff_min=-1
    )
    few = networks.node(
        "soft", "arm_softmax_s8", ["data"], num_rows=1, row_size=10, mult=1, shift=1, diff_min=-1
    )
    assert [len(list_caveats(nodes)) for nodes in ((many,), (few,), ())] == [1, 0, 0]
    assert "512" not in list_caveats([many])[0]["words"]


@needs("m55")
def test_a_macro_silences_the_warning_of_a_compiler(tmp_path):
    soft = networks.node(
        "soft", "arm_softmax_s8", ["x"], num_rows=1, row_size=512, mult=2**30, shift=1, diff_min=-1
    )
    graph = Graph("soft", (Tensor("x", (512,), "int8"),), (soft,), ("soft",), {})
    folder = write(tmp_path / "net", graph, target="cortex-m55")
    for path in (folder / "kernels").glob("*.h"):
        path.write_text(path.read_text().replace("STAND_IN_ARM", "OTHER_ARM"))
    flags = ["-c", "-o", "/dev/null", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-Ikernels"]
    told = [
        subprocess.run(
            ["arm-none-eabi-gcc", "-Werror", *flags, *more, "network.c"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        for more in ([], ["-DNETWORK_ANY_COMPILER"])
    ]
    old = "takes the scalar path" in told[0].stderr
    assert (told[0].returncode, told[1].returncode) == (old, 0), told[1].stderr
    assert old == ("(NETWORK_ANY_COMPILER takes it)" in told[0].stderr)


@needs("m4")
def test_report_header_and_info_agree_to_the_byte(tmp_path):
    network = pipeline.example()[0]
    folder = write(tmp_path / "net", network)
    done = make(folder, "report-m4")
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(flash|RAM|) +([a-z]+) +(\d+)(?: .*)?$", done.stdout, re.M)
    values = [int(count) for _, _, count in rows]
    told = {(place, what): int(count) for place, what, count in rows}
    text = (folder / "network.h").read_text()
    header = {name: int(re.search(rf"NETWORK_{name} (\d+)", text)[1]) for name in ("RAM", "FLASH")}
    facts = pipeline.describe(network, "cortex-m4").facts
    assert told["", "weights"] == header["FLASH"] == facts["weight_bytes"]
    assert told["RAM", "arena"] == header["RAM"] == facts["activation_bytes"]
    (tmp_path / "m4.txt").write_text(done.stdout)
    sheet = qemu_nn.datasheet(network, target="m4", measured=tmp_path / "m4.txt")
    assert sheet.linked is not None
    assert [row["bytes"] for row in sheet.linked.records()] == values
    assert values[4] == sum(values[:4])
    assert values[9] == sum(values[5:9])
    sizes = subprocess.run(
        ["arm-none-eabi-size", "-A", "build/report_m4.elf"],
        cwd=folder,
        capture_output=True,
        text=True,
    ).stdout
    assert re.search(rf"^\.text +{told['flash', 'code']} ", sizes, re.M)
    assert 100 < told["", "stack"] < 4096


@needs("m4")
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("-mcpu=cortex-m4 -mfloat-abi=soft", "is built for soft floats, but this build for hard"),
        (
            "-mcpu=cortex-m33 -mfloat-abi=hard",
            "is built for a Cortex-M33 or M35P, but this build is for a",
        ),
        ("", "has no Arm objects: it is built for another machine"),
    ],
)
def test_a_library_for_another_build_is_told_before_the_linker_speaks(demo, flags, said):
    (demo / "empty.c").write_text("int arm_relu_q7;")
    arguments = ["-c", "empty.c", "-o", "empty.o", *flags.split(), *["-mthumb"][: bool(flags)]]
    subprocess.run(["arm-none-eabi-gcc" if flags else "cc", *arguments], cwd=demo, check=True)
    subprocess.run(["ar", "rcs", "empty.a", "empty.o"], cwd=demo, check=True)
    done = make(demo, "m4", "CMSIS=arm", "LIBRARY=empty.a", "ANY_RELEASE=1")
    assert done.returncode != 0
    assert f"empty.a {said}" in done.stderr
    assert "build the library with -mcpu=cortex-m4 -mfloat-abi=hard" in done.stderr
    assert "undefined reference" not in done.stderr


@needs("m4")
def test_a_library_of_the_board_links(demo):
    sources = [str(path) for path in (demo / "kernels").rglob("*.c")]
    objects = demo / "m4"
    objects.mkdir()
    flags = ["-mthumb", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-O1", "-std=c11"]
    subprocess.run(["arm-none-eabi-gcc", *flags, "-c", *sources], cwd=objects, check=True)
    names = [path.name for path in objects.glob("*.o")]
    subprocess.run(["arm-none-eabi-ar", "rcs", "arm.a", *names], cwd=objects, check=True)
    done = make(demo, "m4", "CMSIS=arm", "LIBRARY=m4/arm.a", "ANY_RELEASE=1")
    assert (done.returncode, done.stdout.count("PASS")) == (0, 9), done.stderr
