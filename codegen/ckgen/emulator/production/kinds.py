"""The kinds of production kernels that are run."""

from __future__ import annotations

from ckgen.emulator.production import bf16_gemm, fp4_gemm, int8_gemm
from ckgen.emulator.production.model import Kind

KINDS: dict[str, Kind] = {module.KIND.name: module.KIND for module in (bf16_gemm, int8_gemm, fp4_gemm)}
