"""Which combinations of a GEMM signature's fields mean something, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator

from ckgen.families.common import signature_check
from ckgen.families.common.signature_tables import default_acc as default_acc
from ckgen.families.common.signature_tables import default_scale as default_scale
from ckgen.families.gemm.signature_fields import GemmFields


def _steps(signature: object) -> int:
    assert isinstance(signature, GemmFields)
    return len(signature.epilogue)


def _d_count(signature: object) -> int:
    assert isinstance(signature, GemmFields)
    return sum(op.takes_d for op in signature.epilogue)


_COUNTS = {"epilogue.steps": _steps, "epilogue.d_count": _d_count}


def problems(signature: GemmFields) -> Iterator[str]:
    """One sentence for each rule that the fields break; none for a signature that means something."""
    return signature_check.problems(signature, _COUNTS)
