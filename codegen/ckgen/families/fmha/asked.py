"""An attention problem as a command line says it: sizes as KEY=VALUE; and those sizes as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ckgen.families.common.asked import Asked, is_integer
from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.enums import FmhaRope, FmhaTraits
from ckgen.families.fmha.explain import mask_text
from ckgen.families.fmha.problem import has_lengths
from ckgen.families.fmha.signature import OP, FmhaSignature, parse_signature
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import SIZES, FmhaShape
from ckgen.model.suggestion import did_you_mean

_PAGED = ("page_size", "pages")
_MASK, _TOTAL, _NEW, _ROTARY = "mask", "total_q", "seqlen_new", "rotary_dim"
_LEAST, _FINITE, _GAPS = "min_seqlen_k", "finite_kv", "gaps_q"
KEYS = (*SIZES, _MASK, *_PAGED, _NEW, _ROTARY, _TOTAL, _LEAST, _FINITE, _GAPS)
_REQUIRED = ("heads_q", "seqlen_q", "hdim_q")
_LIKE = {"heads_k": "heads_q", "seqlen_k": "seqlen_q", "hdim_v": "hdim_q"}
"""What a size is where it is not said."""
_REQUIRED_OF_APPEND = ("heads_q", "seqlen_new", "seqlen_k", "hdim_q")
_LIKE_OF_APPEND = {"heads_k": "heads_q", "hdim_v": "hdim_q"}
_LIKE_OF_ROPE = {"seqlen_q": "seqlen_new", "rotary_dim": "hdim_q"}


def signature_in(op: str) -> str | None:
    """What stands behind `fmha:` or `fmha_` in an argument OP; None in any other, and in `fmha` itself."""
    for mark in (":", "_"):
        if op.startswith(f"{OP}{mark}"):
            return op.removeprefix(f"{OP}{mark}")
    return None


def asked_signature(asked: Asked, flavour: Fp8Flavour | None) -> FmhaSignature:
    """The signature that OP or --signature says; UsageError for none or two, and for options of other ops."""
    asked.refuse_beside(OP, ("sizes",))
    inside, given = signature_in(asked.op), asked.signature
    if (inside is None) == (given is None):
        raise UsageError(f"{OP} needs one signature: behind its colon, as in fmha:bf16_masked, or as --signature")
    text = inside or given or ""
    return parse_signature(text.strip(), flavour)


def asked_shape(signature: FmhaSignature, words: Sequence[str]) -> FmhaShape:
    """The sizes of KEY=VALUE words; UsageError names the word that is wrong, and those that are missing."""
    traits = signature.traits
    said = _said(words, _keys_of(traits))
    rotates = traits.rope is not FmhaRope.NONE
    missing = [key for key in (_REQUIRED_OF_APPEND if appends(traits) else _REQUIRED) if key not in said]
    if missing:
        raise UsageError(f"{signature} needs {', '.join(f'{key}=…' for key in missing)}")
    for key, like in ((_LIKE_OF_APPEND | (_LIKE_OF_ROPE if rotates else {})) if appends(traits) else _LIKE).items():
        said.setdefault(key, said[like])
    sizes = {key: _integer(key, value) for key, value in said.items() if key != _MASK}
    shape = FmhaShape(**sizes)  # type: ignore[arg-type]
    return _masked(shape, said[_MASK]) if _MASK in said else shape


def sizes_document(traits: FmhaTraits, shape: FmhaShape) -> dict[str, Any]:
    """The sizes that the traits have a use for, by the keys of `asked_shape`."""
    return {key: mask_text(shape) if key == _MASK else int(getattr(shape, key)) for key in _keys_of(traits)}


def _keys_of(traits: FmhaTraits) -> tuple[str, ...]:
    """The sizes that a signature has a use for."""
    return (
        *SIZES,
        *((_MASK,) if traits.masked else ()),
        *(_PAGED if traits.is_paged else ()),
        *((_NEW,) if appends(traits) else ()),
        *((_ROTARY,) if traits.rope is not FmhaRope.NONE else ()),
        *((_TOTAL,) if traits.varlen else ()),
        *((_LEAST,) if has_lengths(traits) else ()),
        *((_FINITE,) if traits.is_paged else ()),
        *((_GAPS,) if traits.varlen else ()),
    )


def _said(words: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, word in enumerate(words, 1):
        key, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"word {place}, '{word}', is no KEY=VALUE (keys: {', '.join(known)})")
        if key not in known:
            raise UsageError(f"word {place}, '{word}': {_unknown(key, known)}")
        if key in found:
            raise UsageError(f"word {place}, '{word}': {key} stands twice")
        found[key] = value
    return found


def _unknown(key: str, known: Sequence[str]) -> str:
    if key in KEYS:
        return f"the signature has no use for {key} (keys: {', '.join(known)})"
    near = did_you_mean(key, known)
    return f"unknown key '{key}'" + (f"; {near}" if near is not None else f" (keys: {', '.join(known)})")


def _integer(key: str, text: str) -> int:
    if not is_integer(text):
        raise UsageError(f"{key}={text}: not an integer")
    return int(text)


def _masked(shape: FmhaShape, text: str) -> FmhaShape:
    """The sizes with a mask; `window:LEFT,RIGHT` is one at the bottom right."""
    from ckgen.families.fmha.mask import parse_mask

    mask = parse_mask(f"b:{text.removeprefix('window:')}" if text.startswith("window:") else text)
    return replace(
        shape,
        corner=mask.corner,
        window_left=mask.left,
        window_right=mask.right,
        sink_tokens=mask.sink_tokens,
    )
