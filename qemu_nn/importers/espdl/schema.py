"""Tables of an .espdl model: field -> slot, numbered as in ESP-DL's schema."""

from __future__ import annotations

from ...io.espdl_fields import FIELDS
from ..flatbuffer import Schema

_FORMS = {
    **dict.fromkeys(("ir_version", "attr_type", "data_type", "elem_type", "data_location"), "<i"),
    **dict.fromkeys(("model_version", "dim_value", "i"), "<q"),
    **{"f": "<f", "value_type": "<B", "dim_type": "<b"},
}

#: The tables of a model.
SCHEMA = Schema(FIELDS, _FORMS)
