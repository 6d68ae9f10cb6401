"""Calls that stand for every op of the s8 and s16 API."""

from __future__ import annotations

from .cases import Case
from .s8_rest_cases import REST_CASES

AFFINE_CASES = tuple(Case(function, params) for function, params in REST_CASES)
