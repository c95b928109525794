"""Code objects as a built library embeds them: gzip streams, whose CRC-32 sees what zlib's Adler-32 does not."""

from __future__ import annotations

import zlib

_GZIP = 31
"""zlib's word for a gzip stream with the largest window."""


def pack_code(data: bytes, level: int) -> bytes:
    """The stream, alike for the same bytes and level on every machine."""
    return zlib.compress(data, level, wbits=_GZIP)


def unpack_code(packed: bytes) -> bytes:
    """What was packed; zlib.error where the stream is damaged."""
    return zlib.decompress(packed, wbits=_GZIP)
