"""Times, measured: networks of published geometry, rows of the kernel table, peers beside us."""
