"""All targets by name, and the inputs that once were wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from parser_fuzz import (
    arch_specs,
    code_objects,
    fuzz_cases,
    kernel_names,
    kernel_sets,
    manifests,
    profiles,
    registry,
    shape_lists,
    signature_text,
    tables,
    target_text,
)
from parser_fuzz.target import Target

_MODULES = (
    arch_specs, code_objects, fuzz_cases, kernel_names, kernel_sets, manifests, profiles, registry, shape_lists,
    signature_text, tables, target_text,
)  # fmt: skip

TARGETS: Mapping[str, Target] = {module.TARGET.name: module.TARGET for module in _MODULES}


def corpus(target: Target) -> list[Path]:
    """The inputs that are kept of a target, by name."""
    return sorted((Path(__file__).parent / "corpus" / target.name).glob("*"))
