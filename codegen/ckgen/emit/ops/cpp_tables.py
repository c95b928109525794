"""The C++ headers of src/signature: fields, rules and aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from ckgen.emit.ops.description import FLAG, Condition, Conditions, Description, NameWord, Rule, UsualCase
from ckgen.emit.ops.text import HEAD, camel, comment, is_op_of

_RULE_TYPES = """\
/// A field's code is in the mask; with `same` at or above 0, it is (with no mask: is not) the code of that field.
struct Condition {
  Field field;
  std::uint32_t mask;
  std::int8_t same = -1;
};
/// Conditions that hold together.
struct All {
  std::uint16_t first, count;
};
/// Where all of `when` hold, one of the alternatives `must` has to; none asks nothing. `allowed`: what the one field
/// that is asked about may be.
struct Case {
  All when;
  std::uint16_t first_must, must_count;
  const char* allowed;
};
/// Broken where the first case whose `when` holds says so; `ops` are those that it is of, a bit each.
struct Rule {
  std::uint32_t ops;
  std::uint16_t first_case, case_count;
  const char* sentence;  // {field} and {allowed} stand for their texts
};
"""
_ALIAS_TYPE = """\
/// What an alias fixes of a signature; `operand` is none where the alias leaves it open.
struct AliasTemplate {
  std::string_view name;
  DType operands[2];
  DType operand;
  DType out;
  Quant quant;
  bool preshuffle_b;
  bool batched;
};
"""


def cpp_fields(description: Description) -> str:
    """src/signature/fields.hpp: what signatures have, and what names say of it."""
    what = "The fields of signatures: codes, texts, what they usually are, and what names say of them."
    body = _fields(description)
    for name, cases in description.usual.items():
        body += _usual(description, name, cases)
    body += _names(description)
    return _header(what, ['#include "src/signature/counted.hpp"'], body)


def cpp_rules(description: Description) -> str:
    """src/signature/rule_tables.hpp: which signatures mean something."""
    flat = _Flat(description)
    for rule in description.rules:
        flat.add(rule)
    body = [
        _RULE_TYPES,
        *_array("Condition", "kConditions", flat.conditions),
        *_filled("All", "kAlternatives", flat.alternatives),
        *_array("Case", "kCases", flat.cases),
        *_array("Rule", "kRules", flat.rules),
    ]
    return _header("Which signatures mean something.", ['#include "src/signature/fields.hpp"'], body[:-1])


def cpp_aliases(description: Description) -> str:
    """src/signature/alias_tables.hpp: aliases, and sets of words."""
    sets = [
        f"inline constexpr {of} {camel(name)}[] = {{{', '.join(f'{of}::{word}' for word in words)}}};"
        for name, (of, words) in description.sets.items()
        if of != "Op"  # the rules alone name sets of ops
    ]
    body = [_ALIAS_TYPE, *_array("AliasTemplate", "kAliases", _aliases(description)), *sets]
    return _header("Aliases of signatures, and sets of words.", ["#include <ckgen/words.hpp>"], body)


def _header(what: str, includes: list[str], body: list[str]) -> str:
    standard = ["#include <array>", "#include <cstdint>", "#include <string_view>"]
    head = [
        f"// {what} {HEAD}",
        "#pragma once",
        "",
        *standard,
        "",
        *includes,
        "",
        "namespace ckgen::inline v1::detail {",
    ]
    return "\n".join([*head, "", *body, "", "}  // namespace ckgen::inline v1::detail", ""])


def _array(kind: str, name: str, rows: Iterable[str]) -> list[str]:
    return [f"inline constexpr {kind} {name}[] = {{", *(f"    {row}" for row in rows), "};", ""]


def _filled(kind: str, name: str, values: Iterable[str]) -> list[str]:
    return [f"inline constexpr {kind} {name}[] = {{", comment(", ".join(values), "", "    "), "};", ""]


def _identifier(name: str) -> str:
    return name.replace(".", "_").replace("[", "_").replace("]", "")


def _fields(description: Description) -> list[str]:
    fields, counted = description.fields.values(), description.counted
    names = [*(one.name for one in fields), *counted]
    codes = [f"    {_code(description, one.name, one.type)}," for one in fields]
    codes += [f"    static_cast<std::uint8_t>(count_{_identifier(name)}(s))," for name in counted]
    values = [2 if one.type == FLAG else _values(description, one.type) for one in fields] + [32 for _ in counted]
    texts = [
        f"    case Field::{_identifier(one.name)}: return {_text(description, one.name, one.type)};" for one in fields
    ]
    texts += [
        f"    case Field::{_identifier(name)}: return digits.of(count_{_identifier(name)}(s));" for name in counted
    ]
    return [
        "/// What conditions look at.",
        "enum class Field : std::uint8_t {",
        *(f"  {_identifier(name)}," for name in names),
        "};",
        f"inline constexpr int kFieldCount = {len(names)};",
        "using Codes = std::array<std::uint8_t, kFieldCount>;",
        "",
        *_filled("std::string_view", "kFieldNames", (f'"{name}"' for name in names)),
        "/// A code at or above it is none of the field's type; numbers have all codes.",
        *_filled("std::uint8_t", "kFieldValues", map(str, values)),
        "/// The codes of all fields.",
        "constexpr Codes codes_of(const Signature& s) noexcept {",
        "  return {",
        *codes,
        "  };",
        "}",
        "",
        "/// The text of a field, in `digits` where it is a number.",
        "inline std::string_view text_of(const Signature& s, Field field, Digits& digits) noexcept {",
        "  switch (field) {",
        *texts,
        "  }",
        "  return {};",
        "}",
    ]


def _values(description: Description, kind: str) -> int:
    return len(description.enums[kind].members) if kind in description.enums else 32


def _code(description: Description, name: str, kind: str) -> str:
    if kind in description.sizes:
        return f"static_cast<std::uint8_t>(code_of({camel(kind)}, s.{name}))"
    return f"static_cast<std::uint8_t>(s.{name})"


def _text(description: Description, name: str, kind: str) -> str:
    if kind in description.sizes:
        return f"digits.of(s.{name})"
    return f's.{name} ? "true" : "false"' if kind == FLAG else f"name(s.{name})"


@dataclass(slots=True)
class _Flat:
    """Rows of the four arrays; each names the next one's rows by the first and how many."""

    description: Description
    conditions: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    cases: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)

    def add(self, rule: Rule) -> None:
        """A rule's rows."""
        first = len(self.cases)
        for case in rule.cases:
            when = self._all(case.when)
            alternatives = [self._all(one) for one in case.must]
            allowed = case.allowed if "{allowed}" in rule.sentence else ""
            self.cases.append(f'{{{when}, {len(self.alternatives)}, {len(alternatives)}, "{allowed}"}},')
            self.alternatives += alternatives
        codes = {member.name: member.code for member in self.description.enums["Op"].members}
        ops = sum(1 << codes[op] for op in rule.of)
        assert '"' not in rule.sentence and "\\" not in rule.sentence, rule.sentence
        self.rules += [f"// {rule.id}", f'{{{ops:#x}, {first}, {len(rule.cases)}, "{rule.sentence}"}},']

    def _all(self, conditions: Conditions) -> str:
        first = len(self.conditions)
        self.conditions += map(self._condition, conditions)
        return f"{{{first}, {len(conditions)}}}"

    def _condition(self, one: Condition) -> str:
        names = (*self.description.fields, *self.description.counted)
        same = f", {names.index(one.same)}" if one.same else ""
        return f"{{Field::{_identifier(one.field)}, {0 if one.negated else one.mask:#x}{same}}},"


