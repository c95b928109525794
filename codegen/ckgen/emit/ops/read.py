"""schema/ops.yaml as a Description; all its errors at once, each with its line."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ckgen.emit.ops.builder import read_builder
from ckgen.emit.ops.description import Description
from ckgen.emit.ops.read_rules import PROBLEM_FIELDS, RuleReader, read_sets
from ckgen.emit.ops.read_words import ops_reader, read_enums, read_fields, read_names, read_numbers, read_sizes
from ckgen.emit.ops.reader import Broken, Reader
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.located_yaml import Located, read_documents

_KEYS = (
    "enums", "sizes", "numbers", "key", "names", "sets", "usual", "aliases", "counted", "signature_rules",
    "problem_rules", "fmha_builder",
)  # fmt: skip


NEEDED_ENUMS = ("Op", "DType", "Quant")
NEEDED_FIELDS = ("a", *PROBLEM_FIELDS)
"""What rules and aliases speak of by name."""


def read_description(text: str, file: str) -> Description | list[Diagnostic]:
    """What the text says, or what is wrong with it."""
    reader = Reader()
    documents = read_documents(text, file, reader.report)
    if len(documents) != 1 and not reader.errors:
        reader.report(Diagnostic("W003", "one document is needed", Location(file)))
    description = None
    if not reader.errors:
        (document,) = documents
        with suppress(Broken):
            description = _description(reader, document)
    return description if description is not None and not reader.errors else reader.errors


def _description(reader: Reader, document: Located) -> Description:
    entry = reader.mapping(document, _KEYS, _KEYS)
    enums = read_enums(reader, entry["enums"])
    if reader.errors:
        raise Broken
    _check_there(reader, entry["enums"], "enum", enums, NEEDED_ENUMS)
    sizes, numbers = read_sizes(reader, entry["sizes"]), read_numbers(reader, entry["numbers"])
    sets = read_sets(reader, entry["sets"], enums)
    read_ops = ops_reader(reader, enums, sets)
    key_bits, fields = read_fields(reader, entry["key"], enums, sizes, read_ops)
    _check_there(reader, entry["key"], "field", fields, NEEDED_FIELDS)
    counted = {name: reader.text(one) for name, one in reader.mapping(entry["counted"]).items()}
    rules = RuleReader(reader, enums, sizes, numbers, fields, counted, sets, read_ops)
    usual = rules.usual(entry["usual"])
    of_signatures = rules.rules(entry["signature_rules"], usual)
    of_problems = rules.problem_rules(entry["problem_rules"])
    return Description(
        enums,
        sizes,
        numbers,
        key_bits,
        fields,
        read_names(reader, entry["names"], fields, read_ops),
        sets,
        usual,
        rules.aliases(entry["aliases"]),
        counted,
        of_signatures,
        of_problems,
        read_builder(reader, entry["fmha_builder"], of_signatures, of_problems),
    )


def _check_there(reader: Reader, node: Located, what: str, known: Iterable[str], needed: Iterable[str]) -> None:
    names = tuple(known)
    missing = [name for name in needed if name not in names]
    for name in missing:
        reader.say("K004", node, f"{what} '{name}' is missing", "add it: rules and aliases speak of it")
    if missing:
        raise Broken
