"""A job: one source text, the commands that turn it into files, and the key under which the result is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SCHEMA = "ckgen.job/1"


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that commands name: in keys and logs it stands as `$name`, so that keys are alike on all machines."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Job:
    """`steps` run in a folder that holds `text` as the file `source`; paths of their own products are relative to it.

    `outputs` are kept. `depfile` names the Makefile rule that a step writes of the headers it read, empty where none
    reads any. `identity` is all that decides the outputs besides text, steps and headers: ids of compiler and CK tree.
    `family` groups jobs of alike memory and time. `label` is for people. Headers beneath `fixed` roots are covered by
    `identity`; `own` folders are searched before those, in this order. `beside`: further files that the steps read, by
    name.
    """

    label: str
    family: str
    text: str
    source: str
    steps: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...]
    depfile: str
    identity: tuple[str, ...]
    roots: tuple[Root, ...]
    fixed: tuple[Root, ...] = ()
    own: tuple[Path, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """A sha256 of everything but the headers; equal keys and equal headers mean equal outputs."""
        total = hashlib.sha256()
        further = (word for file in self.beside for word in ("beside", *file))
        steps = (word for step in self.steps for word in ("step", *portable(step, self.roots)))
        for part in (_SCHEMA, *self.identity, self.source, *self.outputs, self.text, *steps, *further):
            data = part.encode()
            total.update(len(data).to_bytes(8, "little"))
            total.update(data)
        return total.hexdigest()


def portable(argv: Sequence[str], roots: Sequence[Root]) -> tuple[str, ...]:
    """The words with the folders of `roots` by name."""
    longest = sorted(roots, key=lambda root: len(str(root.path)), reverse=True)

    def plain(word: str) -> str:
        for root in longest:
            word = word.replace(str(root.path), f"${root.name}")
        return word

    return tuple(map(plain, argv))
