"""Draws mutants of a room and has its tests judge them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from . import equivalents
from .mutant import Fate, Key, Mutant, Outcome, Room, Site
from .tree import applied, scratch_tree


@dataclass(frozen=True, slots=True)
class Verdict:
    """A drawn mutant and what became of it."""

    mutant: Mutant
    outcome: Outcome

    @property
    def name(self) -> str:
        """Short, and the same as long as the mutant's key is."""
        return named(self.mutant.site.key)


@dataclass(frozen=True, slots=True)
class Campaign:
    """All verdicts of a room under one seed."""

    room: str
    seed: int
    possible: int
    """Places from which was drawn."""
    invalid: int
    """Places that were drawn and left out: what they become does not compile, or means the same."""
    verdicts: tuple[Verdict, ...]
    stale: tuple[Key, ...]
    """Listed as equivalent, but not mutants of this source."""

    def count(self, *fates: Fate) -> int:
        return sum(verdict.outcome.fate in fates for verdict in self.verdicts)

    @property
    def killed(self) -> int:
        return self.count(Fate.KILLED, Fate.TIMEOUT)

    @property
    def percentage(self) -> float:
        """Of the mutants that are not equivalent, how many were killed."""
        judged = len(self.verdicts) - self.count(Fate.EQUIVALENT)
        return 100.0 * self.killed / judged if judged else 100.0


def named(key: Key) -> str:
    return sha256(str(key).encode()).hexdigest()[:8]


def drawn(sites: Sequence[Site], seed: int) -> list[Site]:
    """All sites in the order in which a seed draws them: without replacement, each as likely as any other. A draw is
    made by key, so that a change elsewhere in the source leaves it as it is."""
    return sorted(sites, key=lambda site: sha256(f"{seed}|{site.key}".encode()).digest())


def campaign(room: Room, seed: int, count: int, only: Collection[str], heard: Callable[[Verdict], None]) -> Campaign:
    """Judges the first `count` valid mutants that `seed` draws, or of these those that `only` names.

    Raises RuntimeError if the tests fail on the unmutated source, ValueError if the list of equivalents is not one.
    """
    with scratch_tree() as tree:
        sites = room.sites(tree)
        listed = equivalents.load(room.name)
        stale = equivalents.stale(room, tree, sites, listed)
        room.prepare(tree)
        verdicts: list[Verdict] = []
        invalid = 0
        for verdict in _judged(room, tree, drawn(sites, seed), listed, only):
            if verdict is None:
                invalid += 1
                continue
            verdicts.append(verdict)
            heard(verdict)
            if len(verdicts) == (len(only) or count):
                break
    return Campaign(room.name, seed, len(sites), invalid, tuple(verdicts), tuple(stale))


def _judged(
    room: Room, tree: Path, order: Sequence[Site], listed: Collection[Key], only: Collection[str]
) -> Iterator[Verdict | None]:
    """None for a place that has no valid mutant."""
    for site in order:
        if only and named(site.key) not in only:
            continue
        mutant = room.mutate(tree, site)
        if mutant is None:
            yield None
            continue
        if site.key in listed:
            yield Verdict(mutant, Outcome(Fate.EQUIVALENT))
            continue
        with applied(tree, mutant):
            outcome = room.judge(tree, mutant)
        yield Verdict(mutant, outcome) if outcome.fate is not Fate.INVALID else None
