"""Options of quantize() without their groups, for tests that vary one option at a time."""

GROUPS = {
    "effort": ("steps", "minutes", "resume", "search_range", "tolerance"),
    "budget": ("flash", "ram", "cycles"),
    "options": ("weight_method", "formats", "functions", "softmax"),
}


def grouped(scheme="power2", **flat):
    """Return arguments of quantize() for options by their names alone."""
    level = flat.pop("effort", "fast")
    found = {"scheme": scheme}
    for group, names in GROUPS.items():
        own = {name: flat.pop(name) for name in names if name in flat}
        if own or (group == "effort" and level != "fast"):
            found[group] = {"level": level, **own} if group == "effort" else own
    return {**found, **flat}
