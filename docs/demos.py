"""Pages of the site on which networks of the package run in the visitor's browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import qemu_nn
from qemu_nn.api.golden import example

DEMO = Path(qemu_nn.__file__).parent / "demo"

#: Paragraph of the start page that links the pages.
LINKS = """
```{raw} html
<p><b>In this browser, offline:</b> <a href="run-digits.html">draw a digit</a> or
<a href="run-wake-tone.html">listen for a rising tone</a>, with the device's bits.</p>
```
"""


def write(folder: Path) -> None:
    """Write the pages into the site's folder; Error if there is no WebAssembly core."""
    _, x, y = example()
    images = x[:20] / np.float32(128)
    targets = ["m4", qemu_nn.Target("m4", rounding="single")]
    network = qemu_nn.load(DEMO / "digits.tflite")
    qemu_nn.page(network, folder / "run-digits.html", target=targets, data=(images, y[:20]))
    front = qemu_nn.chain(qemu_nn.micro_frontend(), hops=(160,))
    qemu_nn.page(DEMO / "wake_tone.tflite", folder / "run-wake-tone.html", front_end=front)
