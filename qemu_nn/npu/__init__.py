"""The NPU: its layers, quantization, packs and training; ndk/ is its kit's own face."""
