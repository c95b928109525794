"""Stream-K as a word of `--ops`: GEMMs that differ in their Configs only."""

from __future__ import annotations

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.family import FamilyOfGemms

FAMILY = FamilyOfGemms("stream_k", Op.GEMM)
