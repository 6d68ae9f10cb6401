"""Data that the comparisons of quantizers calibrate with and judge by."""

import numpy as np

#: Seeds of calibration and of test data.
SEEDS = (1, 2)


def smooth(shape, seed, count):
    """Images of noise whose neighbouring pixels are alike, [n, c, h, w], of unit variance."""
    channels, height, width = shape
    rng = np.random.default_rng(seed)
    far = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width))
    far[0, 0] = 1 / max(height, width)
    spectrum = np.fft.rfft2(rng.normal(size=(count, channels, height, width))) / far
    images = np.fft.irfft2(spectrum, s=(height, width))
    return (images / images.std()).astype(np.float32)


def digits(path, count):
    """Handwritten digits of a data.npz: `count` images of training, and all those of the test."""
    held = np.load(path)
    images = np.kron(held["images"] / 16, np.ones((3, 3)))
    images = np.pad(images, ((0, 0), (2, 2), (2, 2)))[:, None].astype(np.float32)
    return images[held["train_index"][:count]], images[held["test_index"]]
