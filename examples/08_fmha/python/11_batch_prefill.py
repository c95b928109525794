"""Prompts of unequal lengths over a KV cache in pages, as vLLM has them."""

import gallery
import numpy as np

asked = gallery.read(batch=3, heads="4,2", seqlen="20,70", hdim="128")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
page = 16
each = -(-asked.seqlen[1] // page)
table = np.arange(asked.batch * each, dtype=np.int32)[::-1].reshape(asked.batch, each).copy()
caches = []
for rows in (k, v):
    padded = np.zeros((asked.batch, each * page, *rows.shape[2:]), rows.dtype)
    padded[:, : rows.shape[1]] = rows
    cache = np.empty((asked.batch * each, page, *rows.shape[2:]), rows.dtype)
    cache[table.ravel()] = padded.reshape(cache.shape)
    caches.append(cache)
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
