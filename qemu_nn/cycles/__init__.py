"""Instructions and cycles of CMSIS-NN calls on a device."""
