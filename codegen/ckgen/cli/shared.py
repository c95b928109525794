"""Options that commands share and that a file of settings may answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ckgen.cli.settings_file import SettingsFile
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import InputError, UsageError


class Form(Enum):
    """What a key holds in a file: a word, one or a list of them, the same of paths, or a number of at least 1."""

    WORD = "a text"
    WORDS = "a text or a list of texts"
    PATHS = "a path or a list of paths"
    COUNT = "an integer of at least 1"


class Shared(click.Option):
    """An option whose value a file may give, under the option's own name.

    `check` raises UsageError for texts that mean nothing. `names` are those of --kernel-set and the like that are no
    paths. Where `envvar` is set, a variable that is blank counts as unset.
    """

    def __init__(
        self,
        *args: Any,
        form: Form,
        check: Callable[[Any], object] = lambda value: None,
        names: Callable[[], Iterable[str]] = tuple,
        **attributes: Any,
    ) -> None:
        attributes["multiple"] = form in (Form.WORDS, Form.PATHS)
        super().__init__(*args, **attributes)
        self.form, self.check, self.names = form, check, names

    @property
    def key(self) -> str:
        """As in `kernel-set`."""
        return max(self.opts, key=len).removeprefix("--")

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """The first of the option's variables that says something."""
        found = super().resolve_envvar_value(ctx)
        if found is None or found.strip() or not isinstance(self.envvar, list | tuple):
            return found
        return next((os.environ[name] for name in self.envvar if os.environ.get(name, "").strip()), None)

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        """The default; of --help, which asks with `call` False, without the file's."""
        return super().get_default(ctx, call) if call else self.default

    def value_in(self, file: SettingsFile) -> Any:
        """What the file says; InputError (C003) for what cannot be."""
        said = file.values[self.key]
        try:
            value = self._read(said, file.folder)
            self.check(value)
        except UsageError as error:
            raise InputError([Diagnostic("C003", f"{self.key}: {error}", file.location(self.key))]) from None
        return value

    def _read(self, said: Any, folder: Path) -> Any:
        if self.form is Form.COUNT:
            if type(said) is not int or said < 1:
                raise UsageError(f"expected {self.form.value}")
            return said
        if self.form is Form.WORD:
            if not isinstance(said, str) or not said.strip():
                raise UsageError(f"expected {self.form.value}")
            return said
        listed = [said] if isinstance(said, str) else said
        if not isinstance(listed, list) or not all(isinstance(one, str) and one.strip() for one in listed):
            raise UsageError(f"expected {self.form.value}, none of them empty")
        if self.form is Form.WORDS:
            return listed
        names = frozenset(self.names())
        return [one if one in names else _placed(one, folder) for one in listed]


def _placed(text: str, folder: Path) -> str:
    """A path of the file as one of the working directory; the + of --tuning stays in front."""
    plus = "+" if text.startswith("+") else ""
    return f"{plus}{folder / text.removeprefix('+')}"


def is_flag_given(name: str) -> bool:
    """Whether the running command has that option from its command line, not from elsewhere."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE
