"""What a call of an operation with tensors means: a signature, sizes, and the arguments' struct."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.model.dtype import DType
from ckgen.tensors.errors import ShapeMismatch
from ckgen.tensors.view import TensorView

Views = Mapping[str, TensorView]
"""The tensors that a call has, by name."""


@dataclass(frozen=True, slots=True)
class At:
    """In place of an address: that of the tensor of this name."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a call writes where the caller has given no tensor for it."""

    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Called:
    """A call.

    problem: as the family's `query` takes it. fields: of the arguments' struct; a number, an `At`, a mapping for a
    struct within, a tuple for an array within, or a list of mappings for an array behind a pointer. What is left out
    is zero.
    """

    signature: str
    problem: Any
    fields: Mapping[str, Any]


class OperationCall(ABC):
    """How tensors become a call of one operation; no state."""

    options_type: type
    """A frozen dataclass of what a call says beside tensors."""

    @abstractmethod
    def names(self, options: Any) -> tuple[str, ...]:
        """The tensors of a call in order, results first; absent ones too."""

    def is_kept(self, options: Any) -> bool:
        """Whether a later call may be the same: false where the options hold what is another in each."""
        return True

    @abstractmethod
    def results(self, views: Views, options: Any) -> Mapping[str, Result]:
        """What is written. TensorError where the tensors make no call, UsageError where a signature means nothing."""

    @abstractmethod
    def called(self, views: Views, options: Any) -> Called:
        """The call, with tensors for all results; errors as those of `results`."""


def need(views: Views, name: str, why: str = "") -> TensorView:
    """A tensor that must be there; ShapeMismatch says which is missing."""
    if name not in views:
        raise ShapeMismatch(f"{name} is missing{f': {why}' if why else ''}")
    return views[name]


def refuse_beside(views: Views, names: tuple[str, ...], why: str) -> None:
    """ShapeMismatch for a tensor that nothing would read."""
    for name in names:
        if name in views:
            raise ShapeMismatch(f"{name} is given, and {why}")
