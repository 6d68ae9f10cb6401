"""What leaves for the firmware engineer: C headers, goldens and what checks them on the device."""
