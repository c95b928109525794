"""The words of schema/ops.yaml: enums, sizes, numbers, and what keys and names hold of them."""

from __future__ import annotations

from collections.abc import Callable

from ckgen.emit.ops.description import FLAG, EnumWords, Field, Member, NameWord, Number, Sizes, Trait
from ckgen.emit.ops.reader import Broken, Reader
from ckgen.emit.ops.text import PLACE
from ckgen.model.located_yaml import Located
from ckgen.model.suggestion import nearest_or_all

OpsReader = Callable[[Located], tuple[str, ...]]
"""Reads ops, which may be a set's."""
_ENUM = ("doc", "more", "bits", "traits", "members")
_MEMBER = ("code", "text", "doc", "cpp_only")
_MOST = 32


def read_enums(reader: Reader, node: Located) -> dict[str, EnumWords]:
    """Every enum by name; codes count from 0 without gaps, and fit the bits."""
    entries = reader.mapping(node)
    found = {}
    for name, entry in entries.items():
        try:
            found[name] = _enum(reader, name, entry, tuple(entries))
        except Broken:
            continue
    for name, enum in found.items():
        _check_words(reader, entries[name], enum, found)
    return found


def _check_words(reader: Reader, node: Located, enum: EnumWords, enums: dict[str, EnumWords]) -> None:
    """Members that docs and other members name."""
    own = [member.name for member in enum.members]
    texts = (enum.doc, enum.more, *(trait.doc for trait in enum.traits))
    for word in (word for text in texts for word in PLACE.findall(text)):
        if word not in own:
            reader.say("W003", node, f"'{{{word}}}' in a doc is no member of {enum.name}", nearest_or_all(word, own))
    for trait in enum.traits:
        if trait.kind not in enums:
            continue
        others = [member.name for member in enums[trait.kind].members]
        for member in enum.members:
            given = member.traits.get(trait.name, {})
            assert isinstance(given, dict)
            named = [(word, trait.kind, others) for word in given] + [(word, enum.name, own) for word in given.values()]
            for word, of, known in named:
                if word not in known:
                    message = f"{member.name}: '{word}' is no member of {of}"
                    reader.say("W003", node, message, nearest_or_all(word, known))


def _enum(reader: Reader, name: str, node: Located, enums: tuple[str, ...]) -> EnumWords:
    entry = reader.mapping(node, _ENUM, ("doc", "members"))
    traits = tuple(
        _trait(reader, trait, one, enums)
        for trait, one in (reader.mapping(entry["traits"]) if "traits" in entry else {}).items()
    )
    members = tuple(_member(reader, member, one, traits) for member, one in reader.mapping(entry["members"]).items())
    _check_codes(reader, name, entry["members"], members)
    bits = reader.number(entry["bits"]) if "bits" in entry else None
    most = _MOST if bits is None else 1 << bits
    if len(members) > most:
        raise reader.fail(
            "W002",
            entry.get("bits", node),
            f"{name} has {len(members)} members, and its bits hold {most}",
            "give it more bits, and move what lies above it in the key: keys that were packed before change",
        )
    more = reader.text(entry["more"]) if "more" in entry else ""
    return EnumWords(name, reader.text(entry["doc"]), more, bits, traits, members)


def _trait(reader: Reader, name: str, node: Located, enums: tuple[str, ...]) -> Trait:
    entry = reader.mapping(node, ("type", "doc", "python_only"), ("type", "doc"))
    kind = reader.one_of(entry["type"], (FLAG, "int", "text", *enums), "type")
    return Trait(name, kind, reader.text(entry["doc"]), reader.flag(entry.get("python_only")))


def _member(reader: Reader, name: str, node: Located, traits: tuple[Trait, ...]) -> Member:
    entry = reader.mapping(node, (*_MEMBER, *(trait.name for trait in traits)), ("code",))
    given: dict[str, str | dict[str, str]] = {}
    for trait in traits:
        value = entry.get(trait.name)
        if trait.kind == FLAG:
            given[trait.name] = str(reader.flag(value)).lower()
        elif value is not None and trait.kind == "int":
            given[trait.name] = str(reader.number(value))
        elif trait.kind == "int":
            raise reader.fail("K004", node, f"{name} has no '{trait.name}'")
        elif trait.kind == "text":
            given[trait.name] = reader.text(value) if value is not None else ""
        elif value is not None:
            given[trait.name] = {word: reader.text(one) for word, one in reader.mapping(value).items()}
    text = reader.text(entry["text"]) if "text" in entry else name
    doc = reader.text(entry["doc"]) if "doc" in entry else ""
    return Member(name, reader.number(entry["code"]), text, doc, reader.flag(entry.get("cpp_only")), given)


