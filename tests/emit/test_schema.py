"""Schemas of the files that ckgen reads and writes."""

from __future__ import annotations

import json
from collections.abc import Callable

import jsonschema
import pytest

from ckgen import paths
from ckgen.cli import schema as command
from ckgen.emit.schema import KINDS, bundle, schema
from ckgen.emit.schema_words import DRAFT


@pytest.mark.parametrize("kind", ["kernel-set", "manifest"])
def test_the_schema_of_a_file(kind: str, golden: Callable[[str, str], None]) -> None:
    golden(f"emit/{kind}.schema.json", json.dumps(schema(kind), indent=1, ensure_ascii=False) + "\n")
    jsonschema.Draft202012Validator.check_schema(schema(kind))


def test_the_command_offers_all_of_them_and_the_words() -> None:
    (argument,) = command.command.params[:1]
    assert argument.type.to_info_dict()["choices"] == (*KINDS, "words")


def test_the_schema_of_archs_is_the_one_beside_them() -> None:
    assert schema("arch") == json.loads((paths.arch_specs_dir() / "schema.json").read_text(encoding="utf-8"))


def test_one_schema_takes_each_of_them() -> None:
    assert bundle() == {
        "$schema": DRAFT,
        "title": "A document that ckgen reads, writes or prints",
        "anyOf": [{"$ref": f"#/$defs/{kind}"} for kind in KINDS],
        "$defs": {kind: schema(kind) for kind in KINDS},
    }
    assert jsonschema.Draft202012Validator.META_SCHEMA["$id"] == DRAFT
