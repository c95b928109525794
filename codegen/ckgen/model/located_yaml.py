"""YAML with places: every scalar as its text, every mapping without duplicate keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import DEEPEST, MOST_DIGITS, YAML, DocumentError, too_deep, too_long, too_many
from ckgen.model.suggestion import nearest_or_all

if TYPE_CHECKING:
    from yaml import YAMLError
    from yaml.events import Event

Report = Callable[[Diagnostic], None]

_NUMBER = re.compile(rf"[-+]?(?:0[xXoObB])?[0-9a-fA-F_]{{{MOST_DIGITS + 1},}}")


@dataclass(frozen=True, slots=True)
class Located:
    """A scalar's text, a list or a mapping, and where it stands."""

    value: str | list[Located] | dict[str, Located]
    location: Location

    def items(self) -> list[Located]:
        """The elements of a list; any other value is a list of itself."""
        return self.value if isinstance(self.value, list) else [self]


@dataclass(slots=True)
class DocumentReader:
    """Keeps every error of a document, once."""

    errors: list[Diagnostic] = field(default_factory=list)

    def report(self, diagnostic: Diagnostic) -> None:
        """Keeps an error."""
        if diagnostic not in self.errors:
            self.errors.append(diagnostic)

    def say(self, code: str, node: Located, message: str, hint: str | None = None) -> None:
        """Keeps an error of what stands at a node."""
        self.report(Diagnostic(code, message, node.location, hint=hint))

    def has_keys(self, node: Located, known: Sequence[str], required: Sequence[str]) -> bool:
        """Whether a mapping has all that are required; says so, and of each key that is unknown."""
        assert isinstance(node.value, dict)
        for key, value in node.value.items():
            if key not in known:
                self.say("K003", value, f"unknown key '{key}'", nearest_or_all(key, known))
        missing = [key for key in required if key not in node.value]
        for key in missing:
            self.say("K004", node, f"key '{key}' is missing")
        return not missing


def read_documents(text: str, file: str, report: Report) -> list[Located]:
    """The documents of a YAML text; `report` gets K002 for a key that stands twice, and K001 for broken syntax, for an
    alias, and for what is beyond the bounds of a document. Those before it are returned.
    """
    import yaml

    builder, error = _built(text, file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if error is not None:  # what is wrong is always said in PyYAML's own words, not in libyaml's
        builder, error = _built(text, file, yaml.SafeLoader)
    for diagnostic in builder.found:
        report(diagnostic)
    if error is not None:
        report(_syntax(error, file))
    return builder.documents


def _built(text: str, file: str, loader: Any) -> tuple[_Builder, YAMLError | None]:
    """What a loader's events make, and where its syntax is broken, the error."""
    import yaml

    builder = _Builder(file)
    try:
        for event in yaml.parse(text, loader):
            builder.take(event)
    except DocumentError as error:
        builder.found.append(error.diagnostic("K001", file))
    except yaml.YAMLError as error:
        return builder, error
    return builder, None


def _syntax(error: YAMLError, file: str) -> Diagnostic:
    from yaml import MarkedYAMLError

    if not isinstance(error, MarkedYAMLError):
        return Diagnostic("K001", f"not YAML: {str(error).splitlines()[0]}", Location(file))
    assert error.problem_mark is not None  # PyYAML's own parser always says where
    return Diagnostic("K001", f"not YAML: {error.problem}", Location(file, error.problem_mark.line + 1))


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come; of a mapping, the key whose value comes next."""

    value: list[Located] | dict[str, Located]
    location: Location
    key: Located | None = None


class _Builder:
    """Makes documents of a parser's events, one after another, within the bounds: no alias is ever followed."""

    def __init__(self, file: str) -> None:
        self.documents: list[Located] = []
        self.found: list[Diagnostic] = []
        self._file = file
        self._open: list[_Open] = []
        self._values = 0

    def take(self, event: Event) -> None:
        """The next event; DocumentError where the text leaves the bounds."""
        from yaml import events

        if isinstance(event, events.CollectionEndEvent):
            ended = self._open.pop()
            self._add(Located(ended.value, ended.location))
            return
        if not isinstance(event, events.NodeEvent):
            return
        assert event.start_mark is not None  # what is parsed of a text has its place
        line = event.start_mark.line + 1
        if isinstance(event, events.AliasEvent):
            raise DocumentError(f"aliases are not read: write out what *{event.anchor} stands for", line)
        self._values += 1
        if self._values > YAML.values:
            raise too_many(YAML, line)
        place = Location(self._file, line)
        if isinstance(event, events.ScalarEvent):
            if _NUMBER.fullmatch(event.value):
                raise too_long(len(event.value), line)
            self._add(Located(event.value, place))
            return
        if len(self._open) == DEEPEST:
            raise too_deep(line)
        self._open.append(_Open([] if isinstance(event, events.SequenceStartEvent) else {}, place))

    def _add(self, value: Located) -> None:
        """To what is open; in a mapping, keys and values take turns, and a value stands where its key stands."""
        if not self._open:
            self.documents.append(value)
            return
        above = self._open[-1]
        if isinstance(above.value, list):
            above.value.append(value)
        elif above.key is None:
            above.key = value
        else:
            key, above.key = above.key, None
            name = key.value if isinstance(key.value, str) else ""
            if name in above.value:
                first = above.value[name].location
                self.found.append(Diagnostic("K002", f"key '{name}' stands twice", key.location, related=(first,)))
            else:
                above.value[name] = Located(value.value, key.location)
