"""Validation of JSON by the parts of JSON Schema that the package's schemas use."""

import re

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}
KEYWORDS = {"type", "properties", "patternProperties", "required", "additionalProperties", "items"}
NOTES = {"$schema", "title", "description"}


def find_faults(value, schema, place="$"):
    """Yield a sentence for each part of a value that a schema does not allow."""
    unknown = set(schema) - KEYWORDS - NOTES
    assert not unknown, f"{place}: keywords {unknown} are not supported"
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(is_of_type(value, each) for each in types):
        yield f"{place}: {value!r} is none of {types}"
    elif isinstance(value, dict):
        yield from _find_object_faults(value, schema, place)
    elif isinstance(value, list) and "items" in schema:
        for number, entry in enumerate(value):
            yield from find_faults(entry, schema["items"], f"{place}[{number}]")


def is_of_type(value, name):
    """Return true if a value is of a type of JSON."""
    if name in ("integer", "number"):
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole or (name == "number" and isinstance(value, float))
    return isinstance(value, TYPES[name])


def _find_object_faults(value, schema, place):
    for name in schema.get("required", []):
        if name not in value:
            yield f"{place}: {name!r} is missing"
    for name, entry in value.items():
        patterns = schema.get("patternProperties", {}).items()
        found = [each for pattern, each in patterns if re.search(pattern, name)]
        if name in schema.get("properties", {}):
            found.append(schema["properties"][name])
        if found:
            for each in found:
                yield from find_faults(entry, each, f"{place}.{name}")
        elif schema.get("additionalProperties", True) is False:
            yield f"{place}: {name!r} is not described"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from find_faults(entry, schema["additionalProperties"], f"{place}.{name}")


def iterate_parts(schema, place="$"):
    """Yield every schema of a property inside a schema, and its place."""
    for name, each in schema.get("properties", {}).items():
        yield f"{place}.{name}", each
        yield from iterate_parts(each, f"{place}.{name}")
    if "items" in schema:
        yield from iterate_parts(schema["items"], f"{place}[]")
