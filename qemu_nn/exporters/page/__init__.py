"""Networks as self-contained pages that compute the device's bits in a browser."""
