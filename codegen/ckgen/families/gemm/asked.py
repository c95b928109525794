"""The sizes of a GEMM as options say them."""

from __future__ import annotations

from ckgen.families.common.asked import Asked, is_integer
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.errors import UsageError
from ckgen.model.tuned_row import Shape


def asked_shape(signature: GemmSignature, asked: Asked) -> Shape:
    """What --shape and --batch say; UsageError for what is missing, of another op, or no number."""
    asked.refuse_beside(str(signature.op), ("shape", "batch", "module"))
    asked.demand(str(signature.op), "shape")
    return read_shape(signature, asked)


def read_shape(signature: GemmSignature, asked: Asked) -> Shape:
    """Of --shape, which is given, and --batch."""
    text, batch = asked.shape or "", asked.batch
    parts = [part.strip() for part in text.split(",")]
    if batch is not None and len(parts) == 3:
        parts = [batch.strip(), *parts]
    elif batch is not None or len(parts) not in (3, 4) or (signature.batched and len(parts) == 3):
        expected = "B,M,N,K, or M,N,K with --batch," if signature.batched else "M,N,K"
        raise UsageError(f"--shape takes {expected} for {signature}; got '{text}'")
    for part in parts:
        if not is_integer(part):
            raise UsageError(f"--shape '{text}': '{part}' is not an integer")
    m, n, k = (int(part) for part in parts[-3:])
    given = int(parts[0]) if len(parts) == 4 else 0
    return Shape(given if signature.batched or given != 1 else 0, m, n, k)
