"""The C++ header of the rules of problems: ckgen/problem_rules.hpp."""

from __future__ import annotations

from ckgen.emit.ops.description import Description, ProblemRule
from ckgen.emit.ops.read_rules import DEMANDS, PROBLEM_FIELDS, PROBLEM_SIZES
from ckgen.emit.ops.text import HEAD

_HEAD = """\
// Rules of problems: their ids, messages and numbers. {head}
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckgen {{
inline namespace v1 {{

/// Why a problem is illegal or an instance cannot run it. The values are Selection::rule.
enum class ProblemRule : std::uint16_t {{
  none,
{enumerators}
}};

/// A rule's stable id, and its message with the places of its two numbers.
struct ProblemRuleText {{
  const char* id;
  const char* message;  // {{measured}} and {{limit}} stand for Selection::measured and Selection::limit
  std::uint8_t near = 0;  // how near an instance is that says so; 0: none does
}};

inline constexpr std::size_t problem_rule_count = {count};

/// Indexed by the value of ProblemRule; the first is `none`.
inline constexpr ProblemRuleText problem_rules[problem_rule_count + 1] = {{
    {{"", "", 0}},
{texts}
}};

enum class ProblemSize : std::uint8_t {{ {sizes} }};

/// What a size must satisfy; multiple_of_bits counts bits of B's elements, multiple_of_scale_k scale blocks.
enum class ProblemTest : std::uint8_t {{ {demands} }};

/// A demand on one size of every problem whose signature has these fields; a field of -1 is not looked at.
struct SignatureRule {{
  std::uint16_t rule;
  ProblemSize size;
  ProblemTest test;
  std::int64_t value;
  std::int8_t batched;
  std::int8_t preshuffle_b;
  std::int8_t quant;  // the value of a Quant
  std::int8_t b;      // the value of a DType
}};

/// In the order in which they are checked.
inline constexpr SignatureRule signature_rules[] = {{
{rules}
}};

}}  // namespace v1
}}  // namespace ckgen
"""


def cpp_problem_rules(description: Description) -> str:
    """The header's text."""
    rules = description.problem_rules
    return _HEAD.format(
        head=HEAD,
        enumerators="\n".join(f"  {rule.id.replace('.', '_').replace('-', '_')}," for rule in rules),
        count=len(rules),
        texts="\n".join(f'    {{"{rule.id}",\n     "{rule.sentence}", {rule.near}}},' for rule in rules),
        sizes=", ".join(PROBLEM_SIZES),
        demands=", ".join(DEMANDS),
        rules="\n".join(
            f"    {{{_row(description, number, rule)}}}," for number, rule in enumerate(rules, 1) if rule.size
        ),
    )


def _row(description: Description, number: int, rule: ProblemRule) -> str:
    words = [str(number), f"ProblemSize::{rule.size}", f"ProblemTest::{rule.demand}", str(rule.value)]
    when = dict(rule.when)
    return ", ".join([*words, *(_code(description, field, when.get(field)) for field in PROBLEM_FIELDS)])


def _code(description: Description, field: str, word: str | None) -> str:
    if word is None:
        return "-1"
    kind = description.fields[field].type
    if kind not in description.enums:
        return str(int(word == "true"))
    return str(next(member.code for member in description.enums[kind].members if member.name == word))
