"""GEMM kernels through ckgen's own dispatcher, whose GPU is the emulator."""
