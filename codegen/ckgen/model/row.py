"""One measured fact, whichever operation it is about: what its table says, and where it stands."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Protocol

from ckgen.model.diagnostic import Location
from ckgen.model.target import Target


class Row(Protocol):
    """A row, adapted. `op` is the word of the family that knows what it means."""

    op: ClassVar[str]

    @property
    def location(self) -> Location:
        """The file, as its argument names it, and the line."""
        ...

    @property
    def layer(self) -> int:
        """The number of the argument; later ones override."""
        ...

    @property
    def module(self) -> str:
        """The table family; empty where there is none."""
        ...

    @property
    def target(self) -> Target | None:
        """None where no single known arch has that CU count."""
        ...

    @property
    def cu_num(self) -> int:
        """The CU count that the row tells, 0 for none."""
        ...

    @property
    def shape(self) -> Hashable:
        """The sizes that it answers for."""
        ...

    @property
    def about(self) -> Sequence[Hashable]:
        """What it is about besides target and shape, as far as its cells tell; empty where only its kernel tells."""
        ...

    @property
    def library(self) -> str:
        """The kernel's library; empty where the name tells it."""
        ...

    @property
    def kernel(self) -> str:
        """The table's own name, verbatim."""
        ...

    @property
    def k_batch(self) -> int | None:
        """Splits; None where the kernel decides."""
        ...

    @property
    def us(self) -> float | None:
        """Microseconds; None where not said."""
        ...

    @property
    def error_ratio(self) -> float | None:
        """The share of elements that were wrong; None where not said."""
        ...

    @property
    def sizes(self) -> str:
        """What people read."""
        ...

    @property
    def named_sizes(self) -> Mapping[str, object]:
        """The same by name; None where the row does not say."""
        ...

    @property
    def answer(self) -> tuple[object, ...]:
        """What the row answers: rows of one key must agree in it."""
        ...
