"""What profiles may name of attention's kernels, and which of them replace others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache

from ckgen.families.common.profile_words import irreplaceable, legal_words, word_of
from ckgen.families.fmha.append_config import HipAppendConfig
from ckgen.families.fmha.constraints import FmhaConstraints, constraints_of
from ckgen.families.fmha.enums import FmhaTraits
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.kernel_set import trait_words
from ckgen.families.fmha.signature import FmhaSignature

_TYPES = ("a", "b", "c")
_TRAITS = tuple(field.name for field in fields(FmhaTraits))
OF_CONFIG = ("hdim", "splits")


@cache
def profile_words() -> Mapping[str, tuple[str, ...] | None]:
    """What a clause may name: types, traits, head dims of Q and V as in `128x128`, and splits of keys."""
    types = {name: legal_words(FmhaSignature, name) for name in _TYPES}
    return {**types, **{name: trait_words(name) for name in _TRAITS}, "hdim": None, "splits": ("true", "false")}


def signature_word(signature: FmhaSignature, name: str) -> str:
    """The word that profiles have for a type or trait."""
    return word_of(getattr(signature if name in _TYPES else signature.traits, name))


def config_word(signature: FmhaSignature, config: AnyFmhaConfig, name: str) -> str | None:
    """A kernel's word; None where it has none: a CPU takes all head dims."""
    asked = constraints_of(signature, config)
    if name == "splits":
        return word_of(asked.max_splits > 1)
    every = isinstance(config, HostFmhaConfig | HipAppendConfig)
    return None if every else f"{asked.hdim_q}x{asked.hdim_v}"


def covering(asked: Sequence[FmhaConstraints]) -> tuple[int, ...]:
    """Of kernels that ask so, in order of preference, those that no other one replaces."""
    return irreplaceable(len(asked), lambda one, other: covers(asked[one], asked[other]))


def covers(wide: FmhaConstraints, narrow: FmhaConstraints) -> bool:
    """Whether every problem that `narrow` takes, `wide` takes too."""

    def takes(multiple: int, most: int, of: int, most_of: int) -> bool:
        return most >= most_of and (of or most_of) % (multiple or most) == 0

    return (
        takes(wide.d_multiple, wide.hdim_q, narrow.d_multiple, narrow.hdim_q)
        and takes(wide.dv_multiple, wide.hdim_v, narrow.dv_multiple, narrow.hdim_v)
        and (wide.pad_q or (not narrow.pad_q and narrow.m0 % wide.m0 == 0))
        and (wide.pad_k or (not narrow.pad_k and narrow.n0 % wide.n0 == 0))
        and narrow.page_multiple % wide.page_multiple == 0
        and narrow.rotary_multiple % wide.rotary_multiple == 0
        and _is_most(wide.max_page, narrow.max_page)
        and _is_most(wide.max_rows, narrow.max_rows)
        and _is_most(wide.max_group, narrow.max_group)
        and (narrow.causal_only or not wide.causal_only)
        and (narrow.topleft_only or not wide.topleft_only)
        and (narrow.needs_keys or not wide.needs_keys)
        and (narrow.needs_finite or not wide.needs_finite)
        and _is_most(wide.max_keys, narrow.max_keys)
        and _is_most(wide.cache_limit, narrow.cache_limit)
        and (wide.sink_tokens or not narrow.sink_tokens)
        and (wide.takes_gaps_q or not narrow.takes_gaps_q)
        and (wide.topleft_slopes or not narrow.topleft_slopes)
        and (narrow.unordered_dq or not wide.unordered_dq)
        and (narrow.last_resort or not wide.last_resort)
    )


def _is_most(wide: int, narrow: int) -> bool:
    """Whether a limit takes all that another one does; 0 is none."""
    return wide == 0 or 0 < narrow <= wide
