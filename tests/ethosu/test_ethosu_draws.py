"""Random .tflite files that vela compiles, next to TensorFlow Lite Micro's reference bytes."""

import pytest
from ethosu_draws import draw
from tflite_draws import samples

from qemu_nn.importers.tflite.parser import parse

#: Configurations of the few files that the everyday tests compile.
CONFIGURATIONS = ("u55-128", "u85-512")


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_a_drawn_file_is_whole_and_the_same_again(seed, tmp_path):
    net, said = draw(seed)
    model = parse(tmp_path, net.bytes())
    assert [each.name for each in model.operators] == said.split()[2:]
    assert draw(seed)[0].bytes() == net.bytes()


@pytest.mark.parametrize("seed", [*range(9), 103, 104, 113, 117, 131, 153, 195, 238, 278, 326, 384])
def test_a_compiled_file_has_the_bytes_of_the_reference_kernels(seed, tmp_path):
    pytest.importorskip("ethosu.vela", reason="pip install ethos-u-vela")
    pytest.importorskip("tflite_micro", reason="pip install tflite-micro")
    from vela_agreement import answer_all, judge

    net, said = draw(seed)
    x = samples(net)
    (right,) = answer_all([net], [x])
    for configuration in CONFIGURATIONS:
        verdict = judge(net, right, configuration, x, tmp_path)
        assert verdict.kind not in ("differs", "refused"), f"{said}: {verdict.words}"
