"""Which word of `--ops` asks for an instance."""

from __future__ import annotations

from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Config


def ops_word(signature: GemmSignature, config: Config) -> str:
    """The word of `--ops` that asks for such an instance."""
    return "stream_k" if strategy_of(config).is_stream_k else str(signature.op)
