"""Devices for tests of the link: exports built for this PC, and lines that damage bytes."""

import subprocess
from random import Random

import exported

from qemu_nn.device.transports import Command


def built(folder, network, **how):
    """Build an export's end of the link as a program for this PC."""
    exported.write(folder, network, **how)
    return make(folder)


def make(folder, target="link", program="link"):
    """Build an export's end of the link; returns the program."""
    command = ["make", "-C", str(folder), target, f"CFLAGS={exported.STRICT}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder / "build" / program


class Line:
    """A transport to a transport: what passes may be changed by either function, bytes to bytes."""

    def __init__(self, inner, there=bytes, back=bytes):
        self.inner, self.there, self.back = inner, there, back
        self.errors = 0

    def read(self, timeout):
        return self.back(self.inner.read(timeout))

    def write(self, content):
        self.inner.write(self.there(content))

    def close(self):
        self.inner.close()


def noise(seed, one_in):
    """Drops, doubles and flips one byte in so many, each kind alike."""
    rng = Random(seed)

    def noisy(content):
        passed = bytearray()
        for byte in content:
            fate = rng.randrange(3 * one_in)
            if fate == 1:
                passed += bytes([byte, byte])
            elif fate == 2:
                passed.append(byte ^ 1 << rng.randrange(8))
            elif fate:
                passed.append(byte)
        return bytes(passed)

    return noisy


class Resetting:
    """A program that is started anew before some of the requests, counted from 0."""

    def __init__(self, program, resets):
        self._program, self._resets, self._count = program, resets, -1
        self.inner = Command([str(program)])
        self.errors = 0

    def read(self, timeout):
        return self.inner.read(timeout)

    def write(self, content):
        self._count += 1
        if self._count in self._resets:
            self.inner.close()
            self.inner = Command([str(self._program)])
        self.inner.write(content)

    def close(self):
        self.inner.close()
