"""How hypothesis runs here: the same examples every time, and whatever fails can be run again."""

from hypothesis import settings

settings.register_profile(
    "same", derandomize=True, deadline=None, print_blob=True, report_multiple_bugs=False
)
settings.load_profile("same")
