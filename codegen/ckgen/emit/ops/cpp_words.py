"""The C++ header of the enums, ckgen/words.hpp, and that of keys, ckgen/key_bits.hpp."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from ckgen.emit.ops.description import FLAG, Description, EnumWords, Field, Sizes, Trait
from ckgen.emit.ops.text import HEAD, camel, comment, is_op_of, ops_of, snake, with_members

_OPEN = "namespace ckgen {\ninline namespace v1 {"
_FMHA = "Fmha"
_PARSE = """\
/// How many members an enum of words has.
template <class Word>
inline constexpr int word_count = 0;

namespace detail {

/// parse() of any enum: the member of that text; false, and `out` as it was, where there is none.
template <class Word>
constexpr bool parse_word(std::string_view text, int count, Word& out) noexcept {
  for (int i = 0; i < count; ++i) {
    if (text != name(static_cast<Word>(i))) continue;
    out = static_cast<Word>(i);
    return true;
  }
  return false;
}

}  // namespace detail
"""
_CLOSE = "}  // namespace v1\n}  // namespace ckgen\n"


def cpp_words(description: Description) -> str:
    """The header of the enums that are not attention's alone."""
    enums = [enum for enum in description.enums.values() if not enum.name.startswith(_FMHA)]
    numbers = [
        f"/// {one.doc}\ninline constexpr int {camel(one.name)} = {one.value};" for one in description.numbers.values()
    ]
    what = "The words that C++ and Python share: enums of signatures, their texts and traits."
    rest = [*numbers, *map(_sizes, description.sizes.values()), ""]
    return _header(what, ["#include <cstdint>", "#include <string_view>"], [_PARSE, *map(_enum, enums), *rest])


def cpp_fmha_words(description: Description) -> str:
    """The header of attention's enums."""
    enums = [enum for enum in description.enums.values() if enum.name.startswith(_FMHA)]
    what = "The words of attention that C++ and Python share, as ckgen/words.hpp has others."
    return _header(what, ["#include <ckgen/words.hpp>"], list(map(_enum, enums)))


def _header(what: str, includes: list[str], body: list[str]) -> str:
    head = [f"// {what} {HEAD}", "#pragma once", "", *includes, "", _OPEN, ""]
    return "\n".join([*head, *body, _CLOSE])


def _enum(enum: EnumWords) -> str:
    doc = " ".join(text for text in (enum.doc, enum.more) if text)
    count = f"k{enum.name}Count"
    lines = [comment(with_members(doc, enum, python=False)), f"enum class {enum.name} : std::uint8_t {{"]
    lines += [f"  {member.name}," + (f"  // {member.doc}" if member.doc else "") for member in enum.members]
    lines += ["};", f"inline constexpr int {count} = {len(enum.members)};"]
    lines += ["template <>", f"inline constexpr int word_count<{enum.name}> = {count};", ""]
    texts = ", ".join(f'"{member.text}"' for member in enum.members)
    lines += [
        f"constexpr std::string_view name({enum.name} value) noexcept {{",
        *_array("std::string_view", "names", texts),
        f'  return static_cast<int>(value) < {count} ? names[static_cast<int>(value)] : std::string_view("unknown");',
        "}",
        f"constexpr bool parse(std::string_view text, {enum.name}& out) noexcept {{",
        f"  return detail::parse_word(text, {count}, out);",
        "}",
    ]
    for trait in enum.traits:
        if not trait.python_only:
            lines += ["", comment(with_members(trait.doc, enum, python=False)), *_trait(enum, trait)]
    return "\n".join([*lines, ""])


def _array(kind: str, name: str, values: str) -> list[str]:
    line = f"  constexpr {kind} {name}[] = {{{values}}};"
    return (
        [line]
        if len(line) <= 120
        else ["\n".join([f"  constexpr {kind} {name}[] = {{", comment(values, "", "      "), "  };"])]
    )


