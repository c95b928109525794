"""Where a shared option's value is from: flag, environment, file of settings, default, in this order."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ckgen.cli.settings_file import SettingsFile, find_settings, read_settings
from ckgen.cli.shared import Shared
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import InputError
from ckgen.model.suggestion import nearest_or_all

NO_FILE = "none"
"""The word of --config that stands for no file at all."""
_META = "ckgen.settings"
_ALSO_SAID = {"tables": "tuning"}
"""Words that others use for a key, which look like another one."""


class FromFile(UserDict[str, Any]):
    """A `default_map` of a command that reads the file when a value is first asked for: --help needs none."""

    def __init__(self, command: click.Command, root: click.Context) -> None:
        super().__init__()
        self._shared = {one.name: one for one in command.params if isinstance(one, Shared)}
        self._root = root

    def __contains__(self, name: object) -> bool:
        option = self._shared.get(str(name))
        if option is None or name in self.data:
            return option is not None
        file = settings(self._root)
        if file is None or option.key not in file.values:
            return False
        self.data[str(name)] = option.value_in(file)
        return True

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self.data[name]

    def __bool__(self) -> bool:
        return True


def settings(ctx: click.Context) -> SettingsFile | None:
    """The file that answers, read once a run; InputError for one that cannot be read or has keys that nobody reads."""
    root = ctx.find_root()
    if _META not in root.meta:
        root.meta[_META] = _settings(root.params.get("config"))
    found: SettingsFile | None = root.meta[_META]
    return found


def _settings(asked: str | None) -> SettingsFile | None:
    from ckgen.cli.options import shared_options

    if asked == NO_FILE:
        return None
    file = read_settings(Path(asked)) if asked else find_settings(Path.cwd())
    if file is None:
        return None
    known = [option.key for option in shared_options()]
    unknown = [key for key in file.values if key not in known]
    if unknown:
        raise InputError(
            Diagnostic("C002", f"unknown key '{key}'", file.location(key), hint=_hint(key, known)) for key in unknown
        )
    return file


def _hint(key: str, known: Sequence[str]) -> str:
    return nearest_or_all(_ALSO_SAID.get(key, key), known)
