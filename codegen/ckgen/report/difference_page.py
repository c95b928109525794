"""The page of a difference of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckgen.report.difference import Kind, tiers_changed
from ckgen.report.html import page_html

MOST = 300
"""Changes of a kind that are listed."""
_TITLES = {
    Kind.WINNER: "Winners that changed",
    Kind.GAINED: "Problems that are measured now",
    Kind.LOST: "Problems that are measured no more",
}


def difference_page(document: Mapping[str, Any]) -> str:
    """The page of a `ckgen.report.difference` document."""
    groups = [
        {"id": kind.value, "title": title, "changes": [one for one in document["changes"] if one["kind"] == kind.value]}
        for kind, title in _TITLES.items()
    ]
    return page_html("diff", document, groups=groups, most=MOST, tiers=tiers_changed(document["changes"]).most_common())
