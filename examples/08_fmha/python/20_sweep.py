"""Lengths from one to many, whole tiles and not: each is planned, run and checked."""

from dataclasses import replace

import gallery

asked = gallery.read(batch=1, heads="2,1", seqlen="70,130")
lib, checks = asked.load(), gallery.Checks()
for rows in (1, 4, 13, 40, asked.seqlen[0]):
    for keys in (1, 7, 63, asked.seqlen[1]):
        q, k, v = gallery.operands(replace(asked, seqlen=(rows, keys)))
        right = gallery.attention(q, k, v, visible=gallery.window(rows, keys, -1, 0))[0]
        checks.near(f"{rows} x {keys}", lib.attention(q, k, v, causal=True), right)
checks.end()
