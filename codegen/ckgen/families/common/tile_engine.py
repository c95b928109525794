"""Configs of Composable Kernel's Tile Engine as JSON: read strictly, every error located, every key used or named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.json_positions import Path, scan
from ckgen.model.suggestion import nearest_or_all

MOST_VALUES = 4096
"""Of one axis."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says of a set: its name, the words of its targets, and of GEMMs the signatures."""

    name: str
    targets: Sequence[str] = ("*",)
    signatures: Sequence[str] = ()

    def targets_value(self) -> str | list[str]:
        """The key `targets` of a document."""
        return "*" if "*" in self.targets else list(self.targets)


@dataclass(frozen=True, slots=True)
class Imported:
    """The documents of a kernel set, as YAML has them, and what of the file they do not say, and why."""

    documents: Sequence[Mapping[str, Any]]
    notes: Sequence[str]


@dataclass(slots=True)
class TileEngineFile:
    """A document that is being read; `errors` and `notes` grow with it."""

    document: Mapping[str, Any]
    text: str
    file: str
    errors: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def say(self, code: str, path: Path, message: str, hint: str | None = None) -> None:
        """Keeps an error of what stands at a path."""
        line = scan(self.text).line_of(path)
        self.errors.append(Diagnostic(code, message, Location(self.file, line), hint=hint))

    def note(self, path: Path, why: str) -> None:
        """Keeps that a key is not used, and why."""
        self.notes.append(f"{'.'.join(map(str, path))}: {why}")

    def table(self, path: Path, known: Iterable[str], required: Iterable[str] = ()) -> Mapping[str, Any]:
        """The known members of an object; those that are unknown (K003) or missing (K004) are errors."""
        found: Any = self.document
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            self.say("K005", path, f"{'.'.join(map(str, path)) or 'the file'} must be an object")
            return {}
        names = list(known)
        for key in found:
            if key not in names:
                self.say("K003", (*path, key), f"unknown key '{key}'", nearest_or_all(key, names))
        for key in required:
            if key not in found:
                self.say("K004", path, f"key '{key}' is missing")
        return {key: value for key, value in found.items() if key in names}

    def sizes(self, path: Path, value: Any) -> list[int]:
        """The integers of an axis: `values`, or from `min` to `max` by `step`, without those of `exclude`."""
        keys = self.table(path, ("values",) if isinstance(value, dict) and "values" in value else _RANGE)
        if "values" in keys:
            return self._integers((*path, "values"), keys["values"])
        bounds = [keys.get(key) for key in ("min", "max", "step")]
        if not all(type(bound) is int and bound > 0 for bound in bounds):
            self.say("K005", path, "an axis has 'values', or 'min', 'max' and 'step' of at least 1")
            return []
        least, most, step = (int(bound or 0) for bound in bounds)
        if (most - least) // step >= MOST_VALUES:
            self.say("K005", path, f"more than {MOST_VALUES:,} values")
            return []
        steps = range(least, most + 1, step)
        without = self._integers((*path, "exclude"), keys.get("exclude", []))
        for one in without:
            if one not in steps:
                self.note((*path, "exclude"), f"{one} is none of {least} to {most} by {step}")
        found = [one for one in steps if one not in without]
        if not found:
            self.say("K005", path, "no value is left")
        return found

    def words(
        self, path: Path, value: Any, ours: Mapping[Any, Any], foreign: Mapping[Any, str] | None = None
    ) -> list[Any]:
        """What the `values` of an axis are here, each once; those of `foreign` are noted with why, others are K005."""
        listed = self.table(path, ("values",), ("values",)).get("values", [])
        if not isinstance(listed, list) or not listed:
            self.say("K005", path, "'values' must be a list that is not empty")
            return []
        found: dict[Any, None] = {}
        for index, one in enumerate(listed):
            key = (type(one), one) if not isinstance(one, dict | list) else None
            known = {(type(word), word): meant for word, meant in ours.items()}
            if key in known:
                found[known[key]] = None
            elif foreign is not None and isinstance(one, str) and one in foreign:
                self.note((*path, one), foreign[one])
            else:
                hint = nearest_or_all(str(one), [_text(word) for word in (*ours, *(foreign or {}))])
                self.say("K005", (*path, "values", index), f"{path[-1]} cannot be {_text(one)}", hint)
        return list(found)

    def _integers(self, path: Path, value: Any) -> list[int]:
        if isinstance(value, list) and all(type(one) is int and one > 0 for one in value):
            return list(dict.fromkeys(value))
        self.say("K005", path, "expected a list of integers of at least 1")
        return []


_RANGE = ("min", "max", "step", "exclude")


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
