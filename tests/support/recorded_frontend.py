"""Features that the library of the micro frontend computed."""

import numpy as np
from paths import GOLDEN

with np.load(GOLDEN / "micro_frontend.npz") as _stored:
    RECORDED = dict(_stored)
