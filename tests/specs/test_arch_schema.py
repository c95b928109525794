"""schema.json and the loader accept and refuse the same keys."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ckgen import paths
from ckgen.specs import load_archs
from ckgen.specs.build import build_arch
from ckgen.specs.reader import Problem, Reader

Path = tuple[str | int, ...]

DIRECTORY = paths.arch_specs_dir()
VALIDATOR = Draft202012Validator(json.loads((DIRECTORY / "schema.json").read_text(encoding="utf-8")))


def spec(name: str) -> Any:
    return json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))


def loads(value: Any, name: str) -> bool:
    problems: list[Problem] = []
    build_arch(Reader(value, (), problems), name)
    return not [problem for problem in problems if problem.code != "A006"]


def keys(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every key, of only the first two items of each list: the items of a list are read alike."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from keys(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value[:2]):
            yield from keys(inner, (*path, index))


def at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)


@pytest.mark.parametrize("name", sorted(load_archs()))
def test_every_spec_fits_the_schema(name: str) -> None:
    assert not list(VALIDATOR.iter_errors(spec(name)))


@pytest.mark.parametrize("name", ["gfx942", "gfx1250", "x86_64_amx"])
def test_schema_and_loader_agree_on_every_key(name: str) -> None:
    original = spec(name)
    for path in keys(original):
        if path[0] == "sources" and len(path) == 2:
            continue
        for change in ("remove", "rename"):
            mutant = copy.deepcopy(original)
            parent = at(mutant, path[:-1])
            value = parent.pop(path[-1])
            if change == "rename":
                parent[f"{path[-1]}_"] = value
            valid = VALIDATOR.is_valid(mutant)
            assert valid == loads(mutant, name), (change, path)
            assert not (valid and change == "rename"), path


@pytest.mark.parametrize("name", ["gfx942", "x86_64_amx"])
def test_schema_and_loader_agree_on_wrong_types(name: str) -> None:
    original = spec(name)
    wrongs: tuple[Any, ...] = ([], {}, "", -1, 0.5, None)
    for path in keys(original):
        for wrong in wrongs:
            mutant = copy.deepcopy(original)
            at(mutant, path[:-1])[path[-1]] = wrong
            assert VALIDATOR.is_valid(mutant) == loads(mutant, name), (path, wrong)
