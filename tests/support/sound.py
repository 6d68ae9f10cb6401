"""Sound of integers alone, the same on every host: noise, saws, steps and clicks, soft and loud."""

import numpy as np


def sound(seconds=2, seed=7):
    rng = np.random.RandomState(seed)  # whose numbers never change
    pieces = [_piece(rng, kind % 6) for kind in range(seconds * 10)]
    return np.clip(np.concatenate(pieces), -32768, 32767).astype(np.int16)


def _piece(rng, kind, length=1600):
    """Return a tenth of a second."""
    at = np.arange(length, dtype=np.int64)
    loud = int(rng.randint(1, 33)) << int(rng.randint(0, 11))
    noise = rng.randint(-loud, loud + 1, length).astype(np.int64)
    if kind == 3:
        return np.where(at // int(rng.randint(9, 99)) % 2, 32767, -32768)
    if kind == 4:  # at 0, too, so that a window has one in its middle
        return np.where(at % 160 == 0, -32768, noise // 1024)
    if kind == 5:
        return np.zeros(length, np.int64)
    saw = (at * int(rng.randint(300, 9000))) % 65536 - 32768
    return saw * loud // 65536 + noise // (8 if kind else 1)
