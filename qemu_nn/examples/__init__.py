"""Programs to read and to run: `python -m qemu_nn.examples.lenet5_npu`."""
