"""The builder of attention problems in schema/ops.yaml: read, and written as a Python module and a C++ header."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.emit.ops.description import BuilderWords, Contradiction, Description, ProblemRule, Rule
from ckgen.emit.ops.python_tables import head, quoted, words
from ckgen.emit.ops.reader import Reader
from ckgen.emit.ops.text import HEAD
from ckgen.model.located_yaml import Located

_MOST_SETTERS = 64
"""Bits of the C++ header's masks."""


def read_builder(
    reader: Reader, node: Located, rules: Sequence[Rule], problem_rules: Sequence[ProblemRule]
) -> BuilderWords:
    """Setters, contradictions and advice; advice is about rules that are there."""
    keys = ("setters", "contradictions", "advice")
    entry = reader.mapping(node, keys, keys)
    setters = reader.texts(entry["setters"])
    if len(setters) > _MOST_SETTERS or len(set(setters)) != len(setters):
        raise reader.fail("W003", entry["setters"], f"at most {_MOST_SETTERS} setters, each once")
    found = []
    for name, one in reader.mapping(entry["contradictions"]).items():
        said = reader.mapping(one, ("said", "without", "sentence"), ("sentence",))
        masks = [
            tuple(reader.one_of(word, setters, "setter") for word in said[key].items()) if key in said else ()
            for key in ("said", "without")
        ]
        found.append(Contradiction(name, masks[0], masks[1], reader.text(said["sentence"])))
    known = {one.id for one in rules} | {one.id for one in problem_rules}
    advice = {}
    for name, one in reader.mapping(entry["advice"]).items():
        if not reader.errors:  # else rules are missing that were not read
            reader.one_of(Located(name, one.location), known, "rule of a signature or problem")
        advice[name] = reader.text(one)
    return BuilderWords(setters, tuple(found), advice)


def python_builder(description: Description) -> str:
    """ckgen/families/fmha/builder_tables.py."""
    builder = description.builder
    lines = head("What builders of attention problems have, refuse, and say to do.")
    lines += [
        f"SETTERS: tuple[str, ...] = {words(builder.setters)}",
        "CONTRADICTIONS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (",
        *(
            f"    ({quoted(one.id)}, {words(one.said)}, {words(one.without)}, {quoted(one.sentence)}),"
            for one in builder.contradictions
        ),
        ")",
        '"""A rule, setters that were all called, setters of which none was, and what is said then."""',
        "ADVICE: dict[str, str] = {",
        *(f"    {quoted(rule)}: {quoted(text)}," for rule, text in builder.advice.items()),
        "}",
        '"""What to do where a signature or problem breaks the rule."""',
    ]
    return "\n".join([*lines, ""])


_HEADER = """\
// What builders of attention problems refuse, and say to do. {head}
#pragma once

#include <cstdint>

#include <ckgen/problem_rules.hpp>

namespace ckgen::inline v1::detail {{

/// The bits of FmhaBuilder's mask of what was said.
enum class FmhaSetter : std::uint8_t {{ {setters} }};

/// Holds where all of `said` and none of `without` were called, a bit each.
struct BuilderContradiction {{
  const char* id;
  std::uint64_t said, without;
  const char* sentence;
}};
inline constexpr BuilderContradiction kBuilderContradictions[] = {{
{contradictions}
}};

/// What to do where a rule is broken: of signatures by its place in kRules, of problems by its ProblemRule.
struct BuilderAdvice {{
  std::uint16_t rule;
  const char* text;
}};
inline constexpr BuilderAdvice kSignatureAdvice[] = {{
{of_signatures}
}};
inline constexpr BuilderAdvice kProblemAdvice[] = {{
{of_problems}
}};

}}  // namespace ckgen::inline v1::detail
"""


def cpp_builder(description: Description) -> str:
    """src/fmha/builder_tables.hpp."""
    builder = description.builder
    bit = {name: 1 << at for at, name in enumerate(builder.setters)}
    return _HEADER.format(
        head=HEAD,
        setters=", ".join(builder.setters),
        contradictions="\n".join(_contradiction(one, bit) for one in builder.contradictions),
        of_signatures=_advice([rule.id for rule in description.rules], builder, first=0),
        of_problems=_advice([rule.id for rule in description.problem_rules], builder, first=1),
    )


def _contradiction(one: Contradiction, bit: dict[str, int]) -> str:
    masks = f"{_mask(one.said, bit)}, {_mask(one.without, bit)}"
    return f"    {{{quoted(one.id)}, {masks},\n     {quoted(one.sentence)}}},"


def _mask(setters: Sequence[str], bit: dict[str, int]) -> str:
    return f"{sum(bit[name] for name in setters):#x}"


def _advice(ids: Sequence[str], builder: BuilderWords, *, first: int) -> str:
    rows = [(number, builder.advice[rule]) for number, rule in enumerate(ids, first) if rule in builder.advice]
    return "\n".join(f"    {{{number}, {quoted(text)}}}," for number, text in rows)
