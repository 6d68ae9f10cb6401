"""Tables and findings from arrays, plans and files; no module here runs a network."""
