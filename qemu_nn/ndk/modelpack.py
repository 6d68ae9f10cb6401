"""Models to files and back: .prototxt and .npz of a kit, and the .bin that a device loads."""

from ..wuqi.modelpack import load_from_file, load_pack, modelpack, modelpack_from_file, save_to_file

__all__ = ["load_from_file", "load_pack", "modelpack", "modelpack_from_file", "save_to_file"]
