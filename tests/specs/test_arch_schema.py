"""schema.json and the loader accept and refuse the same keys and values."""

from __future__ import annotations

import copy
import json
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator, validators

from ckgen import paths
from ckgen.specs import load_archs
from ckgen.specs.build import build_arch
from ckgen.specs.reader import Reader, SpecError

Path = tuple[str | int, ...]

DIRECTORY = paths.arch_specs_dir()
SCHEMA = json.loads((DIRECTORY / "schema.json").read_text(encoding="utf-8"))


_KNOWN: dict[tuple[int, int], tuple[Any, bool]] = {}
"""Whether a part fits a schema, by both objects; the part is kept, so that no other has its id."""


def below(validator: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """What is wrong with a part of a spec. Parts never change: of two specs that differ in a place most is the same."""
    key = id(instance), id(schema)
    if key not in _KNOWN:
        _KNOWN[key] = instance, next(validator.descend(instance, schema), None) is None
    if not _KNOWN[key][1]:
        yield from validator.descend(instance, schema)


def definition(validator: Any, reference: str, instance: Any, _schema: Any) -> Iterator[Any]:
    """What `$ref` means where every reference is to `$defs`: jsonschema's own search takes a third of all time."""
    yield from below(validator, instance, SCHEMA["$defs"][reference.removeprefix("#/$defs/")])


def properties(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As jsonschema's own."""
    if isinstance(instance, dict):
        for name in wanted.keys() & instance.keys():
            yield from below(validator, instance[name], wanted[name])


def items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As jsonschema's own where no item has a place of its own."""
    if isinstance(instance, list):
        for item in instance:
            yield from below(validator, item, wanted)


VALIDATOR = validators.extend(
    Draft202012Validator, {"$ref": definition, "properties": properties, "items": items}
)(SCHEMA)  # fmt: skip


def spec(name: str) -> Any:
    return json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))


def short(value: Any) -> Any:
    """The same with two items of each list of objects or lists: they are read alike."""
    if isinstance(value, dict):
        return {key: short(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return [short(inner) for inner in value[:2]]
    return value


def loads(value: Any, name: str) -> bool:
    errors: list[SpecError] = []
    build_arch(Reader(value, (), errors), name)
    return not [error for error in errors if error.code != "A006"]


def keys(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from keys(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from keys(inner, (*path, index))


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every key, and the first item of each list."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def changed(value: Any, path: Path, change: Callable[[Any, str | int], None]) -> Any:
    """Another spec, of which what is not on the path is the same; `change` has the new parent and the last key."""
    key, *rest = path
    made = copy.copy(value)
    if rest:
        made[key] = changed(made[key], tuple(rest), change)
    else:
        change(made, key)
    return made


def removed(parent: Any, key: str | int) -> None:
    parent.pop(key)


def renamed(parent: Any, key: str | int) -> None:
    parent[f"{key}_"] = parent.pop(key)


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(load_archs()))
def test_every_spec_fits_the_schema(name: str) -> None:
    assert not list(VALIDATOR.iter_errors(spec(name)))


@pytest.mark.parametrize("name", ["gfx942", "gfx1250", "sm_90a", "x86_64_amx"])
def test_schema_and_loader_agree_on_every_key(name: str) -> None:
    original = short(spec(name))
    for path in keys(original):
        if path[0] == "sources" and len(path) == 2:
            continue
        for change in (removed, renamed):
            mutant = changed(original, path, change)
            valid = VALIDATOR.is_valid(mutant)
            assert valid == loads(mutant, name), (change, path)
            assert not (valid and change is renamed), path


WRONG: tuple[Any, ...] = (
    [], {}, None, True, -1, 0, 0.5, 10**12, 10**30,
    "", "a::b", 'MI"\n#error', "A B", "a__b", "a_", "é", "a" * 65, "a" * 401, "gfx942 ",
)  # fmt: skip


@pytest.mark.parametrize("name", ["gfx942", "sm_90a", "x86_64_amx"])
def test_schema_and_loader_agree_on_wrong_values(name: str) -> None:
    original = short(spec(name))
    for path in places(original):
        for wrong in WRONG:
            value = changed(original, path, lambda parent, key, wrong=wrong: operator.setitem(parent, key, wrong))
            assert VALIDATOR.is_valid(value) == loads(value, name), (path, wrong)


def test_every_number_has_two_bounds_and_every_text_a_pattern_and_a_length() -> None:
    def check(value: Any, path: Path) -> None:
        if isinstance(value, dict):
            if value.get("type") in ("integer", "number"):
                assert "maximum" in value and {"minimum", "exclusiveMinimum"} & set(value), path
            if value.get("type") == "string":
                assert {"pattern", "maxLength", "description"} <= set(value), path
                assert value["pattern"][0] + value["pattern"][-1] == "^$", path
            for key, inner in value.items():
                check(inner, (*path, key))

    check(SCHEMA, ())
