"""Grouped GEMM: many products, each of its own sizes, in one launch."""
