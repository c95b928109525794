"""What documents of kernel sets share, whatever their op."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.located_yaml import DocumentReader, Located
from ckgen.model.suggestion import nearest_or_all
from ckgen.specs.archs import load_archs

S = TypeVar("S")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class SetCandidate(Generic[S, C]):
    """A kernel that a set asks for; a plain fp8 in `signature` means the flavour of the arch it is built for.

    `archs` None is every arch that the backend runs on; `table_kernel` is the peer's name, or empty.
    """

    set_name: str
    signature: S
    backend: Backend
    config: C
    archs: frozenset[str] | None
    location: Location
    table_kernel: str = ""

    def is_for(self, arch: str) -> bool:
        """Whether the set names this arch."""
        return self.archs is None or arch in self.archs

    def configs(self, arch: str) -> tuple[Any, ...]:
        """What is asked for there, in order of preference."""
        return (self.config,)


MOST_COMBINATIONS = 50_000
"""Of the lists of one block, and of the signatures and kernels of one document."""


def too_many_combinations(counts: Iterable[int], place: Location) -> Diagnostic | None:
    """What is wrong with lists of these lengths that are to be multiplied out; None where nothing is."""
    count = math.prod(counts)
    if count <= MOST_COMBINATIONS:
        return None
    hint = f"at most {MOST_COMBINATIONS:,} are: shorten the lists, or write several documents"
    return Diagnostic("K005", f"{count:,} combinations are asked for", place, hint=hint)


AnyCandidate = SetCandidate[Any, Any]


def once(candidates: Sequence[AnyCandidate]) -> tuple[AnyCandidate, ...]:
    """The first of each kernel that is asked for."""
    keys = {(c.signature, c.backend, c.config, c.archs): c for c in reversed(candidates)}
    return tuple(reversed(keys.values()))


class SetReader(DocumentReader):
    """Reads the documents of an operation, and what every document of a set has."""

    def document(self, node: Located) -> Iterable[AnyCandidate]:
        """The candidates of a document, which is a mapping."""
        raise NotImplementedError

    def name(self, node: Located) -> str:
        """The set's name."""
        if not isinstance(node.value, str) or not node.value:
            self.say("K005", node, "name must be a word")
        return str(node.value)

    def backend(self, node: Located, known: Iterable[Backend], unknown: str) -> Backend | None:
        """One of those that are known; `unknown` begins what is said of any other."""
        backends = {str(backend): backend for backend in known}
        found = backends.get(str(node.value))
        if found is None:
            self.say("K005", node, f"{unknown} {node.value!r}", nearest_or_all(str(node.value), backends))
        return found

    def targets(self, node: Located) -> frozenset[str] | None:
        """The archs, also named by their family; None is all of them."""
        if node.value == "*":
            return None
        names = [item for item in node.items() if isinstance(item.value, str)]
        if not names or len(names) != len(node.items()):
            self.say("K005", node, 'targets must be archs, families of archs or "*"')
        return frozenset(arch for item in names for arch in self._archs(item))

    def _archs(self, item: Located) -> Iterable[str]:
        word, archs = str(item.value), load_archs()
        of_family = [arch.name for arch in archs.values() if arch.family == word]
        if word not in archs and not of_family:
            known = dict.fromkeys([*archs, *(arch.family for arch in archs.values())])
            self.say("K005", item, f"unknown arch or family: {word!r}", nearest_or_all(word, known))
        return [word] if word in archs else of_family
