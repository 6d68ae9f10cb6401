"""Archives of tests/golden: .tflite files, their inputs, and their outputs on a device.

An archive has arrays NAME/file, NAME/input_0, NAME/output_0 and so on. A build of TensorFlow Lite
Micro computed the outputs.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import recorded_tflite
from paths import GOLDEN

import qemu_nn


@dataclass(frozen=True)
class Archive:
    """An archive of recorded .tflite files.

    build: options of the session that computes as the recorded build; one_sequence: the samples of
    a network with states are one sequence.
    """

    stem: str
    build: dict = field(default_factory=dict, hash=False)
    one_sequence: bool = False

    @cache  # noqa: B019
    def content(self):
        """Return name -> array of the archive."""
        with np.load(GOLDEN / f"{self.stem}.npz") as arrays:
            return dict(arrays)

    def names(self):
        """Return the names of the files."""
        return sorted(key.removesuffix("/file") for key in self.content() if key.endswith("/file"))

    def arrays(self, name):
        """Return the arrays that were recorded with a file."""
        start = f"{name}/"
        found = {k[len(start) :]: v for k, v in self.content().items() if k.startswith(start)}
        if self.stem == "tflm_detection" and "two_classes" not in name:
            return {**found, **written_detections(found)}
        return found

    def write(self, name, folder):
        """Write a file to a folder and return its path."""
        path = folder / f"{name}.tflite"
        path.write_bytes(self.content()[f"{name}/file"].tobytes())
        return path

    def load(self, name, folder):
        """Return the network of a file."""
        return qemu_nn.load(self.write(name, folder))

    def inputs(self, network, name):
        """Return the recorded inputs of a run: [N, ...], of a network with states [N, T, ...]."""
        x = recorded_tflite.given(network.graph, self.arrays(name))
        if not network.graph.states:
            return x
        axis = 0 if self.one_sequence else 1
        return {key: np.expand_dims(values, axis) for key, values in x.items()}

    def wrong(self, network, name, results):
        """Return output -> count of elements that differ from the recording, of such outputs."""
        return recorded_tflite.wrong(network.graph, results, self.arrays(name))

    def differences(self, network, name, **options):
        """Run a network and return what differs from the recording, as `wrong` does."""
        if not (self.one_sequence and network.graph.states):
            return recorded_tflite.differences(
                network, self.arrays(name), target=qemu_nn.Target(**self.build), **options
            )
        session = network.session(qemu_nn.Target(**self.build), **options)
        return self.wrong(network, name, session.run(self.inputs(network, name)))


def written_detections(arrays):
    """Return the recorded detections, with 0 in the rows that the device does not write.

    The device leaves the previous contents of memory there. The recordings of two classes need no
    change: their memory was 0.
    """
    found = {key: arrays[key].copy() for key in ("output_0", "output_1", "output_2")}
    for sample, count in enumerate(arrays["output_3"].astype(int).ravel()):
        for values in found.values():
            values[sample, 0, count:] = 0
    return found


ARCHIVES = {
    archive.stem: archive
    for archive in (
        *map(Archive, ("tflm_detection", "tflm_elementwise", "tflm_float", "tflm_moving")),
        *map(Archive, ("tflm_reduce", "tflm_signal")),
        Archive("tflm_more", {"kernels": "reference", "tflm": "2026-10"}, one_sequence=True),
    )
}
