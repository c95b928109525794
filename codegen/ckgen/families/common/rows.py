"""What rows of tuned tables mean, as their family tells it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.signature import Signature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.row import Row
from ckgen.model.target import Target


@dataclass(frozen=True, slots=True)
class Identified:
    """What a kernel name says: the Config and who builds it."""

    config: Config
    backend: Backend


class Advice(NamedTuple):
    """The detail and the hint of a diagnostic."""

    detail: tuple[str, ...]
    hint: str


R = TypeVar("R", bound=Row)
S = TypeVar("S", bound=Signature)


@dataclass(frozen=True, slots=True)
class SignatureGroup(Generic[S]):
    """Signatures that no row of these tables tells apart, and their number."""

    number: int
    signatures: tuple[S, ...]


class RowMeanings(ABC, Generic[R, S]):
    """Answers per row, each distinct question once. Not thread-safe."""

    def __init__(self, archs: Mapping[str, ArchSpec]) -> None:
        self.archs = archs
        self._signatures: dict[Hashable, tuple[int, tuple[S, ...]]] = {}
        self._numbers: dict[tuple[S, ...], int] = {}

    def of(self, row: R) -> RowMeanings[R, S]:
        """Those of the row's own dialect, which answer as these do, but for `signatures` and their numbers."""
        return self

    def signatures(self, row: R) -> tuple[int, tuple[S, ...]]:
        """What the row stands for, and a small number that is equal exactly for equal answers.

        There may be no signature that says it; UsageError where what the row says contradicts itself.
        """
        key = self.signature_key(row)
        known = self._signatures.get(key)
        if known is None:
            found = self.meaning(row)
            number = self._numbers.setdefault(found, len(self._numbers))
            known = self._signatures[key] = (number, found)
        return known

    def groups(self) -> Mapping[int, tuple[SignatureGroup[S], ...]]:
        """By number of `signatures`, what it consists of: rows of bf16 and fp16 and of bf16 alone share a group."""
        holders: dict[S, list[int]] = {}
        for signatures, number in self._numbers.items():
            for signature in signatures:
                holders.setdefault(signature, []).append(number)
        alike: dict[tuple[int, ...], list[S]] = {}
        for signature, numbers in holders.items():
            alike.setdefault(tuple(numbers), []).append(signature)
        found: dict[int, tuple[SignatureGroup[S], ...]] = {}
        for index, (sharers, shared) in enumerate(alike.items()):
            for number in dict.fromkeys(sharers):
                found[number] = (*found.get(number, ()), SignatureGroup(index, tuple(shared)))
        return found

    def flavour(self, target: Target | None) -> Fp8Flavour | None:
        """The fp8 of the row's arch; None where that is not known."""
        arch = self.archs.get(target.gfx) if target is not None else None
        return arch.fp8_flavour if arch is not None else None

    @abstractmethod
    def signature_key(self, row: R) -> Hashable:
        """All of a row that decides its signatures."""

    @abstractmethod
    def meaning(self, row: R) -> tuple[S, ...]:
        """What the row stands for; UsageError as of `signatures`."""

    @abstractmethod
    def sizes_key(self, row: R) -> tuple[object, ...]:
        """The sizes by which rows of one target and signature are told apart."""

    @abstractmethod
    def is_generated(self, row: R) -> bool:
        """Whether ckgen makes the row's kernel, or takes it where AMD ships it; else it is of another library."""

    def is_by_default(self, row: R) -> bool:
        """Whether the row names no kernel, but says that ckgen's own answer as they do without it."""
        return False

    @abstractmethod
    def kernel(self, row: R) -> Identified | None:
        """What the kernel's name spells, one object for equal names; None where it does not parse."""

    def table_kernel(self, row: R) -> str:
        """The peer's name of the kernel; empty where the row names it as an instance is named."""
        return row.kernel

    @abstractmethod
    def about_name(self, row: R) -> Advice:
        """What is said where the kernel's name does not parse."""

    @abstractmethod
    def about_types(self, row: R) -> Advice:
        """What is said where the row contradicts itself."""

    def about_contradiction(self, first: R, second: R) -> Advice:
        """What is said of rows of one layer and key that answer differently."""
        text = f"{row_text(first)}: {_said(first)} / {_said(second)}"
        return Advice((text,), "keep one: ckgen tables dedupe PATH --keep fastest --write")

    def rank(self, row: R) -> tuple[float, ...]:
        """Of rows of one key the least answers: of the last layer, and there the fastest."""
        return -row.layer, row.us if row.us is not None else math.inf

    @abstractmethod
    def operations(self, row: R, signature: S) -> int | None:
        """Multiplications and additions of the row's problem; None where the row does not tell all of its sizes."""

    @property
    def most_error_ratio(self) -> float:
        """The share of wrong elements up to which a row is believed."""
        return 1.0

    def why_nothing(self, row: R) -> str | None:
        """Why the row, which no signature says, answers nothing, whoever makes its kernel; None where that decides."""
        return None

    def why_unavailable(self, row: R, signatures: tuple[S, ...]) -> str | None:
        """Why ckgen's kernels do not compute what the row says, as far as it tells; None where they do."""
        return None

    @abstractmethod
    def broken(self, row: R, number: int, signature: S, kernel: Identified) -> ProblemFinding | None:
        """The first demand of the signature or of its kernel that the row's sizes fail; `number` is the signatures'."""


def row_text(row: Row) -> str:
    """Target, module and sizes of a row."""
    return " ".join(filter(None, (str(row.target), row.module, row.sizes)))


def _said(row: Row) -> str:
    time = f" ({row.us:g} us)" if row.us is not None else ""
    splits = f" k_batch {row.k_batch}" if row.k_batch != 1 else ""
    return f"{row.library} {row.kernel or '-'}{splits}{time}"
