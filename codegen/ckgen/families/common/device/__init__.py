"""What the device code of every operation is described with."""
