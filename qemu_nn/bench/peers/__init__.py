"""Other runtimes on the same networks: the same geometry, weights and shifts, as their own models."""
