"""JSON with a record per line: the same value, and nothing of a record on another line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckgen.report.json_lines import json_lines

RECORDS = {
    "schema": "s/1",
    "é": [],
    "list": [[1, 2], {"x": 3}],
    "kernels": {"a": {"x": [1, 2], "y": {}}, "b": {"x": None}},
}


def test_members_down_to_the_depth_have_lines_of_their_own() -> None:
    assert json_lines(RECORDS, 2).splitlines() == [
        "{",
        ' "schema": "s/1",',
        ' "é": [],',
        ' "list": [',
        "  [1, 2],",
        '  {"x": 3}',
        " ],",
        ' "kernels": {',
        '  "a": {"x": [1, 2], "y": {}},',
        '  "b": {"x": null}',
        " }",
        "}",
    ]


@pytest.mark.parametrize("depth", range(6))
@pytest.mark.parametrize("value", [RECORDS, [RECORDS, [[]]], [], "text", 3])
def test_it_is_the_same_value_at_every_depth(value: Any, depth: int) -> None:
    assert json.loads(json_lines(value, depth)) == value


def test_all_the_depth_there_is_gives_what_json_itself_writes() -> None:
    assert json_lines(RECORDS, 9) == json.dumps(RECORDS, indent=1, ensure_ascii=False)
