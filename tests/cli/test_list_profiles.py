"""`ckgen list profiles` counts once, and again where anything that decides the counts is another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_support import row, table, write

from ckgen.cli import list_profiles
from commands import as_json, run

LIST = ("list", "profiles", "--ops", "gemm", "--targets", "gfx942", "--tuning", "t", "--backend", "ck")


@pytest.fixture(autouse=True)
def cache(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CKGEN_CACHE", str(tiny / "cache"))
    return tiny / "cache"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows by one each time that anything is counted."""
    calls: list[Any] = []
    plan_inputs = list_profiles.plan_inputs
    monkeypatch.setattr(list_profiles, "plan_inputs", lambda *given: (calls.append(given), plan_inputs(*given))[1])
    return calls


def test_names_and_what_they_are_about_are_listed_without_a_count(counted: list[Any]) -> None:
    found = as_json("list", "profiles")
    assert {"all", "minimal", "fp8"} <= {one["name"] for one in found} and not counted
    assert all(one.keys() == {"name", "about"} and one["about"] for one in found)


def test_a_count_is_asked_for_or_implied_by_a_choice(counted: list[Any]) -> None:
    asked = as_json("list", "profiles", "--count", "--ops", "gemm", "--tuning", "t", "--targets", "gfx942")
    assert asked == as_json("list", "profiles", "--ops", "gemm", "--tuning", "t", "--targets", "gfx942")
    assert all(one.keys() >= {"instances", "signatures", "rows"} for one in asked) and len(counted) == 1
    refused = run("list", "archs", "--count")
    assert refused.exit_code == 2 and "--count goes with 'profiles', not with 'archs'" in refused.stderr


def test_a_second_time_nothing_is_counted(counted: list[Any]) -> None:
    first = as_json(*LIST)
    assert first == as_json(*LIST) and len(counted) == 1
    assert {one["name"]: one["rows"] for one in first}["all"] == 2


def test_another_table_option_or_profile_is_counted_anew(tiny: Path, counted: list[Any]) -> None:
    as_json(*LIST)
    write(tiny, {"t/a8w8_blockscale.csv": table(row(m=16), row(m=32), row(m=64))})
    assert {one["name"]: one["rows"] for one in as_json(*LIST)}["all"] == 3
    as_json(*LIST, "--signatures", "gemm_fp8*")
    write(tiny, {"mine.yaml": "name: mine\nabout: fp32\nkeep: [{signature: {a: fp32}}]\n"})
    assert as_json(*LIST, "--profile", "mine.yaml")[-1]["about"] == "fp32"
    write(tiny, {"mine.yaml": "name: mine\nabout: fp16\nkeep: [{signature: {a: fp16}}]\n"})
    assert as_json(*LIST, "--profile", "mine.yaml")[-1]["about"] == "fp16"
    assert len(counted) == 5


def test_what_is_kept_and_damaged_is_counted_anew(cache: Path, counted: list[Any]) -> None:
    first = as_json(*LIST)
    (file,) = cache.rglob("*-profiles.json")
    file.write_bytes(file.read_bytes().replace(b'"rows":2', b'"rows":7'))
    assert as_json(*LIST) == first and len(counted) == 2


def test_without_a_usable_cache_it_is_counted_each_time(cache: Path, counted: list[Any]) -> None:
    cache.write_text("no folder")
    assert as_json(*LIST) == as_json(*LIST) and len(counted) == 2


def test_filters_that_fit_nothing_are_told_and_nothing_is_kept(cache: Path) -> None:
    for _ in range(2):
        refused = run(*LIST, "--signatures", "nonsense*")
        assert refused.exit_code == 2 and "--signatures 'nonsense*' fits none of" in refused.stderr
    assert not [*cache.rglob("*-profiles.json")]
