"""A device in Python: a transport that answers as an export's link does, or as a liar does."""

import json
import struct
import time

import numpy as np

from qemu_nn.analysis.dumps import convert_to_stored
from qemu_nn.device import protocol
from qemu_nn.device.protocol import Frame
from qemu_nn.firmware.golden import Names
from qemu_nn.qnz.package import model_hash
from qemu_nn.runtime.session import Session


class FakeDevice:
    """A transport to a device that computes a network without states right.

    said: entries of the description that replace the right ones. hello, report: functions that
    change the answer to HELLO and the fields of a report. sent: changes all bytes on their way to
    the client.
    """

    def __init__(self, network, said=None, hello=None, report=None, sent=bytes, heard=bytes):
        graph = network.graph
        self.session = Session(graph, network.profile("dsp"), trace=True)
        profile, names = self.session.profile, Names()
        for tensor in (*graph.states, *graph.inputs):
            _ = names[tensor.name]
        self.layers = [(names[node.name], node.name) for node in graph.nodes]
        description = {
            "network": graph.name,
            "model": model_hash(graph),
            "core": "cortex-m4",
            "path": profile.path,
            "cmsis": profile.cmsis,
            "rounding": profile.rounding,
            "kernels": profile.kernels,
            "tflm": profile.tflm,
            "functions": "stand-in",
            "inputs": [[tensor.name, tensor.nbytes] for tensor in graph.inputs],
            "outputs": [[name, graph.tensors[name].nbytes] for name in graph.outputs],
            **(said or {}),
        }
        self.description = json.dumps(description).encode()
        self.graph, self.hello, self.report = graph, hello, report
        self.sent, self.heard = sent, heard
        self.inputs = [bytearray(tensor.nbytes) for tensor in graph.inputs]
        self.results, self.stop, self.run = {}, 0, 0
        self.waiting, self.decoder = b"", protocol.Decoder()
        self.errors, self.raw = 0, b""

    def read(self, timeout):
        """Return the answers so far."""
        waiting, self.waiting = self.waiting, b""
        if not waiting:
            time.sleep(min(timeout, 0.001))
        return waiting

    def write(self, content):
        """Answer the requests in these bytes."""
        heard = self.heard(content)
        self.raw = heard.strip(b"\0") if b"\0" in heard else self.raw + heard
        if b"\0" in heard or len(self.raw) >= 48:
            self.tell_damage(heard)
        for frame in self.decoder.feed(heard):
            answer = Frame(frame.kind | protocol.ANSWER, frame.number, frame.session)
            content = self.answered(frame.kind, frame.content)
            sent = protocol.encode_frame(Frame(answer.kind, answer.number, answer.session, content))
            self.waiting += self.sent(sent)

    def tell_damage(self, heard):
        """Send the bytes that are no frame."""
        if not any(True for _ in protocol.Decoder().feed(heard)):
            said = bytes([protocol.DAMAGED]) + self.raw[:48]
            self.waiting += self.sent(protocol.encode_frame(Frame(protocol.REFUSAL, 0, 0, said)))
        self.raw = b""

    def close(self):
        """Ignore the request."""

    def answered(self, kind, content):
        """Return the content of an answer."""
        if kind == protocol.HELLO:
            fields = [protocol.VERSION, 512, len(self.description), 0]
            counts = b""
            if self.hello is not None:
                fields, counts = self.hello(fields, counts)
            return struct.pack("<BHII", *fields) + counts
        if kind == protocol.WRITE:
            what, index, at = struct.unpack_from("<BBI", content)
            if what == protocol.INPUT:
                self.inputs[index][at : at + len(content) - 6] = content[6:]
            return b""
        if kind == protocol.READ:
            return self.memory(*struct.unpack("<BBIH", content))
        if kind == protocol.START:
            self.run, self.stop = struct.unpack_from("<H", content)[0], 0
            self.compute()
        return self.reported()

    def memory(self, what, index, at, size):
        """Return bytes that READ asks for."""
        if what == protocol.DESCRIPTION:
            return self.description[at : at + size]
        name = self.graph.outputs[index] if what == protocol.OUTPUT else self.layer()[1]
        return self.results[name][at : at + size]

    def layer(self):
        """Return the stem and the name of the layer at which the run stands."""
        return self.layers[self.stop - 1]

    def compute(self):
        """Run the network on the inputs that were written."""
        x = {
            tensor.name: np.frombuffer(bytes(held), tensor.dtype).reshape(1, *tensor.shape)
            for tensor, held in zip(self.graph.inputs, self.inputs)
        }
        trace = self.session.run(x, trace=True)
        self.results = {
            name: convert_to_stored(values[0]).tobytes() for name, values in trace.items()
        }

    def reported(self):
        """Return the report at the next stop."""
        self.stop += 1
        ended = self.stop > len(self.layers)
        stem, name = ("", "") if ended else self.layer()
        fields = {
            "run": self.run,
            "stop": self.stop,
            "state": protocol.ENDED if ended else protocol.AT_LAYER,
            "status": 0,
            "count": 0,
            "size": 0 if ended else len(self.results[name]),
            "layer": stem.encode(),
        }
        if self.report is not None:
            fields = self.report(fields)
        layer = fields.pop("layer")
        return struct.pack("<HHBHIIB", *fields.values(), len(layer)) + layer