def _aliases(description: Description) -> Iterable[str]:
    for one in description.aliases:
        operands = ", ".join(f"DType::{word}" for word in (one.operands[0], one.operands[-1]))
        flags = ", ".join(str(flag).lower() for flag in (one.preshuffle_b, one.batched))
        yield (
            f'{{"{one.name}", {{{operands}}}, DType::{one.operand or "none"}, DType::{one.out}, '
            f"Quant::{one.quant}, {flags}}},"
        )


def _usual(description: Description, name: str, cases: tuple[UsualCase, ...]) -> list[str]:
    asked = list(dict.fromkeys(one.field for case in cases for one in case.when))
    kind = description.fields[name].type
    parameters = ", ".join(f"{description.fields[one].type} {one}" for one in asked)
    lines = [
        "",
        f"/// What {name} is where nothing says it.",
        f"constexpr {kind} default_{name}({parameters}) noexcept {{",
    ]
    for case in cases:
        tests = " && ".join(_test(description, one) for one in case.when)
        lines.append(f"  {f'if ({tests}) ' if tests else ''}return {kind}::{case.member};")
    return [*lines, "}"]


def _test(description: Description, one: Condition) -> str:
    kind = description.fields[one.field].type
    words = [member.name for member in description.enums[kind].members if one.mask >> member.code & 1]
    text = " || ".join(f"{one.field} == {kind}::{word}" for word in words)
    return text if len(words) == 1 else f"({text})"


def _names(description: Description) -> list[str]:
    lines = [
        "",
        "/// Calls visit(flag, its word, false) or visit(enum, what stands before its text, whether it is always said)",
        "/// for each field of the signature's op that a name says behind the types, in order.",
        "template <class S, class Visit>",
        "void visit_words(S& s, Visit visit) {",
    ]
    lines += _visits(
        description, description.names, lambda one: f'"{one.word or one.prefix}", {str(one.always).lower()}'
    )
    lines += [
        "}",
        "",
        "/// Calls visit(flag, its word) or visit(enum, nothing) for each field that an alias of its op may say.",
        "template <class S, class Visit>",
        "void visit_alias_words(S& s, Visit visit) {",
    ]
    lines += _visits(description, [one for one in description.names if one.in_alias], lambda one: f'"{one.word}"')
    return [*lines, "}"]


def _visits(description: Description, words: Iterable[NameWord], how: Callable[[NameWord], str]) -> Iterator[str]:
    for of, some in groupby(words, key=lambda one: one.of):
        yield f"  if ({is_op_of(description, of)}) {{"
        yield from (f"    visit(s.{one.field}, {how(one)});" for one in some)
        yield "  }"
