"""Values of a located YAML document, each error with its line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckgen.model.located_yaml import DocumentReader, Located
from ckgen.model.suggestion import nearest_or_all

Entries = dict[str, Located]


class Broken(Exception):
    """What was reported makes the rest of an entry unreadable."""


class Reader(DocumentReader):
    """Reads what stands at a node; what is something else is reported, and Broken leaves the entry."""

    def fail(self, code: str, node: Located, message: str, hint: str | None = None) -> Broken:
        """Keeps an error, and is what to raise."""
        self.say(code, node, message, hint)
        return Broken()

    def mapping(self, node: Located, known: Sequence[str] = (), required: Sequence[str] = ()) -> Entries:
        """A mapping; of `known` keys where there are any."""
        if not isinstance(node.value, dict):
            raise self.fail("W003", node, "a mapping is needed here")
        if known and not self.has_keys(node, known, required):
            raise Broken
        return node.value

    def text(self, node: Located) -> str:
        """A scalar's text."""
        if not isinstance(node.value, str):
            raise self.fail("W003", node, "a text is needed here")
        return node.value

    def texts(self, node: Located) -> tuple[str, ...]:
        """Those of a list, or the only one."""
        return tuple(self.text(one) for one in node.items())

    def number(self, node: Located) -> int:
        """An integer that is not negative."""
        text = self.text(node)
        if not text.isdecimal():
            raise self.fail("W003", node, f"'{text}' is no integer")
        return int(text)

    def flag(self, node: Located | None) -> bool:
        """`true` or `false`; nothing is false."""
        return node is not None and self.one_of(node, ("true", "false"), "flag") == "true"

    def one_of(self, node: Located, known: Iterable[str], what: str) -> str:
        """A text that is known."""
        text, names = self.text(node), list(known)
        if text not in names:
            raise self.fail("W003", node, f"'{text}' is no {what}", nearest_or_all(text, names))
        return text
