"""Float networks in .tflite files."""

from .network import UNSEEN as UNSEEN
from .network import convert_float as convert_float
from .network import examine_floats as examine_floats
from .network import is_float as is_float
