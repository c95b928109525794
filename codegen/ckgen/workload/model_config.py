"""A model's config.json, read strictly: what is missing or wrong is said with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError
from ckgen.model.json_document import parse_json
from ckgen.model.json_positions import Path as Keys
from ckgen.model.json_positions import scan
from ckgen.model.suggestion import nearest_or_all
from ckgen.workload.architecture import Architecture, architectures

_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The language model's part of a config, and how models of its architecture shard."""

    file: str
    text: str
    name: str
    architecture: Architecture
    values: Mapping[str, Any]
    quantization: Mapping[str, Any]

    def size(self, *keys: str, otherwise: int | None = None) -> int:
        """The first of those keys that the config has: an integer of at least 1, or at least 0 with an `otherwise`,
        which is taken where it has none of them, or null. InputError M003 else.
        """
        for key in keys:
            found = self.values.get(key)
            if found is None:
                continue
            if not isinstance(found, int) or isinstance(found, bool):
                raise self.wrong(f"'{key}' must be an integer, got {found!r}", key)
            if not (0 if otherwise is not None else 1) <= found <= _MOST:
                raise self.wrong(f"'{key}' is {found}, out of range", key)
            return found
        if otherwise is None:
            raise self.wrong(f"key '{keys[0]}' is missing", hint=f"models of {self.name} need it")
        return otherwise

    def flag(self, said: bool | str) -> bool:
        """A boolean of an architecture: itself, or what the config says under that key, false where nothing."""
        found = self.values.get(said) if isinstance(said, str) else said
        if found is not None and not isinstance(found, bool):
            raise self.wrong(f"'{said}' must be true or false, got {found!r}", str(said))
        return bool(found)

    def wrong(self, message: str, key: str = "", code: str = "M003", hint: str | None = None) -> InputError:
        """The error of what stands under a key."""
        inside: Keys = (self.architecture.text,) if self.architecture.text else ()
        line = scan(self.text).line_of((*inside, key) if key else inside)
        return InputError([Diagnostic(code, message, Location(self.file, line), hint=hint)])


def read_model(path: Path) -> ModelConfig:
    """The config of a file; InputError M001 to M003 for one that cannot be used."""
    try:
        text = read_text(path, JSON)
        found = parse_json(text).value
    except DocumentError as error:
        raise InputError([error.diagnostic("M001", path, "give the config.json of a model")]) from None
    if not isinstance(found, dict):
        raise InputError([Diagnostic("M001", "not an object: no model's config.json", Location(str(path), 1))])
    name = _name(found, text, path)
    known = architectures()[name]
    inner = found.get(known.text, found) if known.text else found
    if not isinstance(inner, dict):
        line = scan(text).line_of((known.text,))
        raise InputError([Diagnostic("M003", f"'{known.text}' must be an object", Location(str(path), line))])
    quantization = found.get("quantization_config", inner.get("quantization_config"))
    return ModelConfig(str(path), text, name, known, inner, quantization if isinstance(quantization, dict) else {})


def _name(config: Mapping[str, Any], text: str, path: Path) -> str:
    known = architectures()
    named = config.get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    for name in names:
        if name in known:
            return name
    line = scan(text).line_of(("architectures",))
    if not names:
        message, hint = "'architectures' names no architecture", f"known: {', '.join(known)}"
    else:
        message, hint = f"unknown architecture '{names[0]}'", nearest_or_all(names[0], known)
    raise InputError([Diagnostic("M002", message, Location(str(path), line), hint=hint)])
