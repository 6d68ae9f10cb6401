"""Arrays and files in, findings out: nothing here runs a network."""
