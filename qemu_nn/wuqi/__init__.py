"""The NPU: its layers, quantization, packs and training; ndk/ has the names of its kit."""
