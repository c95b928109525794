"""Attention called with tensors: rows of a sequence first, as flash attention has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckgen.families.common.call import Called, OperationCall, Result, Views, refuse_beside
from ckgen.families.fmha.call_backward import BACKWARD_NAMES, backward_fields, backward_results
from ckgen.families.fmha.call_options import FmhaOptions
from ckgen.families.fmha.call_parts import INDICES, common_fields, signature_of
from ckgen.families.fmha.call_sizes import shape_of
from ckgen.families.fmha.call_strides import lse_fields, lse_shape
from ckgen.families.fmha.enums import FmhaEntry
from ckgen.families.fmha.signature import FmhaSignature, parse_signature
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape


class FmhaCall(OperationCall):
    """out [B, Sq, Hq, Dv] of q [B, Sq, Hq, D], k [B, Sk, Hk, D] and v [B, Sk, Hk, Dv]; with seqstart [T, H, D]."""

    options_type = FmhaOptions

    def names(self, options: Any) -> tuple[str, ...]:
        """Results first."""
        if _goes_back(options):
            return BACKWARD_NAMES
        return ("out", "lse", "q", "k", "v", "bias", "sink", "q_descale", "k_descale", "v_descale", *INDICES)

    def is_kept(self, options: Any) -> bool:
        """Not with dropout, whose offset is another in each call."""
        return not options.dropout

    def results(self, views: Views, options: FmhaOptions) -> Mapping[str, Result]:
        """O, and lse where it is asked for; or the gradients."""
        signature, shape = signature_of(views, options), shape_of(views, options)
        if _goes_back(options):
            return backward_results(views, signature, options)
        found = {"out": Result((*views["q"].shape[:-1], shape.hdim_v), signature.c)}
        if signature.traits.lse:
            found["lse"] = Result(lse_shape(shape, signature.traits.varlen), DType.FP32)
        return found

    def called(self, views: Views, options: FmhaOptions) -> Called:
        """Attention of one direction."""
        signature, shape = signature_of(views, options), shape_of(views, options)
        fields = common_fields(views, signature, shape, options)
        fields |= (
            backward_fields(views, signature, shape) if _goes_back(options) else _written_lse(views, signature, shape)
        )
        return Called(signature.canonical(), shape, fields)


def _goes_back(options: FmhaOptions) -> bool:
    entry = FmhaEntry.BACKWARD if options.backward else FmhaEntry.FORWARD
    if options.signature is not None:
        entry = parse_signature(options.signature, None).traits.entry
    if entry is FmhaEntry.APPEND:
        raise UsageError(f"{options.signature} puts rows into a cache, which is no call with tensors")
    return entry is FmhaEntry.BACKWARD


def _written_lse(views: Views, signature: FmhaSignature, shape: FmhaShape) -> dict[str, Any]:
    if signature.traits.lse:
        return lse_fields(views, shape, signature.traits.varlen)
    refuse_beside(views, ("lse",), "the signature writes none: with_lse=True")
    return {}
