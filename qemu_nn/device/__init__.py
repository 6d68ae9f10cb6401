"""Networks on a device, over a link: its protocol, ways to reach it, emulated boards."""
