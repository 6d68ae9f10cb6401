"""A model file made into a Graph, one file per format."""
