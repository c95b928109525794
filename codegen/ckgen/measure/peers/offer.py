"""What a peer offers for a problem."""

from __future__ import annotations

from ckgen.measure.timing import Body

Offer = Body | str
"""A body whose calls return the result, or a text that says why there is none."""
