"""Networks that run on a device, over a link: its protocol, ways to reach it, and emulated boards."""
