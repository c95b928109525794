"""Documents as HTML pages that need nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ckgen.emit.environment import environment

if TYPE_CHECKING:
    from jinja2 import Environment


def summary_html(document: Mapping[str, Any]) -> str:
    """The page of a check; every number in it is one of the document's."""
    return environment().get_template("report/amd_check.html.j2").render(**document)


def page_html(template: str, document: Mapping[str, Any], **pictures: Any) -> str:
    """A page of a document and its pictures; every number that people read in it is one of the document's."""
    return _pages().get_template(f"report/{template}.html.j2").render(**document, **pictures)


def percent(part: float, whole: float = 1.0) -> str:
    """As in `56 %`; what is neither nothing nor all is not rounded to it."""
    if not whole:
        return "–"
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "< 0.1 %"
    if 99 < share < 100:
        return f"{min(share, 99.9):.1f} %"
    return f"{share:.1f} %" if share < 10 and share else f"{share:.0f} %"


@cache
def _pages() -> Environment:
    found = environment().overlay(autoescape=True)
    filters: dict[str, Any] = {
        "percent": percent,
        "thousands": lambda number: f"{number:,}",
        "short": _short,
        "breakable": _breakable,
    }
    found.filters.update(filters)
    return found


def _breakable(name: str) -> Any:
    """A long name that lines may break behind its underscores and slashes."""
    from markupsafe import Markup, escape

    return Markup(str(escape(name)).replace("_", "_<wbr>").replace("/", "/<wbr>"))


def _short(number: float | None) -> str:
    """Three digits and a prefix, as in `1.31 P`."""
    if number is None:
        return "not told"
    for power, prefix in ((15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if number >= 10**power:
            return f"{number / 10**power:.3g} {prefix}"
    return f"{number:.3g} "
