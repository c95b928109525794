"""How the models of a name shard: the entries of architectures.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path


class AttentionKind(StrEnum):
    """Grouped queries, or latent: keys and values projected from one small vector."""

    GQA = "gqa"
    MLA = "mla"


@dataclass(frozen=True, slots=True)
class Architecture:
    """See the text at the head of architectures.json; a bias is true, false, or the key of the config that says so."""

    attention: AttentionKind
    text: str = ""
    bias: bool | str = False
    output_bias: bool | str = False
    router_bias: bool = False
    output_gate: bool = False
    linear_attention: bool = False
    experts: str = ""
    expert_size: str = ""
    shared_count: str = ""
    shared_size: str = ""
    dense_first: str = ""


@cache
def architectures() -> dict[str, Architecture]:
    """All that are known, by name."""
    data = json.loads(Path(__file__).with_name("architectures.json").read_text(encoding="utf-8"))
    return {
        name: Architecture(**{**entry, "attention": AttentionKind(entry["attention"])})
        for name, entry in data["architectures"].items()
    }
