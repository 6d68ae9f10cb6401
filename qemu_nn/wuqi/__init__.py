"""The NPU: its layers, quantization, packs and training; ndk/ exports the names of its kit."""
