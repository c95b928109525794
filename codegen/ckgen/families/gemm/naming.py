"""Which word of `--ops` asks for an instance."""

from __future__ import annotations

from ckgen.families.gemm.config import GemmConfig, strategy_of
from ckgen.families.gemm.signature import GemmSignature


def ops_word(signature: GemmSignature, config: GemmConfig) -> str:
    """The word of `--ops` that asks for such an instance."""
    return "stream_k" if strategy_of(config).is_stream_k else str(signature.op)
