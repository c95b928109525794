"""Attention forward, as `ckgen/fmha.hpp` defines it."""
