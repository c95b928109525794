"""Device code of grouped GEMM instances."""
