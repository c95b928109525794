"""Lines of tables of ckgen's own that are about attention: their sizes are the words of `ckgen explain`."""

from __future__ import annotations

from ckgen.families.common.told_row import ToldRow
from ckgen.families.fmha.asked import asked_shape
from ckgen.families.fmha.explain import mask_text
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.errors import UsageError
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import SIZES, FmhaShape

_DECIDING = (*SIZES, "corner", "window_left", "window_right", "sink_tokens", "page_size")
"""What tells rows apart; the rest of a problem's sizes a table does not hold."""


def told_row(told: ToldRow, signature: FmhaSignature) -> FmhaRow:
    """The row of a line; UsageError where its sizes make no problem."""
    if any((told.batch, told.m, told.n, told.k, told.experts, told.top_k)):
        raise UsageError(f"{signature} has its sizes in the column sizes, and 0 in B to top_k")
    shape = asked_shape(signature, told.sizes.replace(";", ",").split())
    kept = FmhaShape(**{name: getattr(shape, name) for name in _DECIDING})
    return FmhaRow(
        location=told.location,
        layer=told.layer,
        target=told.target,
        direction=signature.traits.entry,
        shape=kept,
        masked=signature.traits.masked,
        kernel=told.kernel,
        k_batch=told.splits,
        us=told.us,
    )


def told_sizes(signature: FmhaSignature, shape: FmhaShape) -> str:
    """The cell of such a line: a comma of a mask stands as `;`."""
    words = [f"{name}={getattr(shape, name)}" for name in SIZES]
    words += [f"mask={mask_text(shape)}"] * signature.traits.masked
    words += [f"page_size={shape.page_size}"] * signature.traits.is_paged
    return " ".join(words).replace(",", ";")
