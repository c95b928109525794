"""One kernel that can be chosen: Signature + Config + Backend, under one injective name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ckgen.families.common.naming import Canonical
from ckgen.families.common.order import NO_ORDER, Order, OrderIn
from ckgen.model.backend import Backend
from ckgen.model.config import Config

S_co = TypeVar("S_co", bound=Canonical, covariant=True)
C_co = TypeVar("C_co", bound=Config, covariant=True)
K_co = TypeVar("K_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Instance(Generic[S_co, C_co, K_co]):
    """`archs` are the arch names that it is built for, in order; `constraints` what it asks of a problem.

    `module` is that of its tables and `table_kernel` its name there, empty where no table names it. `parts` are the
    instances that it is made of, none where one kernel computes it all. `order` is that of its additions.
    """

    name: str
    id: int
    signature: S_co
    backend: Backend
    config: C_co
    constraints: K_co
    archs: tuple[str, ...]
    module: str = ""
    table_kernel: str = ""
    parts: tuple[Instance[S_co, C_co, K_co], ...] = ()
    order: Order = NO_ORDER

    def order_in(self, k_batch: int) -> OrderIn:
        """The order of additions in so many splits."""
        return self.order.of(k_batch, adds_atomically=bool(getattr(self.constraints, "atomic_split", False)))
