"""The engine: ids, contracts, order, and which rules judge whom; its signatures are texts, its Configs numbers."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds
from ckgen.rules.rule_set import Rule, RuleSet, first_judgement, listed
from ckgen.specs.archs import load_arch

ARCH = load_arch("gfx942")


def small(limit: int, backend: Backend = Backend.CK) -> RuleSet[str, int]:
    rules: RuleSet[str, int] = RuleSet(backend, str, int)

    @rules.rule(f"{backend}.size.upper", source="a test")
    def is_small(signature: str, config: int, arch: ArchSpec) -> RuleFinding | None:
        """It is small.

        Not so small.
        """
        return exceeds(config, limit, f"{signature} on {arch.name}")

    @rules.rule(f"{backend}.size.even", source="a test")
    def is_even(signature: str, config: int, arch: ArchSpec) -> RuleFinding | None:
        """It is even."""
        return broken("odd", config, "even") if config % 2 else None

    return rules


def test_findings_have_their_rules_ids_in_order() -> None:
    assert small(2).judge("gemm", 3, Backend.CK, ARCH) == (
        RuleFinding("ck.size.even", "odd", 3, "even"),
        RuleFinding("ck.size.upper", "gemm on gfx942", 3, 2),
    )
    assert small(2).judge("gemm", 2, Backend.CK, ARCH) == ()


def test_rules_of_configs_are_asked_once_for_each_config_and_arch() -> None:
    rules, asked = small(2), []

    @rules.config_rule("ck.size.least", source="a test")
    def is_large(config: int, arch: ArchSpec) -> RuleFinding | None:
        """It is 4 or more."""
        asked.append((config, arch.name))
        return broken(f"small on {arch.name}", config, 4) if config < 4 else None

    for _ in range(2):
        for name in ("gemm", "other"):
            assert rules.judge(name, 3, Backend.CK, ARCH) == (
                RuleFinding("ck.size.even", "odd", 3, "even"),
                RuleFinding("ck.size.least", "small on gfx942", 3, 4),
                RuleFinding("ck.size.upper", f"{name} on gfx942", 3, 2),
            )
    assert rules.judge("gemm", 2, Backend.CK, load_arch("gfx950")) == (
        RuleFinding("ck.size.least", "small on gfx950", 2, 4),
    )
    assert asked == [(3, "gfx942"), (2, "gfx950")]


def test_a_rule_that_comes_later_judges_configs_that_were_judged_before() -> None:
    rules = small(9)
    assert rules.judge("gemm", 2, Backend.CK, ARCH) == ()

    @rules.config_rule("ck.size.least", source="a test")
    def is_large(config: int, arch: ArchSpec) -> RuleFinding | None:
        """It is 4 or more."""
        return broken("small", config, 4) if config < 4 else None

    assert rules.judge("gemm", 2, Backend.CK, ARCH) == (RuleFinding("ck.size.least", "small", 2, 4),)


def test_rules_judge_configs_of_their_own_kind_alone() -> None:
    rules = small(2)
    assert rules.judge("gemm", 3, Backend.CK_TILE, ARCH) is None
    assert rules.judge("gemm", "3", Backend.CK, ARCH) is None
    assert rules.judge(b"gemm", 3, Backend.CK, ARCH) is None


def test_the_first_that_judges_such_a_config_is_asked() -> None:
    judges = (small(0, Backend.ASM), small(4), small(2))
    assert first_judgement(judges, "gemm", 4, Backend.CK, ARCH) == ()
    with pytest.raises(TypeError, match="no rules are about a int of backend hip"):
        first_judgement(judges, "gemm", 4, Backend.HIP, ARCH)


def test_rules_are_listed_by_id_with_contract_and_source() -> None:
    even = Rule("ck.size.even", Backend.CK, "a test", "It is even.")
    upper = Rule("ck.size.upper", Backend.CK, "a test", "It is small.")
    vendor = Rule("ck.vendor", Backend.CK, "arch_specs", "A GPU is of the vendor that the backend makes code for.")
    assert small(2).rules == (even, upper, vendor)
    asm = small(2, Backend.ASM).rules
    assert listed((small(2), small(3), small(2, Backend.ASM))) == (*asm, even, upper, vendor)


def test_an_id_is_given_once_and_belongs_to_its_backend() -> None:
    for rule_id in ("ck.size.even", "ck_tile.new", "new"):
        with pytest.raises(ValueError, match=f"^rule id '{rule_id}' is taken or not of backend ck"):
            small(2).rule(rule_id, source="test")(lambda signature, config, arch: None)
        with pytest.raises(ValueError, match=f"^rule id '{rule_id}' is taken or not of backend ck"):
            small(2).config_rule(rule_id, source="test")(lambda config, arch: None)
    other: RuleSet[str, int] = RuleSet(Backend.CK, str, int)

    @other.rule("ck.size.even", source="another")
    def is_even(signature: str, config: int, arch: ArchSpec) -> RuleFinding | None:
        """It is even."""
        return None

    with pytest.raises(ValueError, match=r"two rules have the id 'ck\.size\.even'"):
        listed((small(2), other))


def test_a_rule_is_not_changed() -> None:
    rule = Rule("ck.x", Backend.CK, "here", "what holds")
    with pytest.raises(FrozenInstanceError):
        rule.id = "ck.y"  # type: ignore[misc]
