"""What a peer offers for a problem."""

from __future__ import annotations

from ckgen.measure.timing import Body


class PeerRefused(Exception):
    """A call of a peer's library that it refuses; the text says which, and its code."""


Offer = Body | str
"""A body whose calls return the result, or a text that says why there is none."""
