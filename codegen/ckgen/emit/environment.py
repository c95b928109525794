"""The one jinja environment: strict, and never a raw row in sight."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ckgen import paths

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment() -> Environment:
    """Templates of the shipped folder; an undefined name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(paths.templates_dir()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
