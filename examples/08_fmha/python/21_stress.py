"""Threads that call one library at the same time, each with tensors of its own."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import gallery

asked = gallery.read()
lib, checks = asked.load(), gallery.Checks()


def calls(t):
    """Some, and what the last one gave."""
    q, k, v = gallery.operands(replace(asked, seqlen=(asked.seqlen[0] + t, asked.seqlen[1] + 2 * t)))
    for _ in range(25):
        out = lib.attention(q, k, v, causal=True)
    return q, k, v, out


with ThreadPoolExecutor(4) as pool:
    for q, k, v, out in pool.map(calls, range(4)):
        seen = gallery.window(q.shape[1], k.shape[1], -1, 0)
        checks.near(f"{q.shape[1]} rows", out, gallery.attention(q, k, v, visible=seen)[0])
checks.end()
