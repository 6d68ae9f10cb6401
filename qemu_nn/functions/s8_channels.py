"""What belongs to an output channel of the s8 and s16 API: bias, multiplier, shift."""

from .extents import Array, Extent, vector


def rows(extent: Extent, dtype: str = "int32", narrow: str = "") -> tuple[Array, ...]:
    """Bias, of this type, which C may be without, multiplier and shift of every output channel."""
    return (
        Array("bias", dtype, (extent,), optional=True, narrow=narrow),
        vector("multiplier", "int32", extent),
        vector("shift", "int32", extent),
    )
