"""Prompts of unequal lengths over a KV cache in pages, as vLLM has them."""

import gallery
import numpy as np

asked = gallery.read(batch=3, heads="4,2", seqlen="20,70", hdim="128")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
table, caches = gallery.pages_of(k, v, page=16)
of_q, of_k = ([most - most * b // (2 * asked.batch) for b in range(asked.batch)] for most in asked.seqlen)
starts = np.cumsum([0, *of_q]).astype(np.int32)
out = lib.attention(
    np.concatenate([q[b, :n] for b, n in enumerate(of_q)]), *caches, seqstart_q=starts, block_table=table,
    seqlen_k=np.array(of_k, np.int32), max_q=asked.seqlen[0], max_k=asked.seqlen[1], causal=True,
)  # fmt: skip
for b, (rows, keys) in enumerate(zip(of_q, of_k, strict=True)):
    seen = gallery.window(rows, keys, -1, 0)
    right = gallery.attention(q[b : b + 1, :rows], k[b : b + 1, :keys], v[b : b + 1, :keys], visible=seen)[0]
    checks.near(f"{rows} x {keys}", out[starts[b] : starts[b + 1]], right[0])
checks.end()
