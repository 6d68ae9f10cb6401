"""Firmware with a blob of weights takes new models at run time, and refuses all that do not fit."""

import struct
import subprocess
from dataclasses import replace

import affine_networks
import networks
import numpy as np
import pytest
from exported import check, needs, write

from qemu_nn.api import golden as pipeline
from qemu_nn.api.network import Network
from qemu_nn.errors import Error

pytestmark = pytest.mark.compiles

FLAGS = ["-O1", "-std=c11", "-Wall", "-Wextra", "-Werror", "-DNETWORK_STAND_IN", "-Inet"]

#: Loads a blob from standard input; writes what network_load() returns, then the floats of a run.
PROGRAM = """
#include <stdio.h>
#include "net/floats.h"

int main(void) {
    static _Alignas(16) uint8_t blob[NETWORK_FLASH + 64];
    static float image[NETWORK_INPUT_SIZE], scores[5];
    if (network_run_float(image, scores) != NETWORK_NOT_LOADED) {
        return 1;
    }
    const size_t size = fread(blob, 1, sizeof blob, stdin);
    printf("%d %d\\n", network_load(blob, size), network_load(blob + 4, size));
    for (int i = 0; i < NETWORK_INPUT_SIZE; i++) {
        image[i] = (float)(i % 7) * 0.1f;
    }
    if (network_blob != NULL && network_run_float(image, scores) != 0) {
        return 2;
    }
    for (int i = 0; i < 5; i++) {
        printf("%.9g ", (double)scores[i]);
    }
    return 0;
}
"""


def retrained():
    """Return the small network with other weights, biases, ranges and an output scale."""
    graph, rng = affine_networks.small(), np.random.default_rng(5)
    arrays = {
        name: rng.permutation(values.ravel()).reshape(values.shape)
        if values.dtype == np.int8
        else values
        for name, values in graph.arrays.items()
    }
    nodes = list(graph.nodes)
    nodes[0] = replace(nodes[0], params={**nodes[0].params, "act_max": 100})
    nodes[3] = replace(nodes[3], output=replace(nodes[3].output, scale=0.5))
    return replace(graph, nodes=tuple(nodes), arrays=arrays)


def structure():
    """Return the small network with another stride: its calls differ."""
    graph = affine_networks.small()
    nodes = list(graph.nodes)
    nodes[1] = replace(nodes[1], params={**nodes[1].params, "dilation_h": 2, "pad_h": 2})
    return replace(graph, nodes=tuple(nodes))


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """Return a program with the small network's code, and no model of its own."""
    folder = tmp_path_factory.mktemp("blob")
    write(folder / "net", affine_networks.small(), weights="blob")
    (folder / "program.c").write_text(PROGRAM)
    sources = ["program.c", "net/network.c", "net/floats.c"]
    sources += map(str, (folder / "net" / "kernels").rglob("*.c"))
    command = ["cc", *FLAGS, *sources, "-o", "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def load(device, blob):
    """Return what the program says of a blob, and its scores."""
    done = subprocess.run([device / "program"], input=blob, capture_output=True)
    assert done.returncode == 0, done.stdout
    answers, scores = done.stdout.decode().split("\n")
    return [int(word) for word in answers.split()], np.array(scores.split(), np.float32)


@needs("pc")
@pytest.mark.parametrize("model", [affine_networks.small, retrained])
def test_a_model_of_the_same_calls_is_taken_without_new_code(device, tmp_path, model):
    write(tmp_path / "model", model(), weights="blob")
    answers, scores = load(device, (tmp_path / "model" / "weights.bin").read_bytes())
    assert answers == [0, 1]  # the second address is no multiple of 16
    image = (np.arange(216) % 7).astype(np.float32) * np.float32(0.1)
    wanted = Network(model()).predict(image.reshape(1, 9, 8, 3), target="cortex-m4")
    np.testing.assert_array_equal(scores, np.float32(wanted).ravel())


@needs("pc")
def test_blobs_that_do_not_fit_are_refused(device, tmp_path):
    blob = (device / "net" / "weights.bin").read_bytes()
    for name, graph in (("structure", structure()), ("digits", pipeline.example()[0])):
        write(tmp_path / name, graph, weights="blob")
        other = (tmp_path / name / "weights.bin").read_bytes()
        assert load(device, other[: len(blob) + 64])[0][0] == 3
    for at in (20, 28, 31, 32, 100, len(blob) - 1):
        damaged = bytearray(blob)
        damaged[at] ^= 0x10
        assert load(device, bytes(damaged))[0][0] == 4, at
    assert load(device, blob[:-1])[0][0] == 4
    assert load(device, blob[:31])[0][0] == 2
    assert load(device, b"QNNX" + blob[4:])[0][0] == 2
    assert load(device, blob[:4] + struct.pack("<I", 2) + blob[8:])[0][0] == 2


@pytest.mark.parametrize(
    "target", [pytest.param("pc", marks=needs("pc")), pytest.param("m4", marks=needs("m4"))]
)
def test_the_self_test_passes_with_the_blob_of_the_export(tmp_path, target):
    folder = write(tmp_path / "net", pipeline.example()[0], weights="blob", name="kws")
    status, lines = check(folder, target)
    assert (status, lines[-1]) == (0, "PASS: 0 failures")
    text = (folder / "kws.h").read_text()
    assert f"#define KWS_FLASH {(folder / 'weights.bin').stat().st_size}\n" in text


@needs("pc")
def test_a_recurrent_network_has_a_blob(tmp_path):
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    assert check(write(tmp_path / "net", networks.recurrent(), data=x, weights="blob"))[0] == 0


def test_another_form_of_weights_is_refused(tmp_path):
    with pytest.raises(Error, match="weights is 'hex'; have: c, blob"):
        write(tmp_path / "net", affine_networks.small(), weights="hex")
