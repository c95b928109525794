"""`ckgen generate` with --profile and --registry, and `ckgen export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import tree

from commands import as_json, ok, run

WORDS = ("--targets", "gfx942:304;x86_64_v3", "--tuning", "t")


def test_the_summary_tells_what_a_profile_leaves_out(tiny: Path) -> None:
    said = ok("generate", *WORDS, "--profile", "minimal", "--kernel-set", "ci", "--out", "m").splitlines()
    assert said[-1].startswith("  left out of minimal: 3 rows, ") and " kernels of ci, " in said[-1]
    assert " kernels of default" in said[-1] and said[-1].endswith(" of heuristics")
    document = as_json("generate", *WORDS, "--profile", "minimal", "--kernel-set", "ci", "--out", "m")
    assert document["status"] == "up_to_date" and document["fates"]["left_out"] == 3
    assert set(document["left_out"]) == {"ci", "default", "heuristics"}
    both = as_json("generate", *WORDS, "--profile", "minimal", "--profile", "all", "--out", "both")
    assert both["left_out"] == {} and "left_out" not in both["fates"]


def test_a_profile_is_part_of_what_a_tree_was_made_from(tiny: Path) -> None:
    Path("p.yaml").write_text("name: p\nabout: fp32\nkeep: [{signature: {a: fp32}}]\n")
    ok("generate", *WORDS, "--profile", "p.yaml", "--out", "p", "--stamp", "s", "--depfile", "d")
    assert "p.yaml" in Path("d").read_text()
    before = tree(Path("p"))
    Path("p.yaml").write_text("name: p\nabout: fp16\nkeep: [{signature: {a: fp16}}]\n")
    drift = run("generate", *WORDS, "--profile", "p.yaml", "--out", "p", "--check")
    assert drift.exit_code == 1 and "--profile p.yaml" in drift.stdout.splitlines()[-1]
    ok("generate", *WORDS, "--profile", "p.yaml", "--out", "p")
    assert {place.split("/")[0] for place in before} != {place.split("/")[0] for place in tree(Path("p"))}


def test_a_tree_of_an_exported_document_is_the_same_tree(tiny: Path) -> None:
    choice = (*WORDS, "--profile", "minimal", "--backend", "ck_tile")
    ok("generate", *choice, "--out", "a")
    Path("registry.json").write_text(ok("export", *choice))
    said = ok("generate", "--registry", "registry.json", "--out", "b")
    first, second = tree(Path("a")), tree(Path("b"))
    assert first.keys() == second.keys() and len(first) > 5
    assert all(first[path][0] == second[path][0] for path in first if path != "manifest.json")
    assert len(said.splitlines()) == 1 and ok("generate", "--registry", "registry.json", "--out", "b", "--check")
    edited = json.loads(Path("registry.json").read_text())
    edited["units"].pop()
    Path("registry.json").write_text(json.dumps(edited))
    drift = run("generate", "--registry", "registry.json", "--out", "b", "--check")
    assert drift.exit_code == 1
    assert drift.stdout.splitlines()[-1] == "ckgen generate --registry registry.json --out b"


@pytest.mark.parametrize(
    "extra",
    [("--targets", "gfx942"), ("--tuning", "t"), ("--profile", "all"), ("--m-policy", "aiter"), ("--strict",)],
)
def test_a_registry_goes_with_nothing_else_that_chooses(tiny: Path, extra: tuple[str, ...]) -> None:
    result = run("generate", "--registry", "registry.json", *extra)
    assert result.exit_code == 2 and f"{extra[0]} does not go with it" in result.stderr


def test_a_wrong_document_or_profile_is_exit_3_and_nothing_is_written(tiny: Path) -> None:
    Path("r.json").write_text('{\n"schema": "ckgen.registry/3",\n"targets": ["gfx943:1"], "units": [{}]}')
    result = run("generate", "--registry", "r.json", "--json")
    codes = [found["code"] for found in json.loads(result.stdout)["diagnostics"]]
    assert result.exit_code == 3 and codes == ["R004"] * 8 + ["R005"] and not Path("ckgen_generated").exists()
    assert "error[R005] r.json:3: unknown arch 'gfx943'" in result.stderr
    Path("p.yaml").write_text("name: p\nabout: p\nkeep: [{signature: {a: fp9}}]\n")
    for command in ("generate", "export"):
        result = run(command, *WORDS, "--profile", "p.yaml")
        assert result.exit_code == 3 and "error[K005] p.yaml:3: unknown word: 'fp9'" in result.stderr
