"""GEMM instances as device code: which kernels an instance has and the text that they are compiled from."""
