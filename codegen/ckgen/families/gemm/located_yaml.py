"""YAML with places: every scalar as its text, every mapping without duplicate keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ckgen.model.diagnostic import Diagnostic, Location

if TYPE_CHECKING:
    from yaml.events import Event
    from yaml.nodes import Node

Report = Callable[[Diagnostic], None]

_DEEPEST = 100


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
                self.say("K003", value, f"unknown key '{key}'", did_you_mean(key, known))
        missing = [key for key in required if key not in node.value]
        for key in missing:
            self.say("K004", node, f"key '{key}' is missing")
        return not missing


def did_you_mean(got: str, known: Iterable[str]) -> str:
    """The hint behind a word that is not known."""
    names = list(known)
    close = get_close_matches(got, names, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(names)}"


def read_documents(text: str, file: str, report: Report) -> list[Located]:
    """The documents of a YAML text; `report` gets K001 for broken syntax and K002 for a duplicate key."""
    from yaml.error import MarkedYAMLError, YAMLError

    documents: list[Located] = []
    try:
        for node in _nodes(text):
            if node is not None:
                documents.append(_convert(node, file, report))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        report(Diagnostic("K001", f"not YAML: {error.problem}", Location(file, line)))
    except YAMLError as error:
        report(Diagnostic("K001", f"not YAML: {str(error).splitlines()[0]}", Location(file)))
    return documents


def _nodes(text: str) -> Iterable[Node | None]:
    """By libyaml where it is there; what is wrong is always said in PyYAML's own words."""
    import yaml

    fast = getattr(yaml, "CSafeLoader", None)
    if fast is not None:
        with suppress(yaml.YAMLError):
            if not _is_deep(yaml.parse(text, fast)):
                return list(yaml.compose_all(text, fast))
    return yaml.compose_all(text, yaml.SafeLoader)


def _is_deep(events: Iterable[Event]) -> bool:
    """Whether collections are nested deeper than anybody writes them: libyaml's composer overflows its stack then."""
    from yaml.events import CollectionEndEvent, CollectionStartEvent

    depth = 0
    for event in events:
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > _DEEPEST:
            return True
    return False


def _convert(node: Node, file: str, report: Report) -> Located:
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    place = Location(file, node.start_mark.line + 1)
    if isinstance(node, ScalarNode):
        return Located(node.value, place)
    if isinstance(node, SequenceNode):
        return Located([_convert(child, file, report) for child in node.value], place)
    found: dict[str, Located] = {}
    assert isinstance(node, MappingNode)
    for key_node, value_node in node.value:
        key_place = Location(file, key_node.start_mark.line + 1)
        key = key_node.value if isinstance(key_node, ScalarNode) else ""
        if key in found:
            report(Diagnostic("K002", f"key '{key}' stands twice", key_place, related=(found[key].location,)))
        else:
            found[key] = Located(_convert(value_node, file, report).value, key_place)
    return Located(found, place)
