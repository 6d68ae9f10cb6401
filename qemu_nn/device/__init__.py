"""Networks on a device, over a link: the protocol, transports, and emulated boards."""
