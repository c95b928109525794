"""The checked-in C++ rules are those of problem_rules.json."""

from __future__ import annotations

from ckgen.emit.problem_rules_header import header_path, render_problem_rules_header
from ckgen.families.common.problem_finding import messages
from ckgen.families.gemm.enums import Quant


def test_the_checked_in_header_is_what_the_json_says() -> None:
    assert header_path().read_text(encoding="utf-8") == render_problem_rules_header()


def test_every_rule_has_an_enumerator_and_a_message() -> None:
    text = render_problem_rules_header()
    for rule, message in messages().items():
        assert f'"{rule}"' in text
        assert message in text


def test_quant_numbers_follow_the_c_plus_plus_enum() -> None:
    types = (header_path().parent / "gemm_types.hpp").read_text(encoding="utf-8")
    assert f"enum class Quant : std::uint8_t {{ {', '.join(quant.value for quant in Quant)} }};" in types
