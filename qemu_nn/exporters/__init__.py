"""Writers of other frameworks' model files from quantized networks, one package per format."""
