"""Features that the library of the micro frontend computed of the sound of sound.py.

pymicro-features 2.0.2, the library with the settings of microWakeWord, computed `microphone`. The
library in that package's source computed arrays that have settings. `tables` are settings and
checksums of its tables. tflite-micro 0.dev20261023 computed all scores of the same sound:
`preprocessor` and `micro_speech` by the two networks of its example, a score for each row of
features from the 49th on; the wake words by networks on the features of `microphone`.
"""

import numpy as np
from paths import GOLDEN

with np.load(GOLDEN / "micro_frontend.npz") as _stored:
    RECORDED = dict(_stored)
