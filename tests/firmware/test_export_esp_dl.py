"""The ESP-IDF project of an .espdl network, compiled on this PC with stand-ins for ESP-DL."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from esp_idf_projects import compile_project, write_esp_dl
from espdl_cases import CASES, classifier, conv, draw, streaming
from espdl_files import contain, pack_models

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.importers.espdl import load_with_values
from qemu_nn.runtime.session import draw_inputs

pytestmark = pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")

compiles = [
    pytest.mark.compiles,
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]


class Exported:
    """A network with its file, its export and what ESP-DL computes of it."""

    def __init__(self, model, folder, target="esp32s3"):
        self.path, self.folder = model.write(folder / "net.espdl"), folder
        self.network = qemu_nn.load(self.path)
        self.x = draw_inputs(self.network.graph, 2, steps=3)
        self.project, self.target = folder / "project", target
        qemu_nn.export(self.path, self.project, target=target, data=self.x)

    def answer(self, target=None, damage=None):
        """Write the answers of a chip, those of the second sample with one wrong byte of a tensor;
        return the names of all results.
        """
        _, values, file = load_with_values(self.path)
        made = [name for node in file.nodes for name in node.outputs]
        got = self.network.session(target or self.target).run(self.x, trace=True)
        recurrent = bool(self.network.graph.states)
        data = bytearray()
        for sample in range(2):
            for step in range(3 if recurrent else 1):
                at = (sample, step) if recurrent else (sample,)
                data += bytes([step if recurrent else 255]) + self.x[at].tobytes()
                for name in made:
                    result = bytearray(got[values[name].name][at].tobytes())
                    if sample == 1 and name == damage:
                        result[0] ^= 1
                    data += result
        (self.folder / "answers.bin").write_bytes(data)
        sizes = {name: got[values[name].name][at].nbytes for name in made}
        (start,) = self.network.graph.inputs
        write_esp_dl(self.folder, file, {start.name: start.nbytes, **sizes})
        return made


@pytest.fixture(params=[classifier, streaming], ids=["images", "stream"])
def exported(request, tmp_path):
    return Exported(request.param(), tmp_path)


class TestCompiled:
    pytestmark = compiles

    def test_the_self_test_passes_with_the_bits_of_the_chip_alone(self, exported):
        exported.answer()
        program = compile_project(exported.project, exported.folder)
        checks = 6 if exported.network.graph.states else 2
        done = subprocess.run([program], cwd=exported.folder, capture_output=True, text=True)
        assert done.stdout.count("PASS x") == checks, done
        assert f"0 of {checks} outputs differ from the goldens of ESP-DL 3.3.9, esp32s3" in (
            done.stdout
        )
        assert done.returncode == 0
        exported.answer(damage="y")
        done = subprocess.run([program], cwd=exported.folder, capture_output=True, text=True)
        wrong = 3 if exported.network.graph.states else 1
        assert (done.returncode, done.stdout.count("FAIL layer=x1/")) == (wrong, wrong)

    def test_the_link_validates_every_layer(self, exported, monkeypatch):
        exported.answer()
        on = f"command:{compile_project(exported.project, exported.folder, link=True)}"
        monkeypatch.chdir(exported.folder)
        found = qemu_nn.validate(exported.path, exported.x, on)
        assert (found.functions, found.same) == ("ESP-DL", True)
        assert found.profile == "ESP-DL 3.3.9, esp32s3"
        assert (found.counts, found.clock) == ("cycles", 240_000_000)
        names = [layer.layer for layer in found.layers]
        streams = bool(exported.network.graph.states)
        assert names == (["seen", "y"] if streams else ["a", "d", "s", "p", "y"])
        exported.answer(damage=names[0])
        found = qemu_nn.validate(exported.path, exported.x, on)
        assert [layer.layer for layer in found.layers if layer.differing] == names[:1]
        with pytest.raises(Error, match="leave the target out, or flash"):
            qemu_nn.validate(exported.path, exported.x, on, target="esp32c3")

    def test_another_network_on_the_device_is_a_sentence(self, tmp_path):
        device = Exported(classifier(), tmp_path)
        device.answer()
        on = f"command:{compile_project(device.project, tmp_path, link=True)}"
        other = conv(draw((3, 3, 3, 16)), (1, 6, 6, 3)).write(tmp_path / "other.espdl")
        with pytest.raises(Error, match="the device runs another network: 'net'"):
            qemu_nn.validate(other, None, on)


def test_a_project_pins_its_chip_and_release(tmp_path):
    path = classifier(target="esp32p4").write(tmp_path / "net.espdl")
    written = qemu_nn.export(path, tmp_path / "project", target="esp32p4", name="digits")
    component = tmp_path / "project/components/digits"
    text = (component / "idf_component.yml").read_text()
    assert 'espressif/esp-dl: "==3.3.9"' in text
    assert "- esp32p4" in text
    assert "esp-nn" not in text
    for part in ("", "link/"):
        settings = (tmp_path / f"project/{part}sdkconfig.defaults").read_text()
        assert 'CONFIG_IDF_TARGET="esp32p4"' in settings
        assert "CONFIG_NN" not in settings
        assert ("CONFIG_ESP_CONSOLE_NONE=y" in settings) == bool(part)
    file = (tmp_path / "project/digits.espdl").read_bytes()
    numbers = re.findall(r"\b\d+\b", (component / "digits_model.c").read_text().partition("{")[2])
    assert bytes(map(int, numbers)) == file == path.read_bytes()
    assert written.flash == len(file)
    manifest = json.loads((tmp_path / "project/manifest.json").read_text())
    assert manifest["profile"]["esp_dl"] == "3.3.9"
    assert "Mind: " in (tmp_path / "project/README.md").read_text()


@pytest.mark.parametrize("target", ["esp32c3", "esp32s3", "esp32p4"])
def test_file_of_a_network_without_one_is_written_for_the_chip(tmp_path, target):
    network = qemu_nn.load(classifier().write(tmp_path / "net.espdl"))
    network.save(tmp_path / "net.qnz")
    qemu_nn.export(tmp_path / "net.qnz", tmp_path / "project", target=target)
    (path,) = (tmp_path / "project").rglob("*.espdl")
    again = qemu_nn.load(path)
    x = draw_inputs(network.graph, 3)
    for chip in (target, "esp32"):
        wanted = network.session(chip).run(x)
        np.testing.assert_array_equal(again.session(chip).run(x)["y"], wanted["y"])
    qemu_nn.export(path, tmp_path / "again", target=target)


def test_what_a_chip_does_not_read_is_not_exported(tmp_path):
    path = classifier().write(tmp_path / "net.espdl")
    with pytest.raises(
        ModelError, match="kernels of the esp32c3 read them in the order of generic"
    ):
        qemu_nn.export(path, tmp_path / "project", target="esp32c3")
    other = CASES["swish_s16"]().write(tmp_path / "other.espdl")
    with pytest.raises(ModelError, match=r"'y' calls esp_dl_.*give export\(\) the path of it"):
        qemu_nn.export(qemu_nn.load(other), tmp_path / "project", target="esp32s3")
    with pytest.raises(Error, match="leave them out"):
        qemu_nn.export(path, tmp_path / "project", target="esp32s3", weights="blob")
    with pytest.raises(Error, match="calls ESP-DL, which runs on chips of the ESP32 family"):
        qemu_nn.export(path, tmp_path / "project", target="m4")
    pack = tmp_path / "pack.espdl"
    pack.write_bytes(pack_models({"one": contain(classifier().pack())}))
    with pytest.raises(ModelError, match="it is a pack"):
        qemu_nn.export(pack, tmp_path / "project", target="esp32s3")
    assert not (tmp_path / "project").exists()


def test_names_of_tensors_are_safe_in_c(tmp_path):
    model = classifier()
    for place in (model.values, model.outputs, model.nodes[-1][3]):
        if isinstance(place, dict):
            place['y"??/\n'] = place.pop("y")
        else:
            place[0] = 'y"??/\n'
    path = model.write(tmp_path / "net.espdl")
    qemu_nn.export(path, tmp_path / "project", target="esp32s3")
    source = (tmp_path / "project/components/network/network.cc").read_text()
    assert r'{"y\042\077\077/\012", "", 10}' in source
