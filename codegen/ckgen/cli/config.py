"""`ckgen config`: what shared options are, and where each is from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource

from ckgen.cli.errors import Command
from ckgen.cli.option_values import targets_or_env
from ckgen.cli.options import all_shared_options, json_option
from ckgen.cli.output import columns, show, show_json
from ckgen.cli.settings import settings
from ckgen.cli.shared import Shared
from ckgen.specs.targets import CU_NUM, GPU_ARCHS

_SOURCES = {
    ParameterSource.COMMANDLINE: "flag",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
    ParameterSource.DEFAULT: "default",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A shared option's value, None where none is said; `place` is the variable or the file's line."""

    key: str
    value: Any
    source: str
    place: str | None


@click.command(cls=Command, name="config", short_help="Say what shared options are, and where each is from.")
@all_shared_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, as_json: bool, **params: Any) -> int:
    """Say what shared options are, and where each is from: a flag, the environment, a file, or the default.

    The file is --config of `ckgen` itself or CKGEN_CONFIG, else the nearest ckgen.toml, or pyproject.toml with a table
    [tool.ckgen], here or in a folder above within the repository. Its keys are the names below.
    """
    found = [_setting(ctx, one, params[one.name or ""]) for one in ctx.command.params if isinstance(one, Shared)]
    file = settings(ctx)
    if as_json:
        listed = [{"key": one.key, "value": one.value, "source": one.source, "place": one.place} for one in found]
        show_json(
            {"schema": "ckgen.config/1", "file": str(file.path) if file is not None else None, "settings": listed}
        )
    else:
        rows = [(one.key, _text(one.value), one.place or one.source) for one in found]
        show(columns([("option", "value", "from"), *rows]))
    return 0


def _setting(ctx: click.Context, option: Shared, value: Any) -> Setting:
    source = ctx.get_parameter_source(option.name or "") or ParameterSource.DEFAULT
    place = None
    if source is ParameterSource.ENVIRONMENT:
        place, value = _of_environment(option, value)
    elif source is ParameterSource.DEFAULT_MAP:
        file = settings(ctx)
        place = str(file.location(option.key)) if file is not None else None
    said = [str(one) for one in value] if isinstance(value, tuple) else str(value) if value is not None else None
    return Setting(option.key, said or None, _SOURCES[source], place)


def _of_environment(option: Shared, value: Any) -> tuple[str, Any]:
    """The variables that say it, and the targets that they mean: CU_NUM counts where GPU_ARCHS speaks."""
    from ckgen.specs.archs import load_archs

    name = next(one for one in option.envvar or () if os.environ.get(one, "").strip())
    counted = name == GPU_ARCHS and os.environ.get(CU_NUM, "").strip()
    return f"{name}, {CU_NUM}" if counted else name, targets_or_env(value, load_archs())


def _text(value: str | list[str] | None) -> str:
    return " ".join(value) if isinstance(value, list) else value or "–"
