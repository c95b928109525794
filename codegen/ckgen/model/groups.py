"""The sizes of a grouped GEMM and the routing of an MoE problem, as `ckgen::Groups` and `ckgen::Routing` have them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

MOST = 2**63 - 1
"""Where sums and products saturate."""
MOST_EXPERTS = 2**16 - 1
"""Of a routing's two numbers: a key has 16 bits for each."""


@dataclass(frozen=True, slots=True)
class GroupSize:
    """One group's sizes in elements; a group without rows or columns does nothing."""

    m: int
    n: int
    k: int

    @property
    def is_busy(self) -> bool:
        """Whether C has elements."""
        return self.m > 0 and self.n > 0

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups' sizes; of `count` groups whose rows only the device knows, the one in `sizes` is the bound of each.

    What is computed is of the groups with rows and columns, and 0 where there are none.
    """

    sizes: tuple[GroupSize, ...]
    count: int
    are_on_device: bool = False

    @classmethod
    def of(cls, sizes: Iterable[GroupSize]) -> Groups:
        """Groups whose sizes the host knows."""
        known = tuple(sizes)
        return cls(known, len(known))

    @classmethod
    def on_device(cls, count: int, m_max: int, n: int, k: int) -> Groups:
        """Groups of at most `m_max` rows each, known only on the device; N and K are the same in all."""
        return cls((GroupSize(m_max, n, k),), count, are_on_device=True)

    @property
    def is_valid(self) -> bool:
        """Whether no size is negative, and no sum or product beyond 64 bits: no problem is made of such groups."""
        if self.count < 0 or any(min(size.m, size.n, size.k) < 0 for size in self.sizes):
            return False
        return max(self.largest_a, self.largest_b, self.largest_c, self.rows) < MOST

    @property
    def busy(self) -> int:
        """Groups with rows and columns."""
        return self._times * len(self._busy())

    @property
    def largest(self) -> GroupSize:
        """The largest M, N and K."""
        return self._of_axes(lambda sizes: max(sizes, default=0))

    @property
    def smallest(self) -> GroupSize:
        """The smallest M, N and K; 1 for M of groups on the device."""
        return self._with_unknown_m(self._of_axes(lambda sizes: min(sizes, default=0)))

    @property
    def divisor(self) -> GroupSize:
        """The greatest common divisors of M, N and K; 1 for M of groups on the device."""
        return self._with_unknown_m(self._of_axes(lambda sizes: math.gcd(*sizes)))

    @property
    def rows(self) -> int:
        """M of all groups; on the device the most that they can be."""
        return self._sum(lambda size: size.m)

    @property
    def largest_a(self) -> int:
        """The most elements of an A."""
        return self._most(lambda size: size.m * size.k)

    @property
    def largest_b(self) -> int:
        """The most elements of a B."""
        return self._most(lambda size: size.n * size.k)

    @property
    def largest_c(self) -> int:
        """The most elements of a C."""
        return self._most(lambda size: size.m * size.n)

    def tiles(self, tile_m: int, tile_n: int) -> int:
        """Tiles that cover C of all groups; on the device the most that there can be."""
        return self._sum(lambda size: -(-size.m // tile_m) * -(-size.n // tile_n))

    @property
    def _times(self) -> int:
        return self.count if self.are_on_device else 1

    def _busy(self) -> tuple[GroupSize, ...]:
        if self.count <= 0:
            return ()
        return tuple(size for size in self.sizes if size.is_busy and size.k >= 0)

    def _of_axes(self, of: Callable[[tuple[int, ...]], int]) -> GroupSize:
        found = self._busy()
        return GroupSize(*(of(tuple(getattr(size, axis) for size in found)) for axis in ("m", "n", "k")))

    def _with_unknown_m(self, found: GroupSize) -> GroupSize:
        return GroupSize(1, found.n, found.k) if self.are_on_device and self.busy else found

    def _sum(self, of: Callable[[GroupSize], int]) -> int:
        return min(self._times * sum(of(size) for size in self._busy()), MOST)

    def _most(self, of: Callable[[GroupSize], int]) -> int:
        return min(max((of(size) for size in self._busy()), default=0), MOST)

    def __str__(self) -> str:
        if self.are_on_device:
            return f"{self.count} groups of at most {self.largest} on the device"
        return f"{self.count} groups of up to {self.largest}"


@dataclass(frozen=True, slots=True)
class Routing:
    """How many experts there are and how many each token goes to."""

    experts: int
    top_k: int

    @property
    def lookup_key(self) -> int:
        """Both in one number, where keys of lookup tables have a batch; nothing that people read has it."""
        return self.experts << 16 | self.top_k

    @classmethod
    def of_lookup_key(cls, key: int) -> Routing:
        """The inverse."""
        return cls(key >> 16, key & 0xFFFF)

    def __str__(self) -> str:
        return f"experts={self.experts} top_k={self.top_k}"


NO_ROUTING = Routing(0, 0)
