"""What training on PyTorch shares, of networks of CMSIS-NN and of the NPU."""
