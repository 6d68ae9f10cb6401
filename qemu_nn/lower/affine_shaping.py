"""What moves elements, as calls of the s8 API."""