def _check_codes(reader: Reader, name: str, node: Located, members: tuple[Member, ...]) -> None:
    entries = reader.mapping(node)
    broken = False
    for at, member in enumerate(members):
        first = next(other for other in members if other.code == member.code)
        if first is not member:
            message = f"{name}: {member.name} has code {member.code}, and {first.name} has it too"
            reader.say("W001", entries[member.name], message, f"the next free one is {_free(members)}")
            broken = True
        elif member.code != at and not broken:
            message = f"{name}: {member.name} has code {member.code}, and {at} is missing before it"
            reader.say("W001", entries[member.name], message, "codes count from 0, in order and without gaps")
            broken = True
    if broken:
        raise Broken


def _free(members: tuple[Member, ...]) -> int:
    return 1 + max(member.code for member in members)


def read_sizes(reader: Reader, node: Located) -> dict[str, Sizes]:
    """Every list of sizes; one code is left for what no list has."""
    found = {}
    for name, entry in reader.mapping(node).items():
        keys = ("bits", "values", "doc")
        one = reader.mapping(entry, keys, keys)
        bits, values = reader.number(one["bits"]), tuple(reader.number(value) for value in one["values"].items())
        if len(values) >= 1 << bits:
            raise reader.fail("W002", entry, f"{name} has {len(values)} sizes, and its bits hold {(1 << bits) - 1}")
        found[name] = Sizes(name, bits, values, reader.text(one["doc"]))
    return found


def read_numbers(reader: Reader, node: Located) -> dict[str, Number]:
    """Every number by name."""
    found = {}
    for name, entry in reader.mapping(node).items():
        one = reader.mapping(entry, ("value", "doc"), ("value", "doc"))
        found[name] = Number(name, reader.number(one["value"]), reader.text(one["doc"]))
    return found


def ops_reader(reader: Reader, enums: dict[str, EnumWords], sets: dict[str, tuple[str, tuple[str, ...]]]) -> OpsReader:
    """Reads ops by name, or those of a set."""
    ops = tuple(member.name for member in enums["Op"].members)
    known = {op: (op,) for op in ops} | {name: words for name, (of, words) in sets.items() if of == "Op"}

    def read(node: Located) -> tuple[str, ...]:
        return tuple(op for one in node.items() for op in known[reader.one_of(one, known, "op")])

    return read


def read_fields(
    reader: Reader, node: Located, enums: dict[str, EnumWords], sizes: dict[str, Sizes], read_ops: OpsReader
) -> tuple[int, dict[str, Field]]:
    """The bits of a key, and every field by name: no two of one op share a bit, and all ops find the op."""
    entry = reader.mapping(node, ("bits", "parts"), ("bits", "parts"))
    whole = reader.number(entry["bits"])
    widths = {name: one.bits for name, one in enums.items() if one.bits is not None}
    widths |= {name: one.bits for name, one in sizes.items()} | {FLAG: 1}
    ops = tuple(member.name for member in enums["Op"].members)
    found: dict[str, Field] = {}
    taken: dict[str, int] = dict.fromkeys(ops, 0)
    for one in entry["parts"].items():
        part = reader.mapping(one, ("at", "of", "fields"), ("at", "of", "fields"))
        of = read_ops(part["of"])
        at = reader.number(part["at"])
        for name, kind in reversed(reader.mapping(part["fields"]).items()):
            if name in found:
                raise reader.fail("W002", kind, f"{name} stands in two parts of the key")
            type_ = reader.one_of(kind, widths, "enum with bits, sizes or flag")
            mine = ((1 << widths[type_]) - 1) << at
            for op in of:
                if taken[op] & mine:
                    raise reader.fail("W002", kind, f"{name} lies on bits of another field in keys of op {op}")
                taken[op] |= mine
            found[name] = Field(name, type_, at, widths[type_], of)
            at += widths[type_]
            if at > whole:
                raise reader.fail("W002", kind, f"{name} ends at bit {at}, and a key has {whole}")
    if "op" not in found or found["op"].of != ops:
        raise reader.fail("W002", node, "every op's key has the op, in their order")
    order = [name for part in entry["parts"].items() for name in reader.mapping(reader.mapping(part)["fields"])]
    return whole, {name: found[name] for name in order}


def read_names(reader: Reader, node: Located, fields: dict[str, Field], ops: OpsReader) -> tuple[NameWord, ...]:
    """The words of names, in order."""
    found: list[NameWord] = []
    for one in node.items():
        part = reader.mapping(one, ("of", "words"), ("of", "words"))
        of = ops(part["of"])
        found += (_name_word(reader, entry, fields, of) for entry in part["words"].items())
    return tuple(found)


def _name_word(reader: Reader, node: Located, fields: dict[str, Field], of: tuple[str, ...]) -> NameWord:
    entry = reader.mapping(node, ("field", "word", "prefix", "always", "in_alias"), ("field",))
    field = reader.one_of(entry["field"], fields, "field")
    if (fields[field].type == FLAG) != ("word" in entry):
        raise reader.fail("W003", node, "flags have a word, and enums their own texts")
    word, prefix = (reader.text(entry[key]) if key in entry else "" for key in ("word", "prefix"))
    always, in_alias = (reader.flag(entry.get(key)) for key in ("always", "in_alias"))
    return NameWord(of, field, word, prefix, always, in_alias)
