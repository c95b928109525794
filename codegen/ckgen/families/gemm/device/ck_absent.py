"""What of classic ck the pinned CK tree cannot do, by the conditions of ck_absent.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.gemm.config import CkConfig
from ckgen.families.gemm.instance import Instance

Fact = str | int | bool


@dataclass(frozen=True, slots=True)
class Absent:
    """Why there is no device code: what is asked for, what the tree lacks for it, and where newer code has it."""

    id: str
    reason: str
    absent: tuple[str, ...]
    newer: str

    @property
    def text(self) -> str:
        """One line for people."""
        lacks = f": no {', '.join(self.absent)} in this CK tree" if self.absent else ""
        return f"{self.reason}{lacks} (rule {self.id})"


@dataclass(frozen=True, slots=True)
class _Entry:
    when: Mapping[str, tuple[Fact, ...]]
    unless: Mapping[str, tuple[Fact, ...]]
    absent: Absent

    def fits(self, facts: Mapping[str, Fact]) -> bool:
        holds = all(facts[name] in wanted for name, wanted in self.when.items())
        return holds and not any(facts[name] in wanted for name, wanted in self.unless.items())


def absent(instance: Instance, arch: str) -> Absent | None:
    """Why the tree has no kernel of an instance for an arch; None where it has."""
    facts = _facts(instance, arch)
    return next((entry.absent for entry in _entries() if entry.fits(facts)), None)


def absent_for_splits(instance: Instance, arch: str, k_batch: int) -> Absent | None:
    """Why the tree has no kernel of an instance for so many K splits; None where it has, or needs none."""
    facts, entry = _facts(instance, arch), _splits()
    return entry.absent if k_batch > 1 and entry.fits(facts) else None


def unavailable(instance: Instance, arch: str) -> str | None:
    """The same as `absent`, as one line for people."""
    found = absent(instance, arch)
    return found.text if found is not None else None


def _facts(instance: Instance, arch: str) -> Mapping[str, Fact]:
    config = instance.config
    assert isinstance(config, CkConfig), f"{instance.name} is no classic ck instance"
    return {
        "module": instance.module,
        "arch": arch,
        "pipeline": config.pipeline,
        "bias": instance.signature.bias,
    }


@cache
def _entries() -> tuple[_Entry, ...]:
    return tuple(map(_entry, _data()["entries"]))


@cache
def _splits() -> _Entry:
    return _entry(_data()["k_splits"])


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("ck_absent.json").read_text(encoding="utf-8"))
    return data


def _entry(entry: Mapping[str, Any]) -> _Entry:
    return _Entry(
        when={name: tuple(wanted) for name, wanted in entry["when"].items()},
        unless={name: tuple(wanted) for name, wanted in entry["unless"].items()},
        absent=Absent(entry["id"], entry["reason"], tuple(entry["absent"]), entry["newer"]),
    )
