"""The NVIDIA toolchain: pinned wheels or a CUDA, and CUTLASS."""
