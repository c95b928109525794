"""Flags are data, and part of what an artefact is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.build import flags
from ckgen.build.flags import Trait, flags_of

DATA = json.loads(Path(flags.__file__).with_name("flags.json").read_text(encoding="utf-8"))


def test_every_rule_says_where_it_is_from_and_what_it_is_for() -> None:
    for rule in DATA["rules"]:
        assert rule["provenance"] and rule["flags"]
        assert set(rule) == {"vendor", "toolchain", "backend", "module", "trait", "flags", "provenance"}
        assert rule["trait"] in [trait.value for trait in Trait]


def test_include_folders_exist() -> None:
    for rule in DATA["includes"]:
        assert all((paths.dispatcher_dir() / folder).is_dir() for folder in rule["folders"])


@pytest.mark.parametrize("backend", ["ck", "ck_tile"])
def test_device_code_is_optimised_and_wholly_inlined(backend: str) -> None:
    words = flags_of("amd", "pinned", backend, "", Trait.DEVICE).words
    assert {"-O3", "-std=c++20", "-DNDEBUG", "-fbracket-depth=512"} <= set(words)
    assert words[words.index("-amdgpu-function-calls=false") - 1] == "-mllvm"
    assert "-amdgpu-early-inline-all=true" not in words, "together with the above the compiler does not end"


def test_only_classic_ck_drops_the_loop_solution() -> None:
    assert "--lsr-drop-solution=1" in flags_of("amd", "pinned", "ck", "a8w8", Trait.DEVICE).words
    assert "--lsr-drop-solution=1" not in flags_of("amd", "pinned", "ck_tile", "a8w8", Trait.DEVICE).words
    assert "--lsr-drop-solution=1" not in flags_of("amd", "pinned", "ck", "a8w8", Trait.HOST).words


def test_ids_tell_unequal_flags_apart() -> None:
    kinds = [("pinned", "ck", Trait.DEVICE), ("pinned", "ck_tile", Trait.DEVICE), ("rocm", "ck", Trait.DEVICE),
             ("pinned", "ck", Trait.HOST)]  # fmt: skip
    ids = [flags_of("amd", toolchain, backend, "a8w8", trait).id for toolchain, backend, trait in kinds]
    assert len(set(ids)) == len(ids)
    assert (
        flags_of("amd", "pinned", "ck", "a8w8", Trait.DEVICE).id
        == flags_of("amd", "pinned", "ck", "batched_bf16", Trait.DEVICE).id
    )
