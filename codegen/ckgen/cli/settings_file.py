"""`ckgen.toml`, or `[tool.ckgen]` of a pyproject.toml: what is found, and where in it a key stands."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import YAML, DocumentError, read_text
from ckgen.model.errors import InputError

NAME = "ckgen.toml"
PYPROJECT = "pyproject.toml"
_TABLE = ("tool", "ckgen")
_PLACE = re.compile(r" ?\(at (?:line ([0-9]+), column [0-9]+|end of document)\)")
_UNUSED = "ckgen-looks-for-its-line"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What a file says, by key; `path` is as the user finds it from the working directory."""

    path: Path
    values: Mapping[str, Any]
    text: str

    @property
    def folder(self) -> Path:
        """What relative paths in the file are relative to."""
        return self.path.parent

    def location(self, key: str) -> Location:
        """Where the key stands: the place whose key, renamed, is no more among those that are read."""
        spelled = re.compile(rf"(?<![\w-])(['\"]?){re.escape(key)}\1(?=\s*[=\].])")
        for found in spelled.finditer(self.text):
            renamed = f"{self.text[: found.start()]}{_UNUSED}{self.text[found.end() :]}"
            try:
                is_it = key not in (_table(self.path, tomllib.loads(renamed)) or {})
            except (tomllib.TOMLDecodeError, TypeError):
                continue
            if is_it:
                return Location(str(self.path), self.text.count("\n", 0, found.start()) + 1)
        return Location(str(self.path))


def find_settings(start: Path) -> SettingsFile | None:
    """The settings that hold in a folder: its own, else those of the nearest folder above within the repository.

    InputError (C001, C004) for a file that cannot be read, and for a folder with two.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        shown = Path(os.path.relpath(folder, start))
        found = [one for name in (NAME, PYPROJECT) if (one := _settings_in(shown / name, folder / name)) is not None]
        if len(found) > 1:
            message = f"{NAME} and [tool.ckgen] of {PYPROJECT} are both there"
            raise InputError([Diagnostic("C004", message, Location(str(found[0].path)), hint="keep one of the two")])
        if found:
            return found[0]
        if (folder / ".git").exists():
            return None
    return None


def read_settings(path: Path) -> SettingsFile:
    """The settings of a file that was named: all of it, or `[tool.ckgen]` of one that is called pyproject.toml."""
    found = _read(path)
    return found if found is not None else SettingsFile(path, {}, "")


def _settings_in(shown: Path, place: Path) -> SettingsFile | None:
    """None where there is no such file, and for a pyproject.toml that does not speak of ckgen."""
    if not place.is_file():
        return None
    if place.name == PYPROJECT and b"ckgen" not in place.read_bytes():
        return None
    return _read(shown)


def _read(path: Path) -> SettingsFile | None:
    try:
        text = read_text(path, YAML)
        table = _table(path, tomllib.loads(text))
    except DocumentError as error:
        raise InputError([error.diagnostic("C001", path)]) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError([_not_toml(path, text, str(error))]) from None
    except TypeError as error:
        raise InputError([Diagnostic("C003", str(error), Location(str(path)))]) from None
    return SettingsFile(path, table, text) if table is not None else None


def _table(path: Path, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """TypeError where `[tool.ckgen]` is something else than a table."""
    if path.name != PYPROJECT:
        return document
    found: Any = document
    for key in _TABLE:
        if not isinstance(found, dict):
            raise TypeError("tool.ckgen is no table")
        if key not in found:
            return None
        found = found[key]
    if not isinstance(found, dict):
        raise TypeError("tool.ckgen is no table")
    return found


def _not_toml(path: Path, text: str, message: str) -> Diagnostic:
    """`message` ends in a line, or in the end of the text."""
    place = _PLACE.search(message)
    line = int(place[1]) if place is not None and place[1] else len(text.splitlines())
    return Diagnostic("C001", f"not TOML: {_PLACE.sub('', message)}", Location(str(path), line))
