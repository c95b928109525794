"""Sequences of unequal lengths, one after the other without padding, one of them empty."""

import gallery
import numpy as np

asked = gallery.read(batch=4, heads="4,2")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
shares = [0.0 if b == 1 else 1 - b / asked.batch for b in range(asked.batch)]
of_q, of_k = ([int(most * one) for one in shares] for most in asked.seqlen)
pack = [np.concatenate([one[b, :n] for b, n in enumerate(of)]) for one, of in ((q, of_q), (k, of_k), (v, of_k))]
starts_q, starts_k = (np.cumsum([0, *of]).astype(np.int32) for of in (of_q, of_k))
out = lib.attention(
    *pack, seqstart_q=starts_q, seqstart_k=starts_k, max_q=asked.seqlen[0], max_k=asked.seqlen[1], causal=True
)
for b, (rows, keys) in enumerate(zip(of_q, of_k, strict=True)):
    right = (
        gallery.attention(
            q[b : b + 1, :rows], k[b : b + 1, :keys], v[b : b + 1, :keys], visible=gallery.window(rows, keys, -1, 0)
        )[0]
        if rows
        else np.zeros((1, 0, *out.shape[1:]))
    )
    checks.near(f"{rows} x {keys}", out[starts_q[b] : starts_q[b + 1]], right[0])
checks.end()
