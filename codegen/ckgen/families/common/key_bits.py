"""How many bits each member of a signature takes in its key: the numbers of ckgen/key_bits.hpp."""

from __future__ import annotations

FLAG = 1
OP = 3
DTYPE = 5
LAYOUT = 3
QUANT = 4
EPILOGUE_OP = 3
OPERAND_OP = 2
MOE_PART = 2
SCALE_BLOCK = 3
SCALE_SIDES = 2
FMHA_ENTRY = 1
FMHA_BIAS = 2
FMHA_DROPOUT = 2
FMHA_QUANT = 2
FMHA_KV = 2
FMHA_KV_LAYOUT = 1
FMHA_ROPE = 2

SIGNATURE = 59
"""A whole key."""
