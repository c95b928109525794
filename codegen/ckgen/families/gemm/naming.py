"""An instance's one name and its id."""

from __future__ import annotations

import hashlib

from ckgen.families.gemm.config import GemmConfig, strategy_of
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.backend import Backend
from ckgen.model.config import Config


def instance_name(signature: GemmSignature, backend: Backend, config: Config) -> str:
    """`<canonical signature>_<backend>_<config>`: identifier-safe, injective over all three."""
    return f"{signature.canonical()}_{backend}_{config.text()}"


def instance_id(name: str) -> int:
    """The first 64 bits of the name's SHA-256."""
    return int(hashlib.sha256(name.encode("ascii")).hexdigest()[:16], 16)


def ops_word(signature: GemmSignature, config: GemmConfig) -> str:
    """The word of `--ops` that asks for such an instance."""
    return "stream_k" if strategy_of(config).is_stream_k else str(signature.op)
