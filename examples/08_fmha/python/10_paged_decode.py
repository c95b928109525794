"""A step of decoding: one query per sequence over a KV cache in pages, which a row of the block table finds."""

import gallery
import numpy as np

asked = gallery.read(batch=3, heads="8,2", seqlen="1,100", hdim="128")
lib, checks = asked.load(), gallery.Checks()
q, k, v = gallery.operands(asked)
table, caches = gallery.pages_of(k, v, page=16)
lengths = np.array([asked.seqlen[1] - asked.seqlen[1] * b // asked.batch for b in range(asked.batch)], np.int32)
out = lib.attention(q, *caches, block_table=table, seqlen_k=lengths, max_k=asked.seqlen[1])
for b, keys in enumerate(lengths):
    right = gallery.attention(q[b : b + 1], k[b : b + 1, :keys], v[b : b + 1, :keys])[0]
    checks.near(f"{keys} keys", out[b : b + 1], right)
checks.end()
