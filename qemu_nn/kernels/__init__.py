"""The C kernel table in Python, and one way to call any row on arrays."""
