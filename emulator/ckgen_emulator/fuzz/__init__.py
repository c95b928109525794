"""The emulated part of `ckgen fuzz`: random problems of GPU kernels."""
