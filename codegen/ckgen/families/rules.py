"""The rules of all operations: is this Config valid on this arch for this backend?"""

from __future__ import annotations

from itertools import chain

from ckgen.families.common.signature import Signature
from ckgen.families.registry import FAMILIES, family_of
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.finding import RuleFinding
from ckgen.rules.rule_set import Rule, first_judgement, listed


def judge(signature: Signature, config: Config, backend: Backend, arch: ArchSpec) -> tuple[RuleFinding, ...]:
    """What the backend's own rules have against the Config on this arch, by rule id; empty where it is valid.

    The signature's family judges, or where the Config is none of its the family that the Config is of.
    """
    own = family_of(signature)
    judges = (one for family in chain((own,), FAMILIES.values()) for one in family.judges)
    return first_judgement(judges, signature, config, backend, arch)


def all_rules() -> tuple[Rule, ...]:
    """Every rule of every operation and backend, by id."""
    return listed(one for family in FAMILIES.values() for one in family.judges)
