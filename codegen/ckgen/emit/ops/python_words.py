"""The Python module of the enums: ckgen/model/op_words.py."""

from __future__ import annotations

from ckgen.emit.ops.description import FLAG, Description, EnumWords, Trait
from ckgen.emit.ops.text import HEAD, docstring, snake, with_members

_CODED = '''

class Coded(Word):
    """A word that C++ has too."""

    @property
    def code(self) -> int:
        """Its number in C++, in keys and in tables."""
        return CODES[type(self).__name__][self._value_]'''


def python_words(description: Description) -> str:
    """The module's text."""
    enums = description.enums.values()
    numbers = [f'{one.name.upper()} = {one.value}\n"""{one.doc}"""' for one in description.numbers.values()]
    numbers += [
        f'{one.name.upper()} = ({", ".join(map(str, one.values))})\n"""{one.doc}"""'
        for one in description.sizes.values()
    ]
    sets = [
        f"{name.upper()} = ({', '.join(f'{of}.{word.upper()}' for word in words)})"
        for name, (of, words) in description.sets.items()
        if not any(member.cpp_only for member in description.enums[of].members if member.name in words)
    ]
    return "\n".join([
        f'"""The words that Python and C++ share: enums, numbers and sets of signatures. {HEAD}"""',
        "",
        "# fmt: off",
        "# ruff: noqa: E501",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "",
        "from ckgen.model.word import Word",
        _CODED,
        *("\n\n" + _class(enum) for enum in enums),
        "",
        "",
        *(_table(enum, trait.name, trait.kind) for enum in enums for trait in enum.traits if trait.kind != FLAG),
        "",
        "\n".join(numbers),
        "\n".join(sets),
        "",
        "WORDS: Mapping[str, type[Coded]] = {",
        *(f'    "{enum.name}": {enum.name},' for enum in enums),
        "}",
        '"""Every enum by the name that C++ has for it too."""',
        "CODES: Mapping[str, Mapping[str, int]] = {",
        *(f'    "{enum.name}": {{{_codes(enum)}}},' for enum in enums),
        "}",
        '"""Of each enum, the number of every text, of those too that Python has no member for."""',
        "ABSENT: Mapping[str, int] = {",
        *(f'    "{enum.name}": {enum.absent.code},' for enum in enums if enum.absent is not None),
        "}",
        '"""The number of what Python has None for."""',
        "",
    ])  # fmt: skip


def _codes(enum: EnumWords) -> str:
    return ", ".join(f'"{member.text}": {member.code}' for member in enum.members)


def _class(enum: EnumWords) -> str:
    lines = [f"class {enum.name}(Coded):"]
    doc, more = (with_members(text, enum, python=True) for text in (enum.doc, enum.more))
    lines += [docstring(doc, more, "    "), ""]
    lines += [f'    {member.python} = "{member.text}"' for member in enum.in_python]
    for trait in enum.traits:
        lines += ["", *_trait(enum, trait)]
    return "\n".join(lines)


def _trait(enum: EnumWords, trait: Trait) -> list[str]:
    doc = docstring(with_members(trait.doc, enum, python=True), "", "        ")
    table = _name(enum, trait.name)
    if trait.kind == FLAG:
        having = [member for member in enum.in_python if member.traits[trait.name] == "true"]
        members = "".join(f"{enum.name}.{member.python}, " for member in having).rstrip()
        return ["    @property", f"    def {trait.name}(self) -> bool:", doc, f"        return self in ({members})"]
    if trait.kind in ("int", "text"):
        kind = {"int": "int", "text": "str"}[trait.kind]
        return ["    @property", f"    def {trait.name}(self) -> {kind}:", doc, f"        return {table}[self]"]
    parameter = f"by: {trait.kind} | None"
    answer = f"        return self if by is None else {table}.get((self, by), self)"
    return [f"    def {trait.name}(self, {parameter}) -> {enum.name}:", doc, answer]


def _name(enum: EnumWords, what: str) -> str:
    return f"_{what.upper()}_OF_{snake(enum.name).upper()}"


def _table(enum: EnumWords, what: str, kind: str) -> str:
    lines = [f"{_name(enum, what)} = {{"]
    for member in enum.in_python:
        own = f"{enum.name}.{member.python}"
        value = member.traits.get(what, {})
        if isinstance(value, str):
            lines.append(f'    {own}: "{value}",' if kind == "text" else f"    {own}: {value},")
        else:
            lines += [
                f"    ({own}, {kind}.{other.upper()}): {enum.name}.{word.upper()}," for other, word in value.items()
            ]
    return "\n".join([*lines, "}"])
