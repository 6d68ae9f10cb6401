"""What users call, and the only place where stages meet."""
