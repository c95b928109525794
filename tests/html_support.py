"""A page of `ckgen report` read back: its tables, headings, addresses, and whether its tags nest."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

_VOID = {"meta", "link", "br", "wbr", "img", "hr"}
_IMPLIED = {"td": {"td", "th"}, "th": {"td", "th"}, "tr": {"td", "th", "tr"}, "li": {"li"}}
"""What the start of a tag ends."""
_ENDS = {"table": {"td", "th", "tr"}, "ul": {"li"}}
"""What the end of a tag ends besides."""


@dataclass
class Table:
    """A table's attributes, and the texts of its cells."""

    attributes: dict[str, str | None]
    rows: list[list[str]] = field(default_factory=list)

    @property
    def body(self) -> list[list[str]]:
        """Without the head."""
        return self.rows[1:]


@dataclass
class Read(HTMLParser):
    """A page as it was read; `wrong` says where tags do not nest."""

    tables: list[Table] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    figures: list[set[str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._begin(tag, dict(attrs))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        while self.opened and self.opened[-1] in _IMPLIED.get(tag, ()):
            self.opened.pop()
        self._begin(tag, dict(attrs))
        if tag not in _VOID:
            self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.opened and self.opened[-1] in _ENDS.get(tag, ()) and self.opened[-1] != tag:
            self.opened.pop()
        if not self.opened or self.opened.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if "table" in self.opened and {"td", "th"} & {*self.opened} and "title" not in self.opened:
            self.tables[-1].rows[-1][-1] += data
        if self.opened and self.opened[-1] in ("h1", "h2", "h3", "h4"):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)

    def _begin(self, tag: str, attrs: dict[str, str | None]) -> None:
        self.ids += [str(attrs["id"])] if "id" in attrs else []
        self.loads += [str(attrs[name]) for name in ("src", "srcset", "data", "action") if name in attrs]
        if tag == "a":
            self.links.append(str(attrs.get("href")))
        elif "href" in attrs:
            self.loads.append(str(attrs["href"]))
        if tag == "figure":
            self.figures.append(set())
        elif self.figures and "figure" in self.opened:
            self.figures[-1].add(tag)
        if tag == "svg" and attrs.get("aria-hidden") != "true":
            self.names.append(attrs.get("aria-label"))
        if tag == "table":
            self.tables.append(Table(attrs))
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag in ("td", "th"):
            self.tables[-1].rows[-1].append("")
        elif tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), ""))

    def all(self, name: str, value: str) -> list[Table]:
        """The tables with that attribute."""
        return [one for one in self.tables if one.attributes.get(name) == value]


def read(page: str) -> Read:
    """The page, read to its end."""
    found = Read()
    found.feed(page)
    found.close()
    for table in found.tables:
        table.rows = [[" ".join(cell.split()) for cell in row] for row in table.rows]
    return found


def demand_good(page: str) -> Read:
    """Reads a page that nests, loads nothing, names its pictures, and has headings in order; AssertionError else."""
    found = read(page)
    assert not found.wrong
    assert not found.opened
    assert found.loads == ["data:,"], "an icon that asks for nothing"
    assert "http" not in page.replace("http-equiv", ""), "no address of any network"
    assert "@import" not in page
    assert "url(" not in page
    assert all(link.startswith("#") and link[1:] in found.ids for link in found.links)
    assert len(found.ids) == len(set(found.ids))
    levels = [level for level, _ in found.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), found.headings
    assert all(found.names), "each picture says what it is"
    assert all({"svg", "table", "details"} <= tags or "svg" not in tags for tags in found.figures)
    return found


def number(text: str) -> int:
    """A count as a page has it."""
    return int(text.replace(",", ""))
