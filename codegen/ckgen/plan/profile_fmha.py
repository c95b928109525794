"""What profiles keep of attention's kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from ckgen.families.fmha.append_config import HipAppendConfig
from ckgen.families.fmha.constraints import FmhaConstraints, constraints_of
from ckgen.families.fmha.enums import FmhaTraits
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.plan.profile import Admission, Clause, Profile, irreplaceable, word_of

_TYPES = ("a", "b", "c")
_OF_SIGNATURE = (*_TYPES, *(field.name for field in fields(FmhaTraits)))
_OF_CONFIG = ("hdim", "splits")


def fmha_admission(
    profiles: Sequence[Profile], signature: FmhaSignature, config: AnyFmhaConfig, source: str
) -> Admission:
    """`admission` of a kernel of attention."""
    return admitted_by(clauses_about(profiles, signature_words(signature), source), signature, config)


@dataclass(frozen=True, slots=True)
class FittingClause:
    """A clause that fits a signature, and the words that it asks of Configs."""

    clause: Clause
    of_config: tuple[tuple[str, frozenset[str]], ...] = ()

    def takes(self, signature: FmhaSignature, config: AnyFmhaConfig) -> bool:
        """Whether it fits one of the signature's kernels."""
        if not self.clause.names_backend(config.backend):
            return False
        words = ((_config_word(signature, config, name), allowed) for name, allowed in self.of_config)
        return all(word is None or word in allowed for word, allowed in words)


def clauses_about(profiles: Sequence[Profile], words: Mapping[str, str], source: str) -> tuple[FittingClause, ...]:
    """The clauses that fit kernels of a source and a signature of these words; without profiles one for all."""
    if not profiles:
        return (FittingClause(Clause()),)
    clauses = (clause for profile in profiles for clause in profile.keep if clause.fmha or not clause.fields)
    fitting = (clause for clause in clauses if clause.names_source(source) and _is_about(clause, words))
    return tuple(
        FittingClause(clause, tuple(said for said in clause.fmha if said[0] in _OF_CONFIG)) for clause in fitting
    )


def admitted_by(clauses: Iterable[FittingClause], signature: FmhaSignature, config: AnyFmhaConfig) -> Admission:
    """What the clauses that are about the signature say of one of its kernels."""
    found = Admission.OUT
    for one in clauses:
        if one.takes(signature, config):
            if not one.clause.cover:
                return Admission.IN
            found = Admission.COVER
    return found


def _is_about(clause: Clause, words: Mapping[str, str]) -> bool:
    return all(name in _OF_CONFIG or words[name] in allowed for name, allowed in clause.fmha)


def fmha_sources(profiles: Sequence[Profile]) -> frozenset[str]:
    """The kernel sets that profiles choose attention's kernels from, beside the defaults."""
    clauses = (clause for profile in profiles for clause in profile.keep if clause.fmha)
    return frozenset(source for clause in clauses for source in clause.sources or ())


def signature_words(signature: FmhaSignature) -> dict[str, str]:
    """By name of a type or trait the word that profiles have for it."""
    values = ((name, getattr(signature if name in _TYPES else signature.traits, name)) for name in _OF_SIGNATURE)
    return {name: word_of(value) for name, value in values}


def _config_word(signature: FmhaSignature, config: AnyFmhaConfig, name: str) -> str | None:
    """A kernel's word; None where it has none: a CPU takes all head dims."""
    asked = constraints_of(signature, config)
    if name == "splits":
        return word_of(asked.max_splits > 1)
    every = isinstance(config, HostFmhaConfig | HipAppendConfig)
    return None if every else f"{asked.hdim_q}x{asked.hdim_v}"


def fmha_names() -> tuple[str, ...]:
    """What a clause may name of attention: types, traits, head dims of Q and V as in `128x128`, and splits of keys."""
    return (*_OF_SIGNATURE, *_OF_CONFIG)


def covering_fmha(signature: FmhaSignature, configs: Sequence[AnyFmhaConfig]) -> tuple[int, ...]:
    """Of these kernels, in order of preference, those that no other one replaces."""
    asked = [constraints_of(signature, config) for config in configs]
    return irreplaceable(len(configs), lambda one, other: covers_fmha(asked[one], asked[other]))


def covers_fmha(wide: FmhaConstraints, narrow: FmhaConstraints) -> bool:
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
        and (narrow.needs_keys or not wide.needs_keys)
        and (narrow.needs_finite or not wide.needs_finite)
        and _is_most(wide.max_keys, narrow.max_keys)
        and _is_most(wide.cache_limit, narrow.cache_limit)
        and (wide.sink_tokens or not narrow.sink_tokens)
        and (wide.takes_gaps_q or not narrow.takes_gaps_q)
        and (wide.topleft_slopes or not narrow.topleft_slopes)
    )


def _is_most(wide: int, narrow: int) -> bool:
    """Whether a limit takes all that another one does; 0 is none."""
    return wide == 0 or 0 < narrow <= wide
