"""Seeded mutations: the same ones for the same seed and inputs, whatever runs before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from parser_fuzz.target import Target

_LONGEST = 1 << 16
_ODD = (b"", b"\0", b"-1", b"0", b"4294967296", b"9223372036854775808", b"1e999", b"NaN", b"\xff\xfe", b"\xef\xbb\xbf",
        b'"', b"'", b"\\", b"\r", b"\n", b"\t", b",", b":", b"{", b"}", b"[", b"]", b"null", b"true", b"\xc3\xa9",
        b"\xd9\xa1", b"\xed\xa0\x80", b"\x80", b"%s", b"_", b"\xc2\xb2")  # fmt: skip
_NUMBERS = (b"0", b"0N", b"-N", b"+N", b"N0", b"N.0", b"Ne3", b"1_N", b" N", b"2147483648", b"9" * 30)
"""What a number N becomes."""


def mutations(target: Target, count: int, seed: int = 0) -> Iterator[bytes]:
    """`count` inputs near the target's seeds."""
    random = Random(f"{target.name}:{seed}")
    seeds = [*target.seeds(), b""]
    for _ in range(count):
        data = random.choice(seeds)
        for _ in range(random.choice((1, 1, 2, 3, 6))):
            data = _changed(data, random, seeds, (*_ODD, *target.words))
        yield data[:_LONGEST]


def _changed(data: bytes, random: Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    at, to = sorted(random.randint(0, len(data)) for _ in range(2))
    to = min(to, at + random.choice((1, 4, 16, 1 << 20)))
    match random.randrange(8):
        case 0:  # one bit
            if not data:
                return data
            bit = random.randrange(8 * len(data))
            return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]
        case 1:
            return data[:at] + random.choice(words) + data[at:]
        case 2:
            return data[:at] + random.choice(words) + data[to:]
        case 3:
            return data[:at] + data[to:]
        case 4:
            return data[:to] + data[at:to] * random.choice((1, 1, 2, 50)) + data[to:]
        case 5:
            return data[:at] + random.randbytes(random.choice((1, 2, 8))) + data[to:]
        case 6 if numbers := list(re.finditer(rb"[0-9]+", data)):
            found = random.choice(numbers)
            return data[: found.start()] + random.choice(_NUMBERS).replace(b"N", found[0]) + data[found.end() :]
    other = random.choice(seeds)
    return data[:at] + other[random.randint(0, len(other)) :]
