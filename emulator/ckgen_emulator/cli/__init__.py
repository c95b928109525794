"""`ckgen emulate`."""
