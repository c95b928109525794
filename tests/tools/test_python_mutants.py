"""What of Python source is mutated, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="needs the optional dependencies `mutation`")

from mutation.mutant import Mutant, Site
from mutation.python_operators import ChangeText, NegateFilter, RemoveCall, ReplaceIn
from mutation.python_source import python_mutant, python_sites

SOURCE = '''"""Docstring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from x import Y

__all__ = ["f"]
Either = int | str


@dataclass(frozen=True, slots=True)
class C:
    """Docstring."""

    a: int | None = 1
    """What it is."""


def f(x: list[int | str], y: "Y") -> tuple[int | str, ...]:
    """Docstring."""
    x.append(1)
    return tuple(v for v in x if v in y) or (f"{y} text",)
'''


def mutants(tree: Path) -> list[tuple[Site, Mutant]]:
    (tree / "m.py").write_text(SOURCE)
    found = [(site, python_mutant(tree, site)) for site in python_sites(tree, ["m.py"])]
    return [(site, mutant) for site, mutant in found if mutant is not None]


def test_only_what_runs_is_mutated(tmp_path: Path) -> None:
    changed = {(site.key.operator, mutant.before, mutant.after) for site, mutant in mutants(tmp_path)}
    last = 'return tuple(v for v in x if v in y) or (f"{y} text",)'
    assert changed == {
        ("ReplaceTrueWithFalse", "@dataclass(frozen=True, slots=True)", "@dataclass(frozen=False, slots=True)"),
        ("NumberReplacer", "a: int | None = 1", "a: int | None = 2"),
        ("NumberReplacer", "a: int | None = 1", "a: int | None = 0"),
        ("NumberReplacer", "x.append(1)", "x.append( 2)"),
        ("NumberReplacer", "x.append(1)", "x.append( 0)"),
        ("RemoveCall", "x.append(1)", "pass"),
        ("ReplaceIn", last, last.replace("v in y", "v not in y")),
        ("NegateFilter", last, last.replace("if v in y", "if not (v in y)")),
        ("ReplaceOrWithAnd", last, last.replace(" or ", " and ")),
        ("ChangeText", last, last.replace(" text", "XX text")),
    }


def test_a_mutant_changes_one_line_and_compiles(tmp_path: Path) -> None:
    for site, mutant in mutants(tmp_path):
        pairs = zip(SOURCE.splitlines(), mutant.text.splitlines(), strict=True)
        assert [at for at, (old, new) in enumerate(pairs, 1) if old != new] == [site.line]
        compile(mutant.text, "m", "exec")


@pytest.mark.parametrize("operator", [ChangeText, NegateFilter, RemoveCall, ReplaceIn])
def test_an_operator_does_what_its_examples_say(operator: type) -> None:
    from cosmic_ray.mutating import mutate_code

    for example in operator.examples():  # type: ignore[attr-defined]
        assert mutate_code(example.pre_mutation_code, operator(), 0) == example.post_mutation_code
