"""Arrays, plans and files in, tables and findings out: nothing here runs a network."""
