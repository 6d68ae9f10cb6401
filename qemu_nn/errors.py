"""The errors users meet: each message names the thing, the reason and the way out."""

from __future__ import annotations


class Error(ValueError):
    """Base of every error that is the input's fault and not a bug; its text is a sentence."""


class SizeMismatch(Error):
    """The device itself answers ARM_MATH_SIZE_MISMATCH, or another error, to these parameters."""

    status = -3


class Refused(Error):
    """The device would accept the call, but leave its buffers or do nothing; we do not follow."""

    status = -1


class ModelError(Error):
    """A model file, or a file that belongs to one, can not be used as it is."""


class DeviceWarning(UserWarning):
    """The device computes this, but probably not what its author meant."""
