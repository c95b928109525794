"""A JSON summary as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckgen.emit.environment import environment


def summary_html(document: Mapping[str, Any]) -> str:
    """The page; every number in it is one of the document's."""
    return environment().get_template("report/amd_check.html.j2").render(**document)