def _trait(enum: EnumWords, trait: Trait) -> list[str]:
    count = f"k{enum.name}Count"
    if trait.kind == FLAG:
        having = [f"value == {enum.name}::{one.name}" for one in enum.members if one.traits[trait.name] == "true"]
        if not having:
            return [f"constexpr bool {trait.name}({enum.name}) noexcept {{ return false; }}"]
        return [f"constexpr bool {trait.name}({enum.name} value) noexcept {{", f"  return {' || '.join(having)};", "}"]
    if trait.kind in ("int", "text"):
        kind, none = {"int": ("int", "0"), "text": ("std::string_view", "std::string_view()")}[trait.kind]
        values = ", ".join(
            f'"{one.traits[trait.name]}"' if trait.kind == "text" else str(one.traits[trait.name])
            for one in enum.members
        )
        return [
            f"constexpr {kind} {trait.name}({enum.name} value) noexcept {{",
            *_array(kind, "values", values),
            f"  return static_cast<int>(value) < {count} ? values[static_cast<int>(value)] : {none};",
            "}",
        ]
    lines = [f"constexpr {enum.name} {trait.name}({enum.name} value, {trait.kind} by) noexcept {{"]
    for member in enum.members:
        given = member.traits.get(trait.name, {})
        assert not isinstance(given, str)
        lines += [
            f"  if (value == {enum.name}::{member.name} && by == {trait.kind}::{other}) return {enum.name}::{word};"
            for other, word in given.items()
        ]
    return [*lines, "  return value;", "}"]


def _sizes(one: Sizes) -> str:
    values = ", ".join(map(str, one.values))
    return f"/// {one.doc}\ninline constexpr std::uint8_t {camel(one.name)}[] = {{{values}}};"


def cpp_key(description: Description) -> str:
    """The header of keys."""
    enums = [enum for enum in description.enums.values() if enum.bits is not None]
    widths = [(snake(enum.name), enum.bits) for enum in enums]
    widths += [(one.name, one.bits) for one in description.sizes.values()]
    ops = ops_of(description)
    rest = [field for field in description.fields.values() if field.of != ops]
    return "\n".join([
        f"// What a signature's key holds, and where: Signature::pack(). {HEAD}",
        "#pragma once",
        "",
        "#include <ckgen/fmha_words.hpp>",
        "#include <ckgen/words.hpp>",
        "",
        _OPEN,
        "namespace key_bits {",
        "",
        "inline constexpr int flag = 1;",
        *(f"inline constexpr int {name} = {bits};" for name, bits in widths),
        "",
        "/// A whole key.",
        f"inline constexpr int signature = {description.key_bits};",
        "",
        *(
            f'static_assert(k{enum.name}Count <= 1 << {snake(enum.name)}, "keys of signatures would collide");'
            for enum in enums
        ),
        "",
        "/// Calls visit(member, at, bits) for each member that keys of the signature's op hold, the op first, and",
        "/// visit(member, at, bits, sizes) for a size that stands as its place. `S` is Signature or const Signature.",
        "template <class S, class Visit>",
        "constexpr void visit(S& s, Visit visit) {",
        *(
            _visit(field, description.sizes)
            for field in sorted(description.fields.values(), key=lambda field: field.name != "op")
            if field.of == ops
        ),
        *_visits(rest, description),
        "}",
        "",
        "}  // namespace key_bits",
        _CLOSE,
    ])  # fmt: skip


def _visit(field: Field, sizes: Mapping[str, Sizes], indent: str = "  ") -> str:
    known = f", {camel(field.type)}" if field.type in sizes else ""
    return f"{indent}visit(s.{field.name}, {field.at}, {field.bits}{known});"


def _visits(fields: list[Field], description: Description) -> list[str]:
    lines = []
    for of, some in groupby(fields, key=lambda field: field.of):
        lines += [f"  if ({is_op_of(description, of)}) {{"]
        lines += [*(_visit(field, description.sizes, "    ") for field in some), "  }"]
    return lines
