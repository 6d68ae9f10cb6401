"""Model files of other frameworks, written from quantized networks: a package for each format."""
