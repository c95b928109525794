"""One measured fact, whichever operation it is about: what its table says, and where it stands."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from ckgen.model.diagnostic import Location
from ckgen.model.target import Target


class Row(Protocol):
    """A row of a tuned table, adapted. `module` and `library` are empty where tables of its kind have none.

    `target` is None where the table tells none; `cu_num` then keeps the cell. `us` is microseconds, None where not
    said.
    """

    @property
    def location(self) -> Location: ...

    @property
    def layer(self) -> int: ...

    @property
    def module(self) -> str: ...

    @property
    def target(self) -> Target | None: ...

    @property
    def cu_num(self) -> int: ...

    @property
    def shape(self) -> Hashable:
        """The sizes that it answers for."""
        ...

    @property
    def about(self) -> Sequence[Hashable]:
        """What it is about besides target and shape, as far as its cells tell; empty where only its kernel tells."""
        ...

    @property
    def library(self) -> str: ...

    @property
    def kernel(self) -> str: ...

    @property
    def k_batch(self) -> int | None: ...

    @property
    def us(self) -> float | None: ...

    @property
    def sizes(self) -> str:
        """What people read."""
        ...

    @property
    def answer(self) -> tuple[object, ...]:
        """What the row answers: kernel, splits, and what else its dialect says of it."""
        ...
