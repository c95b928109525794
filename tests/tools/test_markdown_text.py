"""Pages that tools write keep to the columns that documents have."""

from __future__ import annotations

from markdown_text import WIDTH, wrapped


def test_prose_and_items_are_folded_and_rows_and_short_lines_stay() -> None:
    row, short = f"| {'cell ' * 40} |", "short  line"
    folded = wrapped("\n".join([row, short, "- " + "well-known " * 30, "word " * 40 + "end"])).split("\n")
    assert folded[:2] == [row, short]
    assert all(len(line) <= WIDTH for line in folded[1:])
    assert [line[:12] for line in folded[2:5]] == ["- well-known", "  well-known", "  well-known"]
    assert " ".join(folded[2:]).split() == ["-", *["well-known"] * 30, *["word"] * 40, "end"]
