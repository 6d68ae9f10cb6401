"""Where the stages meet on a network's way out of here: goldens and a firmware project."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

import numpy as np

from ..firmware import project
from ..firmware.project import Firmware
from ..io.arguments import as_array, as_flag, as_path
from ..runtime.session import Session
from ..targets import DEFAULT_CORE
from ..testing.calls import random_inputs
from .golden import about, write_goldens
from .network import Network, quantized


def export(
    network: Union[Network, str, Path],
    folder: Union[str, Path],
    target: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    x: Optional[np.ndarray] = None,
    one_header: bool = False,
    force: bool = False,
) -> Firmware:
    """Write the network as C that calls CMSIS-NN, with a self-test on the goldens of `x`.

    network: or the file of one. x: as golden() takes it; two inputs at random, always the same, if
    not given. folder: new, empty, or an earlier export, which is replaced; with `force`, even where
    its files were edited since. one_header: write layers.h, everything as plain macros, too.
    Raises Error as golden() does, and where a device could not run the network so.
    """
    network, folder = quantized(network), as_path(folder, "the folder of an export").resolve()
    wanted, one_header = network.profile(target, cmsis, rounding), as_flag(one_header, "one_header")
    session = Session(network.graph, wanted, trace=True)
    said = about(session, target)
    x = random_inputs(network.graph, 2) if x is None else as_array(x, "the input")
    with project.replacing_earlier(folder, as_flag(force, "force")) as fresh:
        goldens = write_goldens(session, said, x, fresh / project.GOLDENS)
        steps = x.shape[1] if network.graph.states else 1
        return project.write(fresh, session.plan, said, goldens, steps, one_header)
