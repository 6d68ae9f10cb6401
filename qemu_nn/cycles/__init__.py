"""How many instructions and cycles calls of CMSIS-NN take on a device."""
