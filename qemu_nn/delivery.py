"""Where the stages meet on a network's way out of here: goldens and a firmware project."""

from __future__ import annotations

from pathlib import Path
from typing import Optional, Union

import numpy as np

from . import __version__
from .bench.calls import random_inputs
from .firmware import project
from .firmware.golden import About
from .firmware.project import Firmware
from .package import model_hash
from .pipeline import Network, golden
from .runtime.plan import plan
from .targets import DEFAULT_CORE


def export(
    network: Network,
    folder: Union[str, Path],
    target: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    x: Optional[np.ndarray] = None,
    one_header: bool = False,
    force: bool = False,
) -> Firmware:
    """Write the network as C that calls CMSIS-NN, with a self-test on the goldens of `x`.

    x: as golden() takes it; two inputs at random, always the same, if not given. folder: new,
    empty, or an earlier export, which is replaced; with `force`, even where its files were edited
    since. one_header: write layers.h, everything as plain macros, too. Raises Error as golden()
    does, and where a device could not run the network so.
    """
    wanted, folder = network.profile(target, cmsis, rounding), Path(folder).resolve()
    about = About(network.graph.name, model_hash(network.graph), __version__, target, wanted)
    traced = plan(network.graph, wanted, trace=True)
    x = random_inputs(network.graph, 2) if x is None else np.asarray(x)
    with project.replacing_earlier(folder, force) as fresh:
        goldens = golden(network, x, fresh / project.GOLDENS, target, cmsis, rounding)
        steps = x.shape[1] if network.graph.states else 1
        return project.write(fresh, traced, about, goldens, steps, one_header)
