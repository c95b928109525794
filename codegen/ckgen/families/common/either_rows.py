"""Rows of two dialects as those of one family: a later layer's row answers whichever dialect it is of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.rows import Advice, Identified, RowMeanings
from ckgen.families.common.signature import Signature
from ckgen.model.arch import ArchSpec

S = TypeVar("S", bound=Signature)
Meanings = RowMeanings[Any, S]


class EitherRows(RowMeanings[Any, S]):
    """Each row by its own dialect's meanings; `which` tells them. Keys of one dialect never equal those of another."""

    def __init__(self, archs: Mapping[str, ArchSpec], which: Callable[[Any], bool], yes: Meanings[S], no: Meanings[S]):
        super().__init__(archs)
        self._which = which
        self._yes = yes
        self._no = no
        self._most_error_ratio = min(yes.most_error_ratio, no.most_error_ratio)

    def of(self, row: Any) -> RowMeanings[Any, S]:
        """Those of the one dialect or of the other."""
        return self._yes if self._which(row) else self._no

    def signature_key(self, row: Any) -> Hashable:
        """With the dialect."""
        return self._which(row), self.of(row).signature_key(row)

    def meaning(self, row: Any) -> tuple[S, ...]:
        """As its dialect says."""
        return self.of(row).meaning(row)

    def sizes_key(self, row: Any) -> tuple[object, ...]:
        """As its dialect says."""
        return self.of(row).sizes_key(row)

    def is_generated(self, row: Any) -> bool:
        """As its dialect says."""
        return self.of(row).is_generated(row)

    def is_by_default(self, row: Any) -> bool:
        """As its dialect says."""
        return self.of(row).is_by_default(row)

    def kernel(self, row: Any) -> Identified | None:
        """As its dialect says."""
        return self.of(row).kernel(row)

    def table_kernel(self, row: Any) -> str:
        """As its dialect says."""
        return self.of(row).table_kernel(row)

    def about_name(self, row: Any) -> Advice:
        """As its dialect says."""
        return self.of(row).about_name(row)

    def about_types(self, row: Any) -> Advice:
        """As its dialect says."""
        return self.of(row).about_types(row)

    def about_contradiction(self, first: Any, second: Any) -> Advice:
        """As the first one's dialect says."""
        return self.of(first).about_contradiction(first, second)

    def operations(self, row: Any, signature: S) -> int | None:
        """As its dialect says."""
        return self.of(row).operations(row, signature)

    @property
    def most_error_ratio(self) -> float:
        """That of the dialect that tells ratios."""
        return self._most_error_ratio

    def why_nothing(self, row: Any) -> str | None:
        """As its dialect says."""
        return self.of(row).why_nothing(row)

    def why_unavailable(self, row: Any, signatures: tuple[S, ...]) -> str | None:
        """As its dialect says."""
        return self.of(row).why_unavailable(row, signatures)

    def broken(self, row: Any, number: int, signature: S, kernel: Identified) -> ProblemFinding | None:
        """As its dialect says."""
        return self.of(row).broken(row, number, signature, kernel)
