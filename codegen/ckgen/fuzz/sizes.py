"""Integers in which errors hide: 0, 1, primes, a tile and its neighbours, what overflows 31 and 63 bits."""

from __future__ import annotations

from random import Random

PRIMES = (2, 3, 5, 7, 11, 13, 17, 31, 37, 61, 67, 97, 101, 127, 131, 191, 257)
HUGE = (
    2**31 - 1, 2**31, 2**31 + 1, 2**30, 46_341, 65_536, 2**24 + 1, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1,
)  # fmt: skip
BELOW = (0, -1, -(2**31), -(2**63))


def edge(random: Random, tile: int, most: int) -> int:
    """A size up to about `most`, mostly at an edge of something."""
    pick = random.random()
    if pick < 0.14:
        return 1
    if pick < 0.32:
        return random.choice(PRIMES)
    if pick < 0.62:
        tiles = random.randint(1, max(1, min(3, most // max(tile, 1))))
        return max(1, tile * tiles + random.choice((-1, 0, 0, 1)))
    if pick < 0.74:
        return max(1, (1 << random.randint(0, max(most.bit_length() - 1, 1))) + random.choice((-1, 0, 1)))
    return random.randint(1, most)


def huge(random: Random) -> int:
    """A size whose products leave 31 or 63 bits."""
    size = random.choice(HUGE)
    return min(size + random.choice((0, 0, 0, 1, 127, 128)), 2**63 - 1)


def rounded_up(size: int, multiple: int) -> int:
    """The next multiple, at least one of it; the size itself where nothing is asked."""
    return max(-(-size // multiple), 1) * multiple if multiple > 1 else size
